// Where the source of a frame is.
import { h } from "./dom";
import { Frame, Model } from "./data";

let forms = new Map<string, string>();
let editor = "file";

/** The editors that can be chosen. */
export function editors(model: Model): [string, string][] {
  forms = new Map(model.tables.editors);
  return model.tables.editors.map(([name]) => [name, name === "file" ? "the browser" : name.includes("{path}") ? "as TPU_EMU_EDITOR says" : name]);
}

export function setEditor(name: string): void {
  editor = name;
}

export function currentEditor(): string {
  return editor;
}

/** The address of a line of a local file. */
function opened(file: string, line: number): string | null {
  const form = forms.get(editor) ?? "file://{path}";
  // Forms are addresses of editors; what runs a script is none.
  if (!file.startsWith("/") || !/^[a-z][a-z0-9+.-]*:/i.test(form) || /^(javascript|data|vbscript):/i.test(form)) return null;
  const path = file.split("/").map(encodeURIComponent).join("/");
  return form.replaceAll("{path}", path).replaceAll("{line}", String(Math.max(1, line)));
}

/** File and line of a frame, or what holds its code. */
export function place(frame: Frame): string {
  if (frame.file === "") return frame.module.split("/").pop() ?? "";
  return frame.line > 0 ? `${frame.file}:${frame.line}` : frame.file;
}

/** A link to a frame's source, or its text where there is none. */
export function link(frame: Frame, text: string): HTMLElement {
  const to = frame.link || opened(frame.file, frame.line);
  if (to === null) return h("span", { class: "where" }, text);
  return h("a", { class: "where", href: to, target: frame.link ? "_blank" : undefined, rel: "noreferrer" }, text);
}

/** Words that begin with `file.py:12 ` or end with ` in file.py`: those with a link to the file. */
export function linked(words: string): (string | Node)[] {
  const line = /^(\/.*?):(\d+)( .*)?$/s.exec(words);
  const found = line ? { file: line[1], line: Number(line[2]), rest: line[3] ?? "" } : null;
  const to = found && opened(found.file, found.line);
  if (!found || to === null) return [words];
  const short = found.file.split("/").pop()!;
  return [
    h("a", { href: to, title: `${found.file}:${found.line}`, onclick: (event: Event) => event.stopPropagation() }, `${short}:${found.line}`),
    h("span", { class: "function" }, found.rest),
  ];
}
