// Calls as bars: the wider, the more bytes they took.
import { canvas, color, fill, h, tip } from "./dom";
import { Frame, Model } from "./data";
import { bytes, counted, oneLine, percent } from "./format";
import { place } from "./source";

export type Face = "python" | "mixed" | "native";

interface Bar {
  name: string;
  /** The frame it is of; null for the root and for what a block was taken for. */
  frame: Frame | null;
  parent: number;
  bytes: number;
  blocks: number;
  depth: number;
  /** Bytes to the left of it. */
  left: number;
  children: number[];
}

/** The stacks of a trace as one view has them: a tree of calls, and its node for each stack. */
class Calls {
  readonly frames: (Frame | null)[] = [null];
  readonly parents: number[] = [0];
  /** Of each stack. */
  readonly node: Uint32Array;

  constructor(model: Model, shows: (kind: number) => boolean) {
    const [callers, places] = [model.column("stack_caller"), model.column("stack_frame")];
    this.node = new Uint32Array(callers.length + 1);
    const known = new Map<number, number>();
    // Frames with the same words are one; their numbers are made once for each place.
    const numbers = new Map<string, number>();
    const parts = model.tables.frames.map((_, at) =>
      model
        .functions(at)
        .reverse()
        .filter((frame) => shows(frame.kind))
        .map((frame) => {
          const key = `${frame.name}\0${frame.file}\0${frame.line}`;
          const number = numbers.get(key) ?? numbers.size;
          numbers.set(key, number);
          return { frame, number };
        }),
    );
    for (let stack = 1; stack <= callers.length; stack++) {
      let at = this.node[callers[stack - 1]];
      for (const { frame, number } of parts[places[stack - 1]]) {
        const key = at * numbers.size + number;
        let next = known.get(key);
        if (next === undefined) {
          next = this.frames.length;
          known.set(key, next);
          this.frames.push(frame);
          this.parents.push(at);
        }
        at = next;
      }
      this.node[stack] = at;
    }
  }
}

const made = new Map<string, Calls>();

function calls(model: Model, face: string): Calls {
  const bit: Record<string, number> = { python: 2, mixed: 4, every_python: 1 };
  let found = made.get(face);
  if (!found) made.set(face, (found = new Calls(model, (kind) => face === "native" || (kind & bit[face]) !== 0)));
  return found;
}

/** Makes what the first look at the graph needs, while nobody waits. */
export function prepare(model: Model): void {
  calls(model, "python");
}

/** The bars of blocks, the root first; callers come before what they call. */
function bars(model: Model, list: Uint32Array, face: Face): Bar[] {
  const sites = model.column("site");
  const sizes = model.column("size");
  const stacks = model.column("site_stack");
  const [labels, specs] = [model.column("site_label"), model.column("site_spec")];
  const sums = new Float64Array(stacks.length);
  const blocks = new Uint32Array(stacks.length);
  for (const allocation of list) {
    sums[sites[allocation]] += sizes[allocation];
    blocks[sites[allocation]]++;
  }
  const all: Bar[] = [{ name: "all", frame: null, parent: 0, bytes: 0, blocks: 0, depth: 0, left: 0, children: [] }];
  const child = (parent: number, name: string, frame: Frame | null): number => {
    all.push({ name, frame, parent, bytes: 0, blocks: 0, depth: all[parent].depth + 1, left: 0, children: [] });
    all[parent].children.push(all.length - 1);
    return all.length - 1;
  };
  /** The bar of a node of calls, made with those of its callers where there is none. */
  const known = new Map<Calls, Int32Array>();
  const barOf = (of: Calls, node: number): number => {
    let list = known.get(of);
    if (!list) known.set(of, (list = new Int32Array(of.frames.length)));
    const path: number[] = [];
    for (; node !== 0 && list[node] === 0; node = of.parents[node]) path.push(node);
    for (const step of path.reverse()) {
      const frame = of.frames[step]!;
      list[step] = child(list[node], frame.name, frame);
      node = step;
    }
    return list[node];
  };
  const tree = calls(model, face);
  const reasons = new Map<number, number>();
  const { labels: words, specs: types } = model.tables;
  for (let site = 0; site < stacks.length; site++) {
    if (blocks[site] === 0) continue;
    const node = tree.node[stacks[site]];
    // A stack of nothing but JAX's own frames would say nothing at all.
    const every = node === 0 && face !== "native" ? calls(model, "every_python") : tree;
    const at = barOf(every, every.node[stacks[site]]);
    const reason = words[labels[site]] === "" ? words.length + specs[site] : labels[site];
    const key = at * (words.length + types.length) + reason;
    let leaf = reasons.get(key);
    if (leaf === undefined) {
      leaf = child(at, words[labels[site]] || types[specs[site]].text, null);
      reasons.set(key, leaf);
    }
    all[leaf].bytes += sums[site];
    all[leaf].blocks += blocks[site];
  }
  // Parents stand before their children.
  for (let at = all.length - 1; at > 0; at--) {
    all[all[at].parent].bytes += all[at].bytes;
    all[all[at].parent].blocks += all[at].blocks;
  }
  const place = (at: number): void => {
    let left = all[at].left;
    all[at].children.sort((a, b) => all[b].bytes - all[a].bytes);
    for (const each of all[at].children) {
      all[each].left = left;
      left += all[each].bytes;
    }
  };
  for (let at = 0; at < all.length; at++) place(at);
  return all;
}

const HEIGHT = 21;

/** What kind of code a bar is of, which its colour and the table beside it say. */
function kind(bar: Bar): string {
  if (bar.frame === null) return "what for";
  if (bar.frame.kind & 1) return bar.frame.file.includes("-packages/") ? "library" : "python";
  return bar.frame.kind & 8 ? "emulator" : "native";
}

const COLORS: Record<string, string> = {
  "what for": "--flame-what",
  python: "--flame-python",
  library: "--flame-library",
  native: "--flame-native",
  emulator: "--flame-emulator",
};

/** A flame graph, or an icicle that grows downwards. */
export class Flame {
  readonly element = h("div", { class: "flame" });
  private all: Bar[] = [];
  private root = 0;
  private focus = 0;
  private found = "";

  constructor(
    private readonly model: Model,
    private readonly chosen: (bar: { frame: Frame | null; name: string; bytes: number; blocks: number; path: Frame[] }) => void,
  ) {}

  show(list: Uint32Array, face: Face, upwards: boolean, search: string): void {
    this.all = bars(this.model, list, face);
    this.root = 0;
    this.focus = 0;
    this.found = search.toLowerCase();
    this.draw(upwards);
  }

  private draw(upwards: boolean): void {
    const { all } = this;
    const total = all[0].bytes;
    if (total === 0) {
      fill(this.element, h("p", { class: "empty" }, "Nothing lived here then."));
      return;
    }
    const root = all[this.root];
    const width = Math.max(200, this.element.clientWidth);
    const shown: { at: number; x: number; width: number; row: number }[] = [];
    const up: number[] = [];
    for (let at = this.root; at !== 0; at = all[at].parent) up.push(all[at].parent);
    for (const at of up) shown.push({ at, x: 0, width, row: all[at].depth });
    const stack = [this.root];
    let rows = root.depth;
    while (stack.length) {
      const at = stack.pop()!;
      const bar = all[at];
      const size = (bar.bytes / root.bytes) * width;
      if (size < 0.4) continue;
      shown.push({ at, x: ((bar.left - root.left) / root.bytes) * width, width: size, row: bar.depth });
      rows = Math.max(rows, bar.depth);
      stack.push(...bar.children);
    }
    const height = (rows + 1) * HEIGHT + 1;
    const [element, context] = canvas(width, height, this.words(this.focus));
    const y = (row: number): number => (upwards ? height - (row + 1) * HEIGHT : row * HEIGHT);
    const ink = color("--flame-ink");
    const colors = Object.fromEntries(Object.entries(COLORS).map(([name, variable]) => [name, color(variable)]));
    const matched = color("--found");
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    let count = 0;
    for (const { at, x, width, row } of shown) {
      const bar = all[at];
      const text = oneLine(at === 0 ? `all: ${bytes(bar.bytes)}` : bar.frame && bar.frame.line ? `${bar.name}  ${place(bar.frame).split("/").pop()}` : bar.name);
      const isFound = this.found !== "" && this.label(bar).toLowerCase().includes(this.found);
      if (isFound) count++;
      context.globalAlpha = row < root.depth ? 0.5 : 1;
      context.fillStyle = isFound ? matched : at === 0 ? color("--raised") : colors[kind(bar)];
      context.fillRect(x, y(row), Math.max(0.5, width - 1), HEIGHT - 1);
      if (at === this.focus && this.focus !== 0) {
        context.strokeStyle = color("--ink");
        context.lineWidth = 2;
        context.strokeRect(x + 1, y(row) + 1, Math.max(1, width - 3), HEIGHT - 3);
      }
      if (width > 24) {
        context.fillStyle = at === 0 ? color("--ink") : ink;
        context.fillText(fit(context, text, width - 8), x + 4, y(row) + HEIGHT / 2);
      }
    }
    context.globalAlpha = 1;
    const hit = (event: MouseEvent): number | undefined => {
      const box = element.getBoundingClientRect();
      const [px, py] = [event.clientX - box.left, event.clientY - box.top];
      return shown.find(({ x, width, row }) => py >= y(row) && py < y(row) + HEIGHT && px >= x && px < x + Math.max(1, width))?.at;
    };
    element.addEventListener("mousemove", (event) => {
      const at = hit(event);
      if (at === undefined) tip.hide();
      else tip.show(event, ...this.lines(at));
    });
    element.addEventListener("mouseleave", () => tip.hide());
    element.addEventListener("click", (event) => {
      const at = hit(event);
      if (at !== undefined) this.pick(at, upwards);
    });
    element.addEventListener("keydown", (event) => this.key(event, upwards));
    const hadFocus = this.element.contains(document.activeElement);
    const found = this.found === "" ? null : h("p", { class: "note" }, `${counted(count, "bar")} found`);
    fill(this.element, found, element, this.legend());
    if (hadFocus) element.focus({ preventScroll: true });
  }

  private legend(): HTMLElement {
    const words: [string, string][] = [
      ["python", "your Python"],
      ["library", "Python of packages"],
      ["native", "native code"],
      ["emulator", "the emulator"],
      ["what for", "what for"],
    ];
    const present = new Set(this.all.slice(1).map(kind));
    const items = words.filter(([name]) => present.has(name));
    return h(
      "p",
      { class: "legend" },
      ...items.map(([name, text]) => h("span", {}, h("i", { style: `background: var(${COLORS[name]})` }), text)),
    );
  }

  private pick(at: number, upwards: boolean): void {
    tip.hide();
    this.root = at;
    this.focus = at;
    this.draw(upwards);
    const bar = this.all[at];
    const path: Frame[] = [];
    for (let up = at; up !== 0; up = this.all[up].parent) if (this.all[up].frame) path.push(this.all[up].frame!);
    if (at !== 0) this.chosen({ frame: bar.frame, name: bar.name, bytes: bar.bytes, blocks: bar.blocks, path });
  }

  private key(event: KeyboardEvent, upwards: boolean): void {
    const bar = this.all[this.focus];
    const siblings = this.all[bar.parent].children;
    const at = siblings.indexOf(this.focus);
    const outwards = upwards ? "ArrowUp" : "ArrowDown";
    const inwards = upwards ? "ArrowDown" : "ArrowUp";
    if (event.key === outwards && bar.children.length) this.focus = bar.children[0];
    else if (event.key === inwards) this.focus = bar.parent;
    else if (event.key === "ArrowLeft" && at > 0) this.focus = siblings[at - 1];
    else if (event.key === "ArrowRight" && this.focus !== 0 && at + 1 < siblings.length) this.focus = siblings[at + 1];
    else if (event.key === "Enter") return this.pick(this.focus, upwards);
    else if (event.key === "Escape") return this.pick(0, upwards);
    else return;
    event.preventDefault();
    this.draw(upwards);
  }

  private label(bar: Bar): string {
    return bar.frame ? `${bar.name} ${place(bar.frame)}` : bar.name;
  }

  private lines(at: number): string[] {
    const bar = this.all[at];
    const lines = [this.label(bar), `${bytes(bar.bytes)} in ${counted(bar.blocks, "block")}, ${percent(bar.bytes, this.all[0].bytes)} of all`];
    return bar.frame ? [...lines, `${kind(bar)}: ${bar.frame.module}`] : lines;
  }

  private words(at: number): string {
    return `Calls by bytes. ${this.lines(at).join(". ")}. Arrow keys go through the bars, Enter zooms, Escape shows all.`;
  }
}

/** As much of a text as fits a width. */
export function fit(context: CanvasRenderingContext2D, text: string, width: number): string {
  // No letter is narrower than three pixels.
  let shown = text.slice(0, Math.ceil(width / 3));
  if (shown === text && context.measureText(shown).width <= width) return shown;
  let [low, high] = [0, shown.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(shown.slice(0, middle) + "…").width <= width) low = middle;
    else high = middle - 1;
  }
  shown = shown.slice(0, low);
  return low > 0 ? shown + "…" : "";
}
