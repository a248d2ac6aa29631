// Numbers for people, as the command prints them.

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Bytes in the largest unit of which there is one, with three digits: `1.50 GiB`. */
export function bytes(count: number): string {
  if (count < 0) return "-" + bytes(-count);
  let unit = -1;
  let scaled = count;
  while (scaled >= 1024 && unit < UNITS.length - 1) {
    scaled /= 1024;
    unit += 1;
  }
  if (unit < 0) return `${Math.round(count)} B`;
  const digits = Math.round(scaled * 100) < 1000 ? 2 : Math.round(scaled * 10) < 1000 ? 1 : 0;
  return `${scaled.toFixed(digits)} ${UNITS[unit]}`;
}

/** Digits in groups of three. */
export function grouped(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 block`, `20 blocks`. */
export function counted(count: number, what: string, many = `${what}s`): string {
  return `${grouped(count)} ${count === 1 ? what : many}`;
}

/** Bytes in full, for a title: `47,156,736 bytes`. */
export function exact(count: number): string {
  return counted(count, "byte");
}

/** Nanoseconds as `12.345678 s`. */
export function seconds(nanos: number): string {
  return `${Math.floor(nanos / 1e9)}.${String(Math.floor((nanos % 1e9) / 1000)).padStart(6, "0")} s`;
}

/** A length of time in a unit that fits it. */
export function span(nanos: number): string {
  if (nanos < 1e3) return `${Math.round(nanos)} ns`;
  if (nanos < 1e6) return `${(nanos / 1e3).toPrecision(3)} µs`;
  if (nanos < 1e9) return `${(nanos / 1e6).toPrecision(3)} ms`;
  return `${(nanos / 1e9).toPrecision(4)} s`;
}

/** A part of a whole as `12.3 %`, what is behind the tenths cut off. */
export function percent(part: number, whole: number): string {
  return whole > 0 ? `${(Math.floor((part * 1000) / whole) / 10).toFixed(1)} %` : "–";
}

/** An address as hexadecimal digits. */
export function hex(address: number): string {
  return "0x" + address.toString(16);
}

/** A text without what would break a line or turn the direction of writing. */
export function oneLine(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, " ");
}
