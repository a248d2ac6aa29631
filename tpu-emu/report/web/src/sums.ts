// Blocks summed up by what they have in common.
import { Model } from "./data";
import { State } from "./state";

export const BY = [
  ["line", "Line"],
  ["function", "Function"],
  ["executable", "Program"],
  ["label", "What for"],
  ["array", "Array type"],
  ["entry", "API function"],
  ["space", "Memory"],
] as const;

/** Of each allocation a number, and the words of each number. */
export interface Keys {
  words: string[];
  of: (allocation: number) => number;
}

/** The keys by which blocks are summed up; their words come with the trace. */
export function keys(model: Model, by: string): Keys {
  const words = model.tables.keys[by] ?? [];
  if (by === "space") {
    const spaces = model.column("space");
    return { words, of: (allocation) => spaces[allocation] };
  }
  const columns: Record<string, string> = { label: "site_label", array: "site_spec", entry: "site_entry" };
  const [sites, numbers] = [model.column("site"), model.column(columns[by] ?? `site_${by}`)];
  return { words, of: (allocation) => numbers[sites[allocation]] };
}

export interface Row {
  key: number;
  words: string;
  bytes: number;
  logical: number;
  blocks: number;
  /** The first of them. */
  first: number;
}

/** Sums of blocks by a key, those that take most first. */
export function rows(model: Model, list: Uint32Array, by: string): Row[] {
  const { words, of } = keys(model, by);
  const count = words.length;
  const [bytes, logical, blocks] = [new Float64Array(count), new Float64Array(count), new Uint32Array(count)];
  const first = new Uint32Array(count);
  const [sizes, sites, specs] = [model.column("size"), model.column("site"), model.column("site_spec")];
  const elements = Float64Array.from(model.tables.specs, (spec) => spec.logical);
  for (const allocation of list) {
    const key = of(allocation);
    if (blocks[key]++ === 0) first[key] = allocation;
    bytes[key] += sizes[allocation];
    logical[key] += elements[specs[sites[allocation]]];
  }
  const made: Row[] = [];
  for (let key = 0; key < count; key++) {
    if (blocks[key] === 0) continue;
    made.push({ key, words: words[key], bytes: bytes[key], logical: logical[key], blocks: blocks[key], first: first[key] });
  }
  return made.sort((a, b) => b.bytes - a.bytes || (a.words < b.words ? -1 : 1));
}

/** The places where blocks were taken, with what they take there: by stack, label and array type. */
export function places(model: Model, list: Iterable<number>): Row[] {
  const sites = model.column("site");
  const sizes = model.column("size");
  const found = new Map<number, Row>();
  for (const allocation of list) {
    const key = sites[allocation];
    let row = found.get(key);
    if (!row) found.set(key, (row = { key, words: "", bytes: 0, logical: 0, blocks: 0, first: allocation }));
    row.bytes += sizes[allocation];
    row.blocks++;
  }
  return [...found.values()].sort((a, b) => b.bytes - a.bytes);
}

export function total(model: Model, list: Uint32Array): { bytes: number; logical: number } {
  const [sizes, sites, specs] = [model.column("size"), model.column("site"), model.column("site_spec")];
  const sum = { bytes: 0, logical: 0 };
  for (const allocation of list) {
    sum.bytes += sizes[allocation];
    sum.logical += model.tables.specs[specs[sites[allocation]]].logical;
  }
  return sum;
}

/** What is free between live blocks of one space, in the order of addresses. */
export interface Hole {
  address: number;
  size: number;
  /** The allocations before and behind it; -1 for the ends of the space. */
  before: number;
  behind: number;
}

/** The live blocks of one space by address, and the holes between them up to its capacity. */
export function layout(state: State, list: Uint32Array, capacity: number): { blocks: Uint32Array; holes: Hole[] } {
  const { model } = state;
  const [addresses, sizes] = [model.column("address"), model.column("size")];
  const blocks = ordered(numbers(list, (allocation) => addresses[allocation]), list);
  const holes: Hole[] = [];
  let [end, before] = [0, -1];
  for (const allocation of blocks) {
    const address = addresses[allocation];
    if (address > end) holes.push({ address: end, size: address - end, before, behind: allocation });
    if (address + sizes[allocation] >= end) [end, before] = [address + sizes[allocation], allocation];
  }
  if (capacity > end) holes.push({ address: end, size: capacity - end, before, behind: -1 });
  return { blocks, holes };
}

/** A number of each of a list; a plain loop, since `from` takes several times as long. */
export function numbers(list: Uint32Array, of: (allocation: number) => number): Float64Array {
  const made = new Float64Array(list.length);
  for (let at = 0; at < list.length; at++) made[at] = of(list[at]);
  return made;
}

/** A list by rising keys; equal ones keep their order. Sixteen bits of the numbers at a time. */
export function ordered(keys: Float64Array, list: Uint32Array): Uint32Array {
  const count = list.length;
  if (count < 2000) {
    return Uint32Array.from(Array.from(list.keys()).sort((a, b) => keys[a] - keys[b] || a - b), (at) => list[at]);
  }
  // Floats that are not negative have the order of their bits.
  const bits = new Uint16Array(keys.buffer, keys.byteOffset, count * 4);
  let [from, to] = [new Uint32Array(count), new Uint32Array(count)];
  for (let at = 0; at < count; at++) from[at] = at;
  const starts = new Uint32Array(65537);
  for (let digit = 0; digit < 4; digit++) {
    starts.fill(0);
    for (let at = 0; at < count; at++) starts[bits[at * 4 + digit] + 1]++;
    if (starts[bits[digit] + 1] === count) continue;
    for (let value = 0; value < 65536; value++) starts[value + 1] += starts[value];
    for (let at = 0; at < count; at++) to[starts[bits[from[at] * 4 + digit]]++] = from[at];
    [from, to] = [to, from];
  }
  for (let at = 0; at < count; at++) to[at] = list[from[at]];
  return to;
}
