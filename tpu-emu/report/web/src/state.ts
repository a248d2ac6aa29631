// What is chosen: a memory space, a moment, a view; and what lived then.
import { Model, NONE } from "./data";

/** All device spaces at once. */
export const ALL = -1;

/** A moment that has a name, of each space its own. */
export interface Named {
  name: string;
  text: string;
  of: (space: number) => number;
}

export class State {
  space: number;
  /** How many steps were made at the chosen moment. */
  at = 0;
  /** The named moment that was chosen, so that another space shows its own. */
  named: string | null = "peak";
  view = "who";
  /** The spaces in which anything happened. */
  readonly used: number[];
  private listeners: ((what: "moment" | "view") => void)[] = [];
  private usage = new Map<number, Float64Array>();
  private lived: { key: string; list: Uint32Array } | null = null;

  constructor(readonly model: Model) {
    const spaces = model.tables.spaces;
    this.used = spaces.map((_, number) => number).filter((number) => spaces[number].changes > 0);
    const refused = new Set(model.tables.refusals.map((refusal) => refusal.space));
    for (const number of refused) if (!this.used.includes(number)) this.used.push(number);
    this.used.sort((a, b) => a - b);
    const devices = this.used.filter((number) => spaces[number].device !== null);
    const most = [...devices, ...this.used].reduce(
      (best, number) => (best < 0 || spaces[number].peak > spaces[best].peak ? number : best),
      devices[0] ?? -2,
    );
    this.space = devices.length > 1 ? ALL : devices[0] ?? (most >= 0 ? most : spaces.length > 0 ? 0 : ALL);
    this.at = this.byName("peak")?.of(this.space) ?? 0;
    if (model.tables.start) {
      this.named = null;
      this.at = this.of(model.tables.start, this.space);
    }
  }

  /** Calls a function whenever something else is chosen. */
  listen(listener: (what: "moment" | "view") => void): void {
    this.listeners.push(listener);
  }

  private tell(what: "moment" | "view"): void {
    for (const listener of this.listeners) listener(what);
  }

  setMoment(at: number, named: string | null = null): void {
    this.at = Math.max(0, Math.min(this.model.steps, at));
    this.named = named;
    this.tell("moment");
  }

  setNamed(name: string): void {
    const found = this.byName(name);
    if (found) this.setMoment(found.of(this.space), name);
  }

  setSpace(space: number): void {
    this.space = space;
    const found = this.named === null ? undefined : this.byName(this.named);
    if (found) this.at = found.of(space);
    this.tell("moment");
  }

  setView(view: string): void {
    this.view = view;
    this.tell("view");
  }

  /** Whether each space is among those that are chosen. */
  chosen(space = this.space): Uint8Array {
    const spaces = this.model.tables.spaces;
    const mask = new Uint8Array(Math.max(1, spaces.length));
    if (space === ALL) spaces.forEach((of, number) => (mask[number] = of.device === null ? 0 : 1));
    else mask[space] = 1;
    return mask;
  }

  /** The name of what is chosen. */
  name(space = this.space): string {
    return space === ALL ? "all devices" : this.model.tables.spaces[space].name;
  }

  /** The bytes that can be allocated in what is chosen. */
  capacity(space = this.space): number {
    const mask = this.chosen(space);
    return this.model.tables.spaces.reduce((sum, of, number) => sum + (mask[number] ? of.capacity : 0), 0);
  }

  /** Bytes in use after each step. */
  inUse(space = this.space): Float64Array {
    const known = this.usage.get(space);
    if (known) return known;
    const { model } = this;
    const [spaces, sizes, mask] = [model.column("space"), model.column("size"), this.chosen(space)];
    const made = new Float64Array(model.steps);
    let sum = 0;
    for (let step = 0; step < model.steps; step++) {
      const allocation = model.of[step];
      if (allocation !== NONE && mask[spaces[allocation]]) {
        sum += model.begin[allocation] === step ? sizes[allocation] : -sizes[allocation];
      }
      made[step] = sum;
    }
    // Those that another replaced end with the step of that one.
    for (const [allocation, by] of model.tables.replaced) {
      if (mask[spaces[allocation]]) for (let step = by; step < model.steps; step++) made[step] -= sizes[allocation];
    }
    // One for each of 256 devices would be too much to keep.
    if (this.usage.size >= 4) this.usage.clear();
    this.usage.set(space, made);
    return made;
  }

  /** Bytes in use at a moment. */
  inUseAt(at: number, space = this.space): number {
    return at === 0 ? 0 : this.inUse(space)[at - 1];
  }

  /** The moment of several spaces' own ones: of one, or the last of all. */
  private of(each: number[], space: number): number {
    if (space !== ALL) return each[space] ?? 0;
    return each.reduce((most, at, number) => (this.model.tables.spaces[number].device === null ? most : Math.max(most, at)), 0);
  }

  /** The moments that have names. */
  names(): Named[] {
    const { model } = this;
    const { spaces, marks, refusals } = model.tables;
    const list: Named[] = [
      { name: "peak", text: "Peak", of: (space) => (space === ALL ? this.peakOfAll() : spaces[space].peak_at) },
      { name: "end", text: "End", of: (space) => this.end(space) },
      { name: "last", text: "Last change", of: () => model.steps },
    ];
    const numbers = new Map<string, number>();
    for (const { name } of marks) numbers.set(name, (numbers.get(name) ?? 0) + 1);
    const before = new Map<string, number>();
    marks.forEach((mark, number) => {
      // As the command names them: the number among those of the same name, where there are several.
      const same = (before.get(mark.name) ?? 0) + 1;
      before.set(mark.name, same);
      const text = numbers.get(mark.name)! > 1 ? `Mark: ${mark.name}#${same}` : `Mark: ${mark.name}`;
      list.push({ name: `mark-${number}`, text, of: (space) => this.of(mark.at, space) });
    });
    refusals.forEach((refusal, number) =>
      list.push({
        name: `refusal-${number}`,
        text: `Out of memory ${number + 1} in ${spaces[refusal.space].name}`,
        of: (space) => this.of(refusal.at, space),
      }),
    );
    return list;
  }

  byName(name: string): Named | undefined {
    return this.names().find((named) => named.name === name);
  }

  /** Before the client's clean-up: of several spaces, before the first. */
  private end(space: number): number {
    const { spaces } = this.model.tables;
    if (space !== ALL) return spaces[space].end_at;
    const cleaned = spaces.filter((of) => of.device !== null && of.cleaned_at !== null);
    return cleaned.reduce((least, of) => Math.min(least, of.cleaned_at!), this.model.steps);
  }

  private peakOfAll(): number {
    const inUse = this.inUse(ALL);
    let [most, at] = [0, 0];
    for (let step = 0; step < inUse.length; step++) {
      if (inUse[step] > most) [most, at] = [inUse[step], step + 1];
    }
    return at;
  }

  /** The allocations that live at a moment. */
  live(at = this.at, space = this.space): Uint32Array {
    const key = `${at} ${space}`;
    if (this.lived?.key === key) return this.lived.list;
    const { model } = this;
    const mask = this.chosen(space);
    const [spaces, begin, end] = [model.column("space"), model.begin, model.end];
    let count = 0;
    const list = new Uint32Array(model.allocations);
    for (let allocation = 0; allocation < model.allocations && begin[allocation] < at; allocation++) {
      if (end[allocation] >= at && mask[spaces[allocation]]) list[count++] = allocation;
    }
    this.lived = { key, list: list.slice(0, count) };
    return this.lived.list;
  }

  /** The allocations that were made between two moments, whether they live or not. */
  made(from: number, to: number, space = this.space): Uint32Array {
    const { model } = this;
    const [spaces, mask] = [model.column("space"), this.chosen(space)];
    const list: number[] | Uint32Array = new Uint32Array(model.allocations);
    let count = 0;
    for (let allocation = 0; allocation < model.allocations && model.begin[allocation] < to; allocation++) {
      if (model.begin[allocation] >= from && mask[spaces[allocation]]) list[count++] = allocation;
    }
    return list.slice(0, count);
  }

  /** The next step of what is chosen behind a moment, or the one before it. */
  neighbour(forward: boolean, many: number): number {
    const { model } = this;
    const [spaces, mask] = [model.column("space"), this.chosen()];
    let at = this.at;
    for (let left = many; left > 0; ) {
      const next = forward ? at + 1 : at - 1;
      if (next < 0 || next > model.steps) break;
      // A moment counts where its last step is one of what is chosen.
      at = next;
      const allocation = at === 0 ? NONE : model.of[at - 1];
      if (at === 0 || (allocation !== NONE && mask[spaces[allocation]])) left--;
    }
    return at;
  }
}
