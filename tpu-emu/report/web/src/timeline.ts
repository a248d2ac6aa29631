// How full memory was over time, with marks, refusals, the peak and the chosen moment.
import uPlot from "uplot";
import { color, fill, h } from "./dom";
import { bytes, seconds } from "./format";
import { ALL, State } from "./state";

/** Steps that show what thousands of them do: of each part of the width the first, least, most and last. */
function reduced(state: State, from: number, to: number, width: number): [number[], number[]] {
  const { model } = state;
  const time = model.column("time");
  const inUse = state.inUse();
  const first = model.momentOf(from - 1);
  const last = model.momentOf(to);
  const times: number[] = [from / 1e9];
  const sizes: number[] = [first === 0 ? 0 : inUse[first - 1]];
  const scale = width / Math.max(1, to - from);
  const put = (step: number): void => {
    times.push(time[step] / 1e9);
    sizes.push(inUse[step]);
  };
  for (let step = first; step < last; ) {
    const part = Math.floor((time[step] - from) * scale);
    const start = step;
    let [least, most] = [step, step];
    for (; step < last && Math.floor((time[step] - from) * scale) === part; step++) {
      if (inUse[step] < inUse[least]) least = step;
      if (inUse[step] > inUse[most]) most = step;
    }
    const shown = [...new Set([start, Math.min(least, most), Math.max(least, most), step - 1])];
    for (const each of shown) put(each);
  }
  times.push(to / 1e9);
  sizes.push(last === 0 ? 0 : inUse[last - 1]);
  return [times, sizes];
}

export class Timeline {
  readonly element = h("div", { class: "timeline", tabindex: 0, role: "application" });
  private readonly note = h("div", { class: "note", "aria-live": "polite" });
  private readonly place = h("div", {});
  private plot: uPlot | null = null;
  private from = 0;
  private to = 0;
  private space = NaN;

  constructor(private readonly state: State) {
    this.element.setAttribute(
      "aria-label",
      "Bytes in use over time. Arrow keys go to the previous and next change, plus and minus zoom.",
    );
    this.element.append(this.place, this.note);
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.whole();
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  private whole(): void {
    const { model } = this.state;
    const marks = [...model.tables.marks, ...model.tables.refusals].map((of) => of.time);
    const [first, last] = [model.steps ? model.column("time")[0] : 0, model.timeAt(model.steps)];
    this.from = marks.reduce((least, time) => Math.min(least, time), model.steps ? first : marks[0] ?? 0);
    this.to = Math.max(this.from + (model.steps > 1 ? 1000 : 1e5), marks.reduce((most, time) => Math.max(most, time), last));
    const edge = (this.to - this.from) / 100;
    this.from = Math.max(0, this.from - edge);
    this.to += edge;
  }

  private resize(): void {
    const width = this.element.clientWidth;
    if (this.plot && width > 0 && Math.abs(this.plot.width - width) > 1) this.draw();
  }

  zoom(from: number, to: number): void {
    const least = 1000;
    if (to - from < least) to = from + least;
    [this.from, this.to] = [Math.max(0, from), to];
    this.data();
  }

  private key(event: KeyboardEvent): void {
    const many = event.shiftKey ? 100 : 1;
    const middle = this.state.model.timeAt(this.state.at);
    const width = this.to - this.from;
    switch (event.key) {
      case "ArrowLeft":
      case "ArrowRight":
        this.state.setMoment(this.state.neighbour(event.key === "ArrowRight", many));
        break;
      case "+":
      case "=":
        this.zoom(middle - width / 4, middle + width / 4);
        break;
      case "-":
        this.zoom(middle - width, middle + width);
        break;
      case "0":
        this.whole();
        this.data();
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private data(): void {
    const width = this.plot?.width ?? 800;
    const [times, sizes] = reduced(this.state, this.from, this.to, width);
    this.plot?.setData([times, sizes], false);
    this.plot?.setScale("x", { min: this.from / 1e9, max: this.to / 1e9 });
    const most = sizes.reduce((most, size) => Math.max(most, size), 512);
    this.plot?.setScale("y", { min: 0, max: most * 1.12 });
  }

  /** Draws what is chosen; another space means other data. */
  update(): void {
    if (!this.plot) this.draw();
    else if (this.space !== this.state.space) {
      this.space = this.state.space;
      this.data();
    } else this.plot.redraw(false);
  }

  /** Draws anew, in the colours and the width of now. */
  draw(): void {
    this.plot?.destroy();
    this.space = this.state.space;
    const axis = { stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 } };
    const font = "12px system-ui, sans-serif";
    const options: uPlot.Options = {
      width: Math.max(200, this.element.clientWidth),
      height: 190,
      legend: { show: false },
      scales: { x: { time: false, auto: false }, y: { auto: false } },
      axes: [
        { ...axis, font, values: (_, ticks) => ticks.map((tick) => `${+tick.toFixed(9)} s`), size: 34, space: 90 },
        { ...axis, font, size: 72, splits: (plot) => ticks(plot.scales.y.max ?? 1), values: (_, splits) => splits.map(bytes) },
      ],
      series: [
        {},
        { stroke: color("--accent"), fill: color("--accent-fill"), width: 1.5, paths: uPlot.paths.stepped!({ align: 1 }), points: { show: false } },
      ],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      hooks: {
        draw: [(plot) => this.signs(plot)],
        setCursor: [(plot) => this.say(plot)],
        setSelect: [
          (plot) => {
            const { left, width } = plot.select;
            if (width > 2) this.zoom(plot.posToVal(left, "x") * 1e9, plot.posToVal(left + width, "x") * 1e9);
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
        ready: [
          (plot) => {
            let down = 0;
            plot.over.addEventListener("mousedown", (event) => (down = event.clientX));
            plot.over.addEventListener("mouseup", (event) => {
              if (Math.abs(event.clientX - down) > 2) return;
              const time = plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x") * 1e9;
              this.state.setMoment(this.near(plot, time));
            });
            plot.over.addEventListener("dblclick", () => {
              this.whole();
              this.data();
            });
            plot.over.addEventListener("mouseleave", () => this.rest());
          },
        ],
      },
    };
    fill(this.place);
    this.plot = new uPlot(options, [[0], [0]], this.place);
    this.data();
    this.rest();
  }

  /** The moment of a click: a named one where one is within five pixels. */
  private near(plot: uPlot, time: number): number {
    const { model } = this.state;
    const x = plot.valToPos(time / 1e9, "x");
    for (const named of this.state.names()) {
      const at = named.of(this.state.space);
      if (Math.abs(plot.valToPos(model.timeAt(at) / 1e9, "x") - x) <= 5) return at;
    }
    return model.momentOf(time);
  }

  private rest(): void {
    fill(this.note, "Click for a moment, drag to zoom, double click for all.");
  }

  private say(plot: uPlot): void {
    const { left } = plot.cursor;
    if (left === undefined || left === null || left < 0) return;
    const time = plot.posToVal(left, "x") * 1e9;
    const at = this.state.model.momentOf(time);
    fill(this.note, `${seconds(Math.max(0, time))}: ${bytes(this.state.inUseAt(at))} in use`);
  }

  /** The signs over the curve: each has a form of its own beside its colour. */
  private signs(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const { state } = this;
    const { model } = state;
    const ratio = uPlot.pxRatio;
    const [top, bottom] = [bbox.top, bbox.top + bbox.height];
    const x = (nanos: number): number => plot.valToPos(nanos / 1e9, "x", true);
    const inside = (at: number): boolean => at >= bbox.left - 1 && at <= bbox.left + bbox.width + 1;
    ctx.save();
    ctx.lineWidth = ratio;
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    const capacity = plot.valToPos(state.capacity(), "y", true);
    if (capacity >= top) {
      ctx.strokeStyle = color("--bad");
      ctx.setLineDash([6 * ratio, 4 * ratio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, capacity);
      ctx.lineTo(bbox.left + bbox.width, capacity);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    let free = -Infinity;
    for (const mark of model.tables.marks) {
      const at = x(mark.time);
      if (!inside(at)) continue;
      ctx.strokeStyle = ctx.fillStyle = color("--mark");
      ctx.setLineDash([3 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(at, top);
      ctx.lineTo(at, bottom);
      ctx.stroke();
      ctx.setLineDash([]);
      const name = mark.name.length > 18 ? mark.name.slice(0, 17) + "…" : mark.name;
      const width = ctx.measureText(name).width + 8 * ratio;
      if (at > free && at + width < bbox.left + bbox.width) {
        ctx.fillText(name, at + 4 * ratio, top + 11 * ratio);
        free = at + width;
      }
    }
    const mask = state.chosen();
    ctx.strokeStyle = color("--bad");
    ctx.lineWidth = 2 * ratio;
    for (const refusal of model.tables.refusals) {
      const at = x(refusal.time);
      if (!mask[refusal.space] || !inside(at)) continue;
      const [y, arm] = [top + 22 * ratio, 5 * ratio];
      ctx.beginPath();
      ctx.moveTo(at - arm, y - arm);
      ctx.lineTo(at + arm, y + arm);
      ctx.moveTo(at + arm, y - arm);
      ctx.lineTo(at - arm, y + arm);
      ctx.stroke();
    }
    const peak = state.byName("peak")!.of(state.space);
    const at = x(model.timeAt(peak));
    if (inside(at) && peak > 0) {
      const y = plot.valToPos(state.inUseAt(peak), "y", true);
      ctx.fillStyle = color("--accent");
      ctx.beginPath();
      ctx.moveTo(at, y - 2 * ratio);
      ctx.lineTo(at - 5 * ratio, y - 10 * ratio);
      ctx.lineTo(at + 5 * ratio, y - 10 * ratio);
      ctx.fill();
    }
    const now = x(model.timeAt(state.at));
    if (inside(now)) {
      ctx.strokeStyle = ctx.fillStyle = color("--ink");
      ctx.lineWidth = 1.5 * ratio;
      ctx.beginPath();
      ctx.moveTo(now, top);
      ctx.lineTo(now, bottom);
      ctx.stroke();
      ctx.beginPath();
      ctx.arc(now, plot.valToPos(state.inUseAt(state.at), "y", true), 3.5 * ratio, 0, 7);
      ctx.fill();
    }
    ctx.restore();
  }
}

/** Round numbers of bytes up to a most one: powers of two, or parts of one. */
function ticks(most: number): number[] {
  let step = 2 ** Math.floor(Math.log2(Math.max(4, most)));
  while (most / step < 3) step /= 2;
  const made: number[] = [];
  for (let at = 0; at <= most; at += step) made.push(at);
  return made;
}

/** How full each space was, as rows that can be chosen. */
export function overview(state: State): HTMLElement {
  const { model } = state;
  const { spaces } = model.tables;
  const width = 160;
  const bins = new Float64Array(spaces.length * width);
  const now = new Float64Array(spaces.length);
  const [of, sizes] = [model.column("space"), model.column("size")];
  const time = model.column("time");
  const [from, to] = [model.steps ? time[0] : 0, model.timeAt(model.steps)];
  const scale = (width - 1) / Math.max(1, to - from);
  for (let step = 0; step < model.steps; step++) {
    const allocation = model.of[step];
    if (allocation === 0xffffffff) continue;
    const space = of[allocation];
    now[space] += model.begin[allocation] === step ? sizes[allocation] : -sizes[allocation];
    const bin = space * width + Math.floor((time[step] - from) * scale);
    bins[bin] = Math.max(bins[bin], now[space], 1e-9);
  }
  const most = spaces.reduce((most, space) => Math.max(most, space.peak), 1);
  const rows = state.used.map((space) => {
    const each = spaces[space];
    const refused = model.tables.refusals.filter((refusal) => refusal.space === space).length;
    const spark = h("canvas", { class: "spark", "aria-hidden": "true" });
    [spark.width, spark.height] = [width, 22];
    const context = spark.getContext("2d")!;
    context.fillStyle = color("--accent");
    let level = 0;
    for (let at = 0; at < width; at++) {
      // Where nothing happened it stays as full as it was.
      level = bins[space * width + at] > 0 ? bins[space * width + at] : level;
      const height = (level / most) * 20;
      context.fillRect(at, 22 - height, 1, height);
    }
    const button = h("button", { class: "plain", onclick: () => state.setSpace(space) }, each.name);
    return h(
      "tr",
      { class: state.space === space ? "chosen" : undefined },
      h("td", {}, button),
      h("td", {}, spark),
      h("td", { class: "number" }, bytes(each.peak)),
      h("td", { class: "number" }, bytes(state.model.tables.is_snapshot ? 0 : endOf(state, space))),
      h("td", { class: "number" }, bytes(each.capacity)),
      h("td", { class: "number" }, refused ? `✕ ${refused}` : ""),
    );
  });
  const head = ["Memory", "In use", "Peak", "End", "Capacity", "Refused"].map((text, at) => h("th", { class: at > 1 ? "number" : undefined }, text));
  const all = h("button", { class: "plain", onclick: () => state.setSpace(ALL) }, "all devices");
  const devices = state.used.filter((space) => spaces[space].device !== null).length;
  return h(
    "div",
    { class: "overview", tabindex: 0, role: "region", "aria-label": "Memories" },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...head)),
      h("tbody", {}, devices > 1 && h("tr", { class: state.space === ALL ? "chosen" : undefined }, h("td", { colspan: 6 }, all)), ...rows),
    ),
  );
}

const ends = new Map<number, number>();

/** What a space held before the clean-up, by one walk over all of them. */
function endOf(state: State, space: number): number {
  if (ends.size === 0) {
    const { model } = state;
    const [of, sizes] = [model.column("space"), model.column("size")];
    const { spaces } = model.tables;
    const sums = new Float64Array(spaces.length);
    for (let allocation = 0; allocation < model.allocations; allocation++) {
      const end = spaces[of[allocation]].end_at;
      if (model.begin[allocation] < end && model.end[allocation] >= end) sums[of[allocation]] += sizes[allocation];
    }
    sums.forEach((sum, at) => ends.set(at, sum));
  }
  return ends.get(space) ?? 0;
}
