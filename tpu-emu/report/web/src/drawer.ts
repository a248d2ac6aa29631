// What is behind a row: its places, and the stack of each with links to the source.
import { add, fill, h } from "./dom";
import { Frame, Model, NONE } from "./data";
import { bytes, counted, exact, hex, seconds, span } from "./format";
import { link, linked, place } from "./source";
import { keys, places } from "./sums";

export class Drawer {
  readonly element = h("aside", { class: "drawer", "aria-label": "Details", hidden: true, tabindex: -1 });
  private opener: HTMLElement | null = null;
  private face: "python" | "mixed" | "native" = "python";

  constructor(private readonly model: Model) {
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
  }

  close(): void {
    if (this.element.hidden) return;
    this.element.hidden = true;
    document.body.classList.remove("with-drawer");
    if (this.opener?.isConnected) this.opener.focus();
  }

  private open(title: (string | Node)[], ...content: (Node | null)[]): void {
    if (this.element.hidden) this.opener = document.activeElement as HTMLElement | null;
    const close = h("button", { class: "close", "aria-label": "Close", onclick: () => this.close() }, "✕");
    fill(this.element, h("div", { class: "drawer-head" }, h("h2", {}, ...title), close), ...content);
    this.element.hidden = false;
    document.body.classList.add("with-drawer");
    this.element.focus({ preventScroll: true });
    this.element.scrollTop = 0;
  }

  /** The places of a list of blocks, largest first. */
  blocks(title: (string | Node)[], list: Iterable<number>): void {
    const { model } = this;
    const found = places(model, list);
    const sum = found.reduce((sum, row) => sum + row.bytes, 0);
    const count = found.reduce((sum, row) => sum + row.blocks, 0);
    const [stacks, labels, specs, entries] = ["site_stack", "site_label", "site_spec", "site_entry"].map((name) => model.column(name));
    const words = model.tables.keys;
    const names = model.names.size ? Array.from(list).flatMap((allocation) => model.names.get(allocation) ?? []) : [];
    const parts = found.slice(0, 30).map((row, at) => {
      const site = row.key;
      const details = h("details", { open: at === 0 });
      add(
        details,
        h("summary", {}, h("b", { title: exact(row.bytes) }, bytes(row.bytes)), ` in ${counted(row.blocks, "block")}: ${words.label[labels[site]]}`),
        h("p", { class: "soft" }, `${model.tables.specs[specs[site]].text}, by ${words.entry[entries[site]]}`),
      );
      const draw = (): void => {
        if (details.open && !details.querySelector(".stack")) details.append(this.stack(stacks[site]));
      };
      details.addEventListener("toggle", draw);
      draw();
      return details;
    });
    this.open(
      title,
      h("p", {}, `${bytes(sum)} in ${counted(count, "block")}, taken at ${counted(found.length, "place")}.`),
      names.length ? h("details", { open: names.length < 20 }, h("summary", {}, `kept by ${counted(names.length, "name")}`), h("ul", {}, ...names.slice(0, 1000).map((name) => h("li", {}, name)))) : null,
      ...parts,
      found.length > 30 ? h("p", { class: "soft" }, `${counted(found.length - 30, "other place")} with less.`) : null,
    );
  }

  /** One block: who took it, who gave it back. */
  block(allocation: number): void {
    const { model } = this;
    const value = (name: string): number => model.column(name)[allocation];
    const site = value("site");
    const spec = model.tables.specs[model.column("site_spec")[site]];
    const [begin, end] = [model.begin[allocation], model.end[allocation]];
    const time = model.column("time");
    const line = keys(model, "line");
    const row = (name: string, ...text: (string | Node)[]): HTMLElement => h("tr", {}, h("th", {}, name), h("td", {}, ...text));
    const freed = model.freed[allocation];
    const giver = freed === NONE ? -1 : model.column("free_site")[freed];
    this.open(
      [`${bytes(value("size"))} at ${hex(value("address"))}`],
      h(
        "table",
        { class: "facts" },
        row("Taken by", ...linked(line.words[line.of(allocation)])),
        row("What for", model.tables.keys.label[model.column("site_label")[site]]),
        ...(model.names.has(allocation) ? [row("Kept by", model.names.get(allocation)!.join(", "))] : []),
        row("Array", spec.text),
        row("Size", `${exact(value("size"))}, ${bytes(Math.max(0, value("size") - spec.logical))} of it padding`),
        row("Memory", model.tables.spaces[value("space")].name),
        row("Taken", `${seconds(time[begin])}, by thread ${model.tables.threads[value("thread")]} in ${model.tables.keys.entry[model.column("site_entry")[site]]}`),
        row(
          "Given back",
          end === NONE
            ? "never"
            : giver < 0
              ? `${seconds(time[end])}: another block took its address, its free is missing`
              : `${seconds(time[end])}, after ${span(time[end] - time[begin])}, by thread ${model.tables.threads[model.column("free_thread")[freed]]}`,
        ),
      ),
      h("h3", {}, "Taken by"),
      this.stack(model.column("site_stack")[site]),
      giver < 0 ? null : h("h3", {}, "Given back by"),
      giver < 0 ? null : this.stack(model.column("free_stack")[giver]),
    );
  }

  /** A path of calls, innermost first. */
  calls(title: string, note: string, path: Frame[]): void {
    this.open([title], h("p", {}, note), this.list(path));
  }

  /** A stack by itself. */
  one(title: string, note: string, stack: number): void {
    this.open([title], h("p", {}, note), this.stack(stack));
  }

  private stack(number: number): HTMLElement {
    const frames = this.model.stack(number);
    const box = h("div", { class: "stack" });
    const draw = (): void => {
      const bits = { python: 2, mixed: 4, native: 0 }[this.face];
      let shown = bits === 0 ? frames : frames.filter((frame) => frame.kind & bits);
      if (shown.length === 0) shown = this.face === "python" ? frames.filter((frame) => frame.kind & 1) : frames;
      if (shown.length === 0) shown = frames;
      const buttons = (["python", "mixed", "native"] as const).map((face) => {
        const text = { python: "Python", mixed: "Mixed", native: "All frames" }[face];
        return h("button", { "aria-pressed": String(face === this.face), onclick: () => ((this.face = face), draw()) }, text);
      });
      fill(box, h("p", { class: "bar" }, ...buttons, h("span", { class: "soft" }, `${shown.length} of ${counted(frames.length, "frame")}, innermost first`)), this.list(shown));
    };
    draw();
    return box;
  }

  private list(frames: Frame[]): HTMLElement {
    if (frames.length === 0) return h("p", { class: "soft" }, "No stack was recorded.");
    const items = frames.map((frame) =>
      h("li", { class: frame.kind & 1 ? "python" : "native" }, h("span", { class: "function" }, frame.name || "?"), " ", link(frame, place(frame))),
    );
    return h("ol", { class: "frames" }, ...items);
  }
}
