// Compiled programs with their static plans, and what was called.
import { add, canvas, choice, color, fill, h, tip } from "./dom";
import { Calls, Program, Slot } from "./data";
import { Drawer } from "./drawer";
import { fit } from "./flame";
import { Grid } from "./grid";
import { bytes, counted, exact, grouped, seconds, span } from "./format";
import { State } from "./state";
import { keys, rows } from "./sums";
import { View, sums } from "./views";
import { linked } from "./source";

/** The position of a program at which its temporaries take most, and how much. */
export function peakOf(program: Program): { position: number; bytes: number } {
  const steps = new Map<number, number>();
  for (const [, size, , first, last] of program.slots) {
    steps.set(first, (steps.get(first) ?? 0) + size);
    steps.set(last + 1, (steps.get(last + 1) ?? 0) - size);
  }
  let [sum, best] = [0, { position: 0, bytes: 0 }];
  for (const position of [...steps.keys()].sort((a, b) => a - b)) {
    sum += steps.get(position)!;
    if (sum > best.bytes) best = { position, bytes: sum };
  }
  return best;
}

function plan(program: Program, width: number): HTMLElement {
  const height = 300;
  const left = 70;
  const [element, context] = canvas(width, height, `Static plan of ${program.name}: ${counted(program.slots.length, "temporary slot")}`);
  const end = program.slots.reduce((most, slot) => Math.max(most, slot[0] + slot[1]), 1);
  const positions = Math.max(program.positions, program.slots.reduce((most, slot) => Math.max(most, slot[4] + 1), 1));
  const x = (position: number): number => left + (position / positions) * (width - left - 4);
  const y = (offset: number): number => height - 22 - (offset / end) * (height - 30);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = color("--soft");
  for (let part = 0; part <= 4; part++) context.fillText(bytes((end * part) / 4), 2, y((end * part) / 4) + 4);
  context.fillText("first operation", left, height - 6);
  const words = `operation ${grouped(positions)}`;
  context.fillText(words, width - context.measureText(words).width - 4, height - 6);
  const box = (slot: Slot): [number, number, number, number] => [x(slot[3]), y(slot[0] + slot[1]), Math.max(1, x(slot[4] + 1) - x(slot[3])), Math.max(1, y(slot[0]) - y(slot[0] + slot[1]))];
  const operations = [...new Set(program.slots.map((slot) => slot[6]))].sort();
  const ink = color("--flame-ink");
  const edge = color("--paper");
  for (const slot of program.slots) {
    const [bx, by, bw, bh] = box(slot);
    context.fillStyle = color(`--hue-${operations.indexOf(slot[6]) % 8}`);
    context.fillRect(bx, by, bw, bh);
    if (bw > 3 && bh > 3) {
      context.strokeStyle = edge;
      context.lineWidth = 0.7;
      context.strokeRect(bx, by, bw, bh);
    }
    if (bw > 40 && bh > 12) {
      context.fillStyle = ink;
      context.fillText(fit(context, slot[6].replace("stablehlo.", ""), bw - 6), bx + 3, by + Math.min(bh / 2 + 4, bh - 2));
    }
  }
  const peak = peakOf(program);
  context.strokeStyle = color("--ink");
  context.setLineDash([4, 3]);
  context.beginPath();
  context.moveTo(x(peak.position + 0.5), 4);
  context.lineTo(x(peak.position + 0.5), height - 22);
  context.stroke();
  element.addEventListener("mousemove", (event) => {
    const at = element.getBoundingClientRect();
    const [px, py] = [event.clientX - at.left, event.clientY - at.top];
    const slot = program.slots.find((slot) => {
      const [bx, by, bw, bh] = box(slot);
      return px >= bx && px <= bx + bw && py >= by && py <= by + bh;
    });
    if (!slot) tip.hide();
    else tip.show(event, `${slot[6]}  ${slot[5]}`, `${bytes(slot[1])} at ${grouped(slot[0])}, operations ${slot[3]} to ${slot[4]}`, slot[7]);
  });
  element.addEventListener("mouseleave", () => tip.hide());
  return element;
}

function planned(program: Program, width: number, isPlaced = true): HTMLElement {
  const peak = peakOf(program);
  const living = program.slots.filter((slot) => slot[3] <= peak.position && slot[4] >= peak.position).sort((a, b) => b[1] - a[1]);
  const body = living.slice(0, 100).map(([, size, logical, first, last, array, operation, line]) =>
    h(
      "tr",
      {},
      h("td", { class: "number", title: exact(size) }, bytes(size)),
      h("td", { class: "number" }, size > logical ? bytes(size - logical) : "–"),
      h("td", {}, operation),
      h("td", {}, array),
      h("td", { class: "number" }, `${first}–${last}`),
      h("td", { class: "key" }, ...linked(line)),
    ),
  );
  const head = ["Bytes", "Padding", "Operation", "Array", "Lives", "Line"].map((text, at) => h("th", { class: at < 2 || at === 4 ? "number" : undefined }, text));
  return h(
    "div",
    {},
    isPlaced && plan(program, width),
    h("h3", {}, `Temporaries at their peak, operation ${grouped(peak.position)}: ${bytes(peak.bytes)} in ${counted(living.length, "slot")}`),
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body))),
  );
}

/** Every launch of a program, or of all. */
function launches(state: State, drawer: Drawer): { element: HTMLElement; show: (program: number) => void } {
  const { model } = state;
  const { programs } = model.tables;
  const [times, waited, ran, program, device, run, status, stack] = ["time", "waited", "ran", "program", "device", "run", "status", "stack"].map((name) => model.column(`launch_${name}`));
  const element = h("div", {});
  let [which, of] = ["one", 0];
  const grid = new Grid(
    [
      { title: "Launched", width: "minmax(6rem, 1fr)", isNumber: true, sort: (row) => times[row], cell: (row) => [seconds(times[row])] },
      { title: "Program", width: "minmax(8rem, 3fr)", sort: (row) => program[row], cell: (row) => [programs[program[row]].name] },
      { title: "Device", width: "minmax(4rem, 0.7fr)", isNumber: true, sort: (row) => device[row], cell: (row) => [grouped(device[row])] },
      { title: "Run", width: "minmax(4rem, 0.7fr)", isNumber: true, sort: (row) => run[row], cell: (row) => [grouped(run[row])] },
      { title: "Waited", width: "minmax(5rem, 0.8fr)", isNumber: true, sort: (row) => waited[row], cell: (row) => [span(waited[row])] },
      { title: "Ran", width: "minmax(5rem, 0.8fr)", isNumber: true, sort: (row) => ran[row], cell: (row) => [span(ran[row])] },
      { title: "Ended", width: "minmax(5rem, 1fr)", sort: (row) => status[row], cell: (row) => [status[row] ? `✕ error ${status[row]}` : "well"] },
    ],
    0,
    false,
    (row) => {
      const end = status[row] ? `ended with error ${status[row]}` : "ended well";
      const note = `Launched at ${seconds(times[row])} on device ${device[row]}, waited ${span(waited[row])}, ran ${span(ran[row])}, ${end}.`;
      drawer.one(`Run ${grouped(run[row])} of ${programs[program[row]].name}`, note, stack[row]);
    },
  );
  const show = (chosen: number): void => {
    of = chosen;
    const list = Uint32Array.from(times.keys()).filter((row) => which === "all" || program[row] === of);
    const sum = list.reduce((sum, row) => sum + ran[row], 0);
    fill(
      element,
      h("p", { class: "bar" }, h("h3", {}, "Launches"), choice("Of", [["one", programs[of].name], ["all", "all programs"]], which, (value) => ((which = value), show(of))), h("span", { class: "soft", id: "launch-count", "data-count": list.length }, `${counted(list.length, "launch", "launches")}, ran for ${span(sum)}`)),
      ...(list.length ? [grid.element] : [h("p", { class: "empty" }, "It was not launched, or no launch of it has ended.")]),
    );
    if (list.length) grid.show(list);
  };
  return { element, show };
}

export function executables(state: State, drawer: Drawer): View {
  const { model } = state;
  const { programs, format } = model.tables;
  const element = h("section", {});
  const runs = launches(state, drawer);
  let values = "own";
  let chosen = programs.reduce((best, program, at) => (program.temporaries > (programs[best]?.temporaries ?? -1) ? at : best), 0);
  const show = (): void => {
    fill(element);
    if (programs.length > 0) {
      const of = programs[chosen];
      const detail = h("div", { class: "plan" });
      const body = programs
        .map((program, at) => ({ program, at }))
        .sort((a, b) => b.program.temporaries - a.program.temporaries)
        .map(({ program, at }) =>
          h(
            "tr",
            { class: at === chosen ? "chosen" : undefined },
            h("td", {}, h("button", { class: "plain", onclick: () => ((chosen = at), show()) }, program.name)),
            ...[program.temporaries, program.constants, program.arguments, program.results].map((size) => h("td", { class: "number", title: exact(size) }, bytes(size))),
            h("td", { class: "number" }, grouped(program.slots.length)),
            h("td", { class: "number" }, grouped(program.runs)),
            h("td", { class: "number" }, program.runs ? span(program.ran) : "–"),
          ),
        );
      const head = ["Program", "Temporaries", "Constants", "Arguments", "Results", "Slots", "Runs", "Ran for"].map((text, at) => h("th", { class: at ? "number" : undefined }, text));
      add(
        element,
        h("h2", {}, counted(programs.length, "program"), " with static plans"),
        h("div", { class: "scroll short" }, h("table", { id: "programs" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body))),
        h("h3", {}, `${of.name}: temporaries over its operations`),
        h("p", { class: "soft", id: "planner" }, of.planner ? `Its sizes are those that ${of.planner} has planned; values run by tpu-emu's plan.` : "Planned by tpu-emu."),
        of.others.length > 0 && h("p", { class: "bar" }, choice("Temporaries of", [["own", "tpu-emu's plan"], ["other", of.planner]], values, (value) => ((values = value), show()))),
        detail,
        runs.element,
      );
      const width = Math.max(300, element.clientWidth);
      if (values === "other" && of.others.length) fill(detail, planned({ ...of, slots: of.others, positions: of.other_positions }, width, false));
      else if (of.slots.length) fill(detail, planned(of, width));
      else fill(detail, h("p", { class: "empty" }, "This program has no temporaries."));
      runs.show(chosen);
    } else {
      const why = format[1] < 5 ? `This trace has no static plans: they are written since format 1.5, and it is of ${format.join(".")}.` : "No program was launched, so there is no static plan.";
      add(element, h("p", { class: "missing" }, why));
    }
    const list = state.live();
    const found = rows(model, list, "executable");
    const open = (row: { key: number; words: string }): void => {
      const { of } = keys(model, "executable");
      drawer.blocks([row.words], list.filter((allocation) => of(allocation) === row.key));
    };
    add(element, h("h2", {}, "What programs held at the chosen moment"), found.length ? sums(found, found[0].bytes, open) : h("p", { class: "empty" }, "Nothing lived here then."));
  };
  return { name: "programs", title: "Programs", element, show };
}

const STAGES = ["instantiate", "prepare", "initialize", "execute"];

/** Calls of a function by a thread all of which are timed; of those behind them, one in eight is. */
const TIMED = 1024;

/** The calls of a function, from all stacks. */
interface Called {
  name: number;
  count: number;
  nanos: number;
  bytes: number;
  errors: number;
  first: number;
  unseen: number;
  stacks: Set<number>;
  largest: Calls;
}

export function callsView(state: State, drawer: Drawer): View {
  const { model } = state;
  const { calls, entries, dispatches, dispatched, faults, format } = model.tables;
  const element = h("section", {});
  let drawn = false;
  const cell = (text: string, isNumber = true): HTMLElement => h("td", { class: isNumber ? "number" : undefined }, text);
  const table = (id: string, head: string[], texts: number, body: HTMLElement[]): HTMLElement =>
    h("div", { class: "scroll" }, h("table", { id }, h("thead", {}, h("tr", {}, ...head.map((text, at) => h("th", { class: at < head.length - texts && at > 0 ? "number" : undefined }, text)))), h("tbody", {}, ...body)));
  const show = (): void => {
    if (drawn) return;
    drawn = true;
    if (calls.length) {
      // Of what is called often, not every call has its stack taken, nor its time.
      const by = new Map<number, Called>();
      for (const row of calls) {
        let of = by.get(row.function);
        if (!of) by.set(row.function, (of = { name: row.function, count: 0, nanos: 0, bytes: 0, errors: 0, first: Infinity, unseen: 0, stacks: new Set(), largest: row }));
        of.count += row.count;
        of.nanos += row.nanos;
        of.bytes += row.bytes;
        of.errors += row.errors;
        of.first = Math.min(of.first, row.first);
        if (row.stack === 0) of.unseen += row.count;
        else of.stacks.add(row.stack);
        if (row.stack !== 0 && (of.largest.stack === 0 || row.nanos > of.largest.nanos)) of.largest = row;
      }
      const body = [...by.values()]
        .sort((a, b) => b.nanos - a.nanos)
        .map((of) => {
          const about = of.count > TIMED ? "≈ " : "";
          const unseen = of.unseen ? ` and, of ${counted(of.unseen, "call")}, from stacks that were not taken` : "";
          const words = `${counted(of.count, "call")} from ${counted(of.stacks.size, "stack")}${unseen}; of the one that took longest:`;
          return h(
            "tr",
            { "data-count": of.count },
            h("td", {}, h("button", { class: "plain", onclick: () => drawer.one(entries[of.name], words, of.largest.stack) }, entries[of.name])),
            cell(grouped(of.count)),
            cell(about + span(of.nanos)),
            cell(about + span(of.nanos / Math.max(1, of.count))),
            cell(bytes(of.bytes)),
            cell(of.errors ? `✕ ${grouped(of.errors)}` : "–"),
            cell(grouped(of.stacks.size) + (of.unseen ? "+" : "")),
            cell(seconds(of.first)),
          );
        });
      add(element, h("h2", {}, "Calls of the interface"), table("calls", ["Function", "Calls", "Time", "Each", "Bytes", "Errors", "Stacks", "First"], 0, body));
    } else {
      const why = format[1] < 5 ? `This trace has no counts of calls: they are written since format 1.5, and it is of ${format.join(".")}.` : "This trace has no counts of calls: they were switched off (TPU_EMU_CALLS=off), or nothing was called.";
      const everything = state.made(0, model.steps);
      const found = rows(model, everything, "entry");
      const open = (row: { key: number; words: string }): void => {
        const { of } = keys(model, "entry");
        drawer.blocks([row.words], everything.filter((allocation) => of(allocation) === row.key));
      };
      add(element, h("p", { class: "missing" }, why), h("h2", {}, "Functions that took memory, over the whole trace"), found.length ? sums(found, found[0].bytes, open) : h("p", { class: "empty" }, "None."));
    }
    if (dispatched) {
      const body = dispatches.map((row) =>
        h(
          "tr",
          {},
          h("td", {}, h("button", { class: "plain", onclick: () => drawer.one(row.target, row.line, row.stack) }, row.target)),
          cell(grouped(row.count)),
          cell(span(row.nanos)),
          cell(bytes(row.scratch)),
          cell(row.errors ? `✕ ${grouped(row.errors)}` : "–"),
          cell(STAGES[row.stage] ?? String(row.stage), false),
          cell(row.program, false),
          h("td", { title: row.error }, ...linked(row.line), row.error ? `: ${row.error}` : ""),
        ),
      );
      add(element, h("h2", {}, "Custom calls"), table("dispatches", ["Target", "Stages", "Time", "Scratch", "Errors", "Stage", "Program", "Line"], 3, body));
    }
    if (faults.length) {
      const body = faults.slice(0, 500).map((fault) =>
        h("tr", {}, h("td", {}, h("button", { class: "plain", onclick: () => drawer.one(fault.entry || "A refused call", fault.message, fault.stack) }, fault.entry || "outside of the API")), cell(seconds(fault.time)), cell(fault.message, false)),
      );
      add(element, h("h2", {}, "Calls that were refused because of what they were given"), table("faults", ["Function", "Time", "What was wrong"], 1, body));
    }
  };
  return { name: "calls", title: "Calls", element, show };
}
