// What the page has of the trace: columns of numbers, and tables.

export interface Space {
  name: string;
  device: number | null;
  kind: string;
  capacity: number;
  changes: number;
  peak: number;
  peak_at: number;
  end_at: number;
  cleaned_at: number | null;
  missing: number;
  usage: [number, number, number, number] | null;
}

export interface Mark {
  name: string;
  time: number;
  stack: number;
  at: number[];
}

export interface Refusal {
  space: number;
  size: number;
  spec: number;
  stack: number;
  label: number;
  entry: number;
  time: number;
  at: number[];
  holes: { asked: number; in_use: number; free: number; largest: number; count: number } | null;
  /** What replay says; null for those behind the first ten. */
  autopsy: { advice: [boolean, string][]; careful: string[] } | null;
}

export interface Spec {
  text: string;
  short: string;
  logical: number;
  padded: number;
  advice: string;
}

/** Offset, size, logical size, first and last position, array, operation, line. */
export type Slot = [number, number, number, number, number, string, string, string];

export interface Program {
  number: number;
  name: string;
  temporaries: number;
  constants: number;
  arguments: number;
  results: number;
  positions: number;
  /** As libtpu 0.0.51; empty for tpu-emu. */
  planner: string;
  slots: Slot[];
  /** As that planner has them, without offsets. */
  others: Slot[];
  other_positions: number;
  runs: number;
  ran: number;
  failed: number;
}

/** A program that was refused when it was compiled, because it needs more than a device has. */
export interface RefusedProgram {
  program: string;
  time: number;
  line: string;
  needed: number;
  available: number;
  arguments: number;
  results: number;
  temporaries: number;
  largest: { size: number; array: string; operation: string; line: string }[];
  advice: string[];
  words: string;
  stack: number;
}

export interface Calls {
  function: number;
  stack: number;
  first: number;
  count: number;
  nanos: number;
  bytes: number;
  errors: number;
}

export interface Dispatch {
  target: string;
  program: string;
  line: string;
  stage: number;
  count: number;
  nanos: number;
  scratch: number;
  errors: number;
  error: string;
  stack: number;
}

export interface Tables {
  file: string;
  version: string;
  maker: string;
  format: [number, number];
  process: number;
  started: number;
  topology: string;
  cut: string[];
  editors: [string, string][];
  editor: string;
  is_snapshot: boolean;
  start: number[] | null;
  spaces: Space[];
  marks: Mark[];
  refusals: Refusal[];
  specs: Spec[];
  labels: string[];
  entries: string[];
  threads: number[];
  keys: Record<string, string[]>;
  texts: string[];
  frames: number[][];
  programs: Program[];
  calls: Calls[];
  dispatches: Dispatch[];
  dispatched: number;
  faults: { message: string; stack: number; time: number; entry: string }[];
  client_end: string | null;
  refused_programs: RefusedProgram[];
  /** Of an allocation the names of Python that keep it at the end of the trace. */
  names: [number, string[]][];
  replaced: [number, number][];
}

type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

interface Column {
  name: string;
  count: number;
  width: number;
  shift: number;
  is_difference: boolean;
}

/** No step and no allocation. */
export const NONE = 0xffffffff;

/** The bytes of an element of the page, which is empty afterwards. */
async function unpacked(name: string): Promise<Uint8Array> {
  const element = document.getElementById(`data-${name}`);
  if (!element) throw new Error(`the file has no ${name}: it is cut off`);
  const text = element.textContent ?? "";
  element.remove();
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) packed[at] = letters.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function json<T>(name: string): Promise<T> {
  return JSON.parse(new TextDecoder().decode(await unpacked(name))) as T;
}

function numbers(column: Column, planes: Uint8Array): Numbers {
  const { count, width, shift, is_difference } = column;
  const bits = width * 8 + shift;
  const isFloat = bits > 32 || is_difference;
  const made = isFloat
    ? new Float64Array(count)
    : bits > 16
      ? new Uint32Array(count)
      : bits > 8
        ? new Uint16Array(count)
        : new Uint8Array(count);
  for (let plane = 0; plane < width; plane++) {
    const factor = 2 ** (8 * plane + shift);
    const from = plane * count;
    for (let at = 0; at < count; at++) made[at] += planes[from + at] * factor;
  }
  if (is_difference) for (let at = 1; at < count; at++) made[at] += made[at - 1];
  return made;
}

/** The trace, as the page works with it. A step is a change in memory; a moment is how many were made. */
export class Model {
  readonly steps: number;
  readonly allocations: number;
  /** The allocation that a step makes or gives back. */
  readonly of: Uint32Array;
  /** The steps that make and give back an allocation. */
  readonly begin: Uint32Array;
  readonly end: Uint32Array;
  /** The place of a step that gives back among all of those, by allocation. */
  readonly freed: Uint32Array;
  /** The names of Python that keep an allocation, where the trace has names. */
  readonly names: Map<number, string[]>;

  private constructor(
    readonly tables: Tables,
    private readonly columns: Map<string, Numbers>,
  ) {
    this.names = new Map(tables.names);
    const back = this.column("back");
    this.steps = back.length;
    this.allocations = this.column("size").length;
    this.of = new Uint32Array(this.steps);
    this.begin = new Uint32Array(this.allocations);
    this.end = new Uint32Array(this.allocations).fill(NONE);
    this.freed = new Uint32Array(this.allocations).fill(NONE);
    let made = 0;
    let given = 0;
    for (let step = 0; step < this.steps; step++) {
      if (back[step] === 0) {
        this.of[step] = made;
        this.begin[made++] = step;
      } else if (back[step] > made) {
        this.of[step] = NONE;
        given++;
      } else {
        const allocation = made - back[step];
        this.of[step] = allocation;
        this.end[allocation] = step;
        this.freed[allocation] = given++;
      }
    }
    for (const [allocation, step] of tables.replaced) this.end[allocation] = step;
    columns.delete("back");
  }

  /** Reads what is in the page. */
  static async read(): Promise<Model> {
    const [tables, list] = await Promise.all([json<Tables>("tables"), json<Column[]>("columns")]);
    const read = list.map(async (column) => [column.name, numbers(column, await unpacked(column.name))] as const);
    return new Model(tables, new Map(await Promise.all(read)));
  }

  column(name: string): Numbers {
    return this.columns.get(name)!;
  }

  /** Nanoseconds at a moment: of the last step before it. */
  timeAt(moment: number): number {
    const time = this.column("time");
    return this.steps === 0 ? 0 : time[Math.max(0, Math.min(moment, this.steps) - 1)];
  }

  /** How many steps were made until a time. */
  momentOf(nanos: number): number {
    const time = this.column("time");
    let [low, high] = [0, this.steps];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (time[middle] <= nanos) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The functions of a frame, innermost first. */
  functions(frame: number): Frame[] {
    const row = this.tables.frames[frame];
    const made: Frame[] = [];
    for (let at = 0; at < row.length; at += 6) {
      const text = (place: number): string => this.tables.texts[row[at + place]];
      made.push({ name: text(0), file: text(1), line: row[at + 2], module: text(3), kind: row[at + 4], link: text(5) });
    }
    return made;
  }

  /** The functions of a stack, innermost first. */
  stack(number: number): Frame[] {
    const made: Frame[] = [];
    const [callers, frames] = [this.column("stack_caller"), this.column("stack_frame")];
    for (let at = number; at !== 0; at = callers[at - 1]) made.push(...this.functions(frames[at - 1]));
    return made;
  }
}

/** One function of a frame. Its kind has bit 1 for Python, 2 and 4 where the views of Python and mixed have it, 8 for the emulator. */
export interface Frame {
  name: string;
  file: string;
  line: number;
  module: string;
  kind: number;
  /** Where its source is; empty where that is a local file. */
  link: string;
}
