// A memory space by its addresses: blocks, holes, and what stands beside the holes.
import { canvas, color, fill, h, tip } from "./dom";
import { bytes, counted, exact, hex } from "./format";
import { ALL, State } from "./state";
import { Hole, keys, layout, numbers, rows } from "./sums";
import { linked } from "./source";

const ROW = 16;
const GAP = 3;
export const PALETTE = 8;

export class AddressMap {
  readonly element = h("div", { class: "map" });
  private whole = false;
  private window: [number, number] | null = null;
  private shown = "";

  constructor(
    private readonly state: State,
    private readonly chosen: (allocation: number) => void,
  ) {}

  show(): void {
    const { state } = this;
    const { model } = state;
    const key = `${state.space}`;
    if (key !== this.shown) this.window = null;
    this.shown = key;
    if (state.space === ALL) {
      fill(this.element, h("p", { class: "empty" }, "Addresses are those of one memory: choose a device above."));
      return;
    }
    const list = state.live();
    const capacity = state.capacity();
    const { blocks, holes } = layout(state, list, capacity);
    const [addresses, sizes] = [model.column("address"), model.column("size")];
    const last = holes.length && holes[holes.length - 1].behind < 0 ? holes[holes.length - 1].address : capacity;
    let [from, to] = this.window ?? [0, this.whole ? capacity : Math.max(512, Math.min(capacity, last * 1.03))];
    const width = Math.max(200, this.element.clientWidth);
    const count = 24;
    const perRow = Math.max(512, Math.ceil((to - from) / count / 512) * 512);
    to = from + perRow * count;
    const height = count * (ROW + GAP);
    const label = `Addresses ${hex(from)} to ${hex(to)}: ${counted(blocks.length, "block")}, ${counted(holes.length, "hole")}`;
    const [element, context] = canvas(width, height, label);
    const top = rows(model, list, "line");
    const { of, words: lines } = keys(model, "line");
    const labels = keys(model, "label");
    const ranks = new Map(top.slice(0, PALETTE).map((row, rank) => [row.key, rank]));
    const colors = Array.from({ length: PALETTE }, (_, rank) => color(`--hue-${rank}`));
    const [other, ground] = [color("--hue-other"), color("--hole")];
    const hatch = pattern(context, ground, color("--hole-line"));
    const edge = color("--paper");
    for (let row = 0; row < count; row++) {
      const end = Math.min(capacity, from + (row + 1) * perRow) - (from + row * perRow);
      if (end <= 0) break;
      context.fillStyle = hatch;
      context.fillRect(0, row * (ROW + GAP), (end / perRow) * width, ROW);
    }
    const draw = (address: number, size: number, style: string, outline: string | null): void => {
      let at = Math.max(address, from);
      const end = Math.min(address + size, to);
      while (at < end) {
        const row = Math.floor((at - from) / perRow);
        const stop = Math.min(end, from + (row + 1) * perRow);
        const x = ((at - from - row * perRow) / perRow) * width;
        const wide = ((stop - at) / perRow) * width;
        context.fillStyle = style;
        context.fillRect(x, row * (ROW + GAP), Math.max(0.6, wide), ROW);
        if (outline && wide > 3) {
          context.fillStyle = outline;
          context.fillRect(x + wide - 0.6, row * (ROW + GAP), 0.6, ROW);
        }
        at = stop;
      }
    };
    for (const allocation of blocks) {
      const rank = ranks.get(of(allocation));
      draw(addresses[allocation], sizes[allocation], rank === undefined ? other : colors[rank], edge);
    }
    const starts = numbers(blocks, (allocation) => addresses[allocation]);
    const hit = (event: MouseEvent): { block?: number; hole?: Hole; address: number } | null => {
      const box = element.getBoundingClientRect();
      const row = Math.floor((event.clientY - box.top) / (ROW + GAP));
      const address = from + row * perRow + ((event.clientX - box.left) / width) * perRow;
      if (address < 0 || address >= capacity) return null;
      let [low, high] = [0, starts.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (starts[middle] <= address) low = middle + 1;
        else high = middle;
      }
      const block = low > 0 ? blocks[low - 1] : undefined;
      if (block !== undefined && address < addresses[block] + sizes[block]) return { block, address };
      return { hole: holes.find((hole) => hole.address <= address && address < hole.address + hole.size), address };
    };
    element.addEventListener("mousemove", (event) => {
      const under = hit(event);
      if (!under) return tip.hide();
      if (under.block !== undefined) {
        const where = `${bytes(sizes[under.block])} at ${hex(addresses[under.block])}`;
        tip.show(event, where, lines[of(under.block)], labels.words[labels.of(under.block)]);
      } else if (under.hole) tip.show(event, `hole of ${bytes(under.hole.size)} at ${hex(under.hole.address)}`);
    });
    element.addEventListener("mouseleave", () => tip.hide());
    element.addEventListener("click", (event) => {
      const under = hit(event);
      if (under?.block !== undefined) this.chosen(under.block);
    });
    const free = holes.reduce((sum, hole) => sum + hole.size, 0);
    const largest = holes.reduce((most, hole) => Math.max(most, hole.size), 0);
    const button = (text: string, onclick: () => void): HTMLButtonElement => h("button", { onclick }, text);
    const middle = (from + to) / 2;
    const half = (perRow * count) / 2;
    const move = (start: number, end: number): void => {
      const size = Math.min(end - start, capacity);
      const first = Math.max(0, Math.min(start, capacity - size));
      this.window = [Math.floor(first / 512) * 512, first + size];
      this.show();
    };
    fill(
      this.element,
      h(
        "p",
        { class: "bar" },
        h("span", {}, `${bytes(free)} free in ${counted(holes.length, "hole")}, the largest `, h("b", { id: "largest-hole", title: exact(largest) }, bytes(largest))),
        button("Zoom in", () => move(middle - half / 2, middle + half / 2)),
        button("Zoom out", () => move(middle - half * 2, middle + half * 2)),
        button("◀", () => move(from - half, to - half)),
        button("▶", () => move(from + half, to + half)),
        button(this.whole ? "Used part" : "Whole memory", () => {
          this.whole = !this.whole;
          this.window = null;
          this.show();
        }),
        h("span", { class: "soft" }, `${hex(from)} to ${hex(Math.min(to, capacity))}, a row is ${bytes(perRow)}`),
      ),
      element,
      h(
        "p",
        { class: "legend" },
        ...top.slice(0, PALETTE).map((row, rank) => h("span", {}, h("i", { style: `background: var(--hue-${rank})` }), ...linked(row.words), ` ${bytes(row.bytes)}`)),
        top.length > PALETTE && h("span", {}, h("i", { style: "background: var(--hue-other)" }), "others"),
        h("span", {}, h("i", { class: "hatched" }), "hole"),
      ),
      h("h3", {}, "Largest holes, and what stands on both sides"),
      this.holes(holes, move),
    );
  }

  private holes(holes: Hole[], move: (from: number, to: number) => void): HTMLElement {
    const { model } = this.state;
    const { words, of } = keys(model, "line");
    const sizes = model.column("size");
    const side = (allocation: number, end: string): HTMLElement =>
      allocation < 0
        ? h("td", { class: "soft" }, end)
        : h(
            "td",
            {},
            h("button", { class: "plain", onclick: () => this.chosen(allocation) }, bytes(sizes[allocation])),
            " ",
            ...linked(words[of(allocation)]),
          );
    const largest = [...holes].sort((a, b) => b.size - a.size).slice(0, 50);
    const body = largest.map((hole) =>
      h(
        "tr",
        {},
        h("td", { class: "number", title: exact(hole.size) }, h("button", { class: "plain", onclick: () => move(hole.address - hole.size / 4, hole.address + hole.size * 1.25) }, bytes(hole.size))),
        h("td", { class: "number" }, hex(hole.address)),
        side(hole.before, "begin of the memory"),
        side(hole.behind, "end of the memory"),
      ),
    );
    return h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { id: "holes" },
        h("thead", {}, h("tr", {}, ...["Hole", "Address", "Before it", "Behind it"].map((text, at) => h("th", { class: at < 2 ? "number" : undefined }, text)))),
        h("tbody", {}, ...body),
      ),
    );
  }
}

function pattern(context: CanvasRenderingContext2D, ground: string, line: string): CanvasPattern | string {
  const tile = document.createElement("canvas");
  [tile.width, tile.height] = [6, 6];
  const inside = tile.getContext("2d")!;
  inside.fillStyle = ground;
  inside.fillRect(0, 0, 6, 6);
  inside.strokeStyle = line;
  inside.beginPath();
  inside.moveTo(0, 6);
  inside.lineTo(6, 0);
  inside.stroke();
  return context.createPattern(tile, "repeat") ?? ground;
}
