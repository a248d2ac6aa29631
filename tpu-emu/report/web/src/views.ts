// The views behind the tabs. Each fills its panel for what is chosen.
import { add, choice, fill, h } from "./dom";
import { Model, RefusedProgram } from "./data";
import { Drawer } from "./drawer";
import { Face, Flame } from "./flame";
import { bytes, counted, exact, grouped, hex, percent, seconds, span } from "./format";
import { Grid } from "./grid";
import { AddressMap } from "./map";
import { linked } from "./source";
import { State } from "./state";
import { BY, Row, keys, layout, rows, total } from "./sums";

export interface View {
  name: string;
  title: string;
  /** Whether what it shows follows the chosen moment. */
  element: HTMLElement;
  show: () => void;
}

/** Names of Python that keep blocks, by the key under which the blocks are summed up. */
export function keeping(model: Model, list: Uint32Array, by: string): (row: Row) => string[] {
  const found = new Map<number, string[]>();
  if (model.names.size > 0) {
    const { of } = keys(model, by);
    for (const allocation of list) {
      const names = model.names.get(allocation);
      if (names) found.set(of(allocation), [...(found.get(of(allocation)) ?? []), ...names]);
    }
  }
  return (row) => found.get(row.key) ?? [];
}

/** A table of sums with bars; a row opens its places. */
export function sums(found: Row[], most: number, chosen: (row: Row) => void, limit = 200, names: (row: Row) => string[] = () => []): HTMLElement {
  const all = found.reduce((sum, row) => sum + row.bytes, 0);
  const body = found.slice(0, limit).map((row) => {
    const open = (): void => chosen(row);
    const onkeydown = (event: KeyboardEvent): void => {
      if (event.key === "Enter" && event.target === event.currentTarget) open();
    };
    const padding = Math.max(0, row.bytes - row.logical);
    return h(
      "tr",
      { class: "opens", tabindex: 0, onclick: open, onkeydown, "data-bytes": row.bytes, "data-blocks": row.blocks, "data-key": row.words },
      h("td", { class: "share" }, h("i", { style: `width: ${(row.bytes / Math.max(1, most)) * 100}%` })),
      h("td", { class: "number", title: exact(row.bytes) }, bytes(row.bytes)),
      h("td", { class: "number" }, percent(row.bytes, all)),
      h("td", { class: "number" }, grouped(row.blocks)),
      h("td", { class: "number", title: exact(padding) }, padding ? bytes(padding) : "–"),
      h("td", { class: "key", title: row.words }, ...linked(row.words), ...kept(names(row))),
    );
  });
  const head = ["", "Bytes", "Share", "Blocks", "Padding", "Origin"].map((text, at) => h("th", { class: at > 0 && at < 5 ? "number" : undefined }, text));
  return h(
    "div",
    { class: "scroll" },
    h("table", { class: "sums" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)),
    found.length > limit && h("p", { class: "soft" }, `${counted(found.length - limit, "other row")} with less: search for them.`),
  );
}

function searched(found: Row[], search: string): Row[] {
  const asked = search.toLowerCase();
  return asked === "" ? found : found.filter((row) => row.words.toLowerCase().includes(asked));
}

function searchBox(label: string, changed: (text: string) => void): HTMLInputElement {
  const box = h("input", { type: "search", placeholder: label, "aria-label": label, oninput: () => changed(box.value) });
  return box;
}

/** A line for what keeps a row's blocks. */
function kept(names: string[]): (Node | string)[] {
  if (names.length === 0) return [];
  const others = names.length > 1 ? ` and ${counted(names.length - 1, "other name")}` : "";
  return [h("p", { class: "soft kept", title: names.slice(0, 30).join("\n") }, `kept by ${names[0]}${others}`)];
}

/** Each name with what it keeps, the largest first. */
function keepers(model: Model, list: Uint32Array): HTMLElement | null {
  if (model.names.size === 0) return null;
  const [sizes, line] = [model.column("size"), keys(model, "line")];
  const found = Array.from(list)
    .flatMap((allocation) => (model.names.get(allocation) ?? []).map((name) => ({ allocation, name })))
    .sort((a, b) => sizes[b.allocation] - sizes[a.allocation]);
  if (found.length === 0) return h("p", { class: "soft" }, "No name of Python keeps them.");
  const body = found.slice(0, 500).map(({ allocation, name }) =>
    h("tr", { "data-name": name }, h("td", { class: "number", title: exact(sizes[allocation]) }, bytes(sizes[allocation])), h("td", {}, name), h("td", { class: "key" }, ...linked(line.words[line.of(allocation)]))),
  );
  const head = ["Bytes", "Kept by", "Taken by"].map((text, at) => h("th", { class: at ? undefined : "number" }, text));
  return h(
    "div",
    { class: "scroll" },
    h("h3", {}, "What keeps them"),
    h("table", { id: "keepers" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)),
    found.length > 500 && h("p", { class: "soft" }, `${counted(found.length - 500, "other name")} of smaller arrays.`),
  );
}

export function who(state: State, drawer: Drawer): View {
  let [by, search] = ["line", ""];
  const head = h("h2", {});
  const table = h("div", {});
  const bySelect = choice("By", BY, by, (value) => ((by = value), show()));
  const box = searchBox("Search origins", (text) => ((search = text), show()));
  const element = h("section", {}, h("p", { class: "bar" }, head, bySelect, box), table);
  const show = (): void => {
    const list = state.live();
    const sum = total(state.model, list);
    fill(
      head,
      "Who held ",
      h("b", { id: "held-bytes", title: exact(sum.bytes), "data-bytes": sum.bytes }, bytes(sum.bytes)),
      ` in ${counted(list.length, "block")}`,
    );
    const found = searched(rows(state.model, list, by), search);
    const open = (row: Row): void => {
      const { of } = keys(state.model, by);
      drawer.blocks(linked(row.words), list.filter((allocation) => of(allocation) === row.key));
    };
    const names = keeping(state.model, list, by);
    fill(table, found.length ? sums(found, found[0].bytes, open, 200, names) : h("p", { class: "empty" }, list.length ? "No origin has these words." : "Nothing lived here then."));
  };
  return { name: "who", title: "Who", element, show };
}

export function flames(state: State, drawer: Drawer): View {
  let [face, what, form, search]: [Face, string, string, string] = ["python", "live", "icicle", ""];
  const flame = new Flame(state.model, ({ frame, name, bytes: size, blocks, path }) => {
    const note = `${bytes(size)} in ${counted(blocks, "block")}`;
    drawer.calls(frame ? name : `What for: ${name}`, note, path);
  });
  const element = h(
    "section",
    {},
    h(
      "p",
      { class: "bar" },
      choice("Frames", [["python", "Python"], ["mixed", "Python and native"], ["native", "All, the interpreter's too"]], face, (value) => ((face = value as Face), show())),
      choice("Blocks", [["live", "that live"], ["allocated", "allocated until then"]], what, (value) => ((what = value), show())),
      choice("Form", [["icicle", "icicle, callers above"], ["flame", "flames, callers below"]], form, (value) => ((form = value), show())),
      searchBox("Search calls", (text) => ((search = text), show())),
    ),
    flame.element,
  );
  const show = (): void => flame.show(what === "live" ? state.live() : state.made(0, state.at), face, form === "flame", search);
  return { name: "flame", title: "Flame graph", element, show };
}

export function map(state: State, drawer: Drawer): View {
  const addresses = new AddressMap(state, (allocation) => drawer.block(allocation));
  const element = h("section", {}, addresses.element);
  return { name: "map", title: "Address map", element, show: () => addresses.show() };
}

export function allocations(state: State, drawer: Drawer): View {
  const { model } = state;
  let [what, search] = ["live", ""];
  const line = keys(model, "line");
  const label = keys(model, "label");
  const [sizes, addresses, sites, specs, spaces] = ["size", "address", "site", "site_spec", "space"].map((name) => model.column(name));
  const time = model.column("time");
  /** Of each number its place among sorted words. */
  const ranks = (words: string[]): Float64Array => {
    const made = new Float64Array(words.length);
    Array.from(words.keys())
      .sort((a, b) => (words[a] < words[b] ? -1 : words[a] > words[b] ? 1 : 0))
      .forEach((at, rank) => (made[at] = rank));
    return made;
  };
  const [lineRanks, labelRanks, specRanks] = [ranks(line.words), ranks(label.words), ranks(model.tables.specs.map((spec) => spec.text))];
  const age = (allocation: number): number => {
    const end = model.end[allocation];
    return end === 0xffffffff ? Number.MAX_SAFE_INTEGER : time[end] - time[model.begin[allocation]];
  };
  const grid = new Grid(
    [
      { title: "Bytes", width: "minmax(5.5rem, 0.7fr)", isNumber: true, sort: (row) => sizes[row], cell: (row) => [bytes(sizes[row])] },
      { title: "Origin", width: "minmax(9rem, 3fr)", sort: (row) => lineRanks[line.of(row)], cell: (row) => linked(line.words[line.of(row)]) },
      { title: "What for", width: "minmax(8rem, 3fr)", sort: (row) => labelRanks[label.of(row)], cell: (row) => [label.words[label.of(row)]] },
      { title: "Array", width: "minmax(7rem, 2fr)", sort: (row) => specRanks[specs[sites[row]]], cell: (row) => [model.tables.specs[specs[sites[row]]].text] },
      { title: "Address", width: "minmax(6rem, 0.9fr)", isNumber: true, sort: (row) => addresses[row], cell: (row) => [hex(addresses[row])] },
      { title: "Taken", width: "minmax(6rem, 0.9fr)", isNumber: true, sort: (row) => model.begin[row], cell: (row) => [seconds(time[model.begin[row]])] },
      { title: "Lived", width: "minmax(5rem, 0.8fr)", isNumber: true, sort: age, cell: (row) => [model.end[row] === 0xffffffff ? "to the end" : span(age(row))] },
      { title: "Memory", width: "minmax(4.5rem, 0.7fr)", sort: (row) => spaces[row], cell: (row) => [model.tables.spaces[spaces[row]].name] },
      ...(model.names.size > 0 ? [{ title: "Kept by", width: "minmax(8rem, 2fr)", cell: (row: number): string[] => [(model.names.get(row) ?? []).join(", ")] }] : []),
    ],
    0,
    true,
    (row) => drawer.block(row),
  );
  const count = h("span", { class: "soft", id: "allocation-count" });
  const element = h(
    "section",
    {},
    h(
      "p",
      { class: "bar" },
      choice("Blocks", [["live", "that live"], ["allocated", "allocated until then"], ["all", "all of the trace"]], what, (value) => ((what = value), show())),
      searchBox("Search allocations", (text) => ((search = text), show())),
      count,
    ),
    grid.element,
  );
  const show = (): void => {
    let list = what === "live" ? state.live() : state.made(0, what === "all" ? model.steps : state.at);
    const asked = search.toLowerCase();
    if (asked !== "") {
      // Each place of the code is looked at once, not each block.
      const [lines, labels] = ["site_line", "site_label"].map((name) => model.column(name));
      const has = (words: string): boolean => words.toLowerCase().includes(asked);
      const [inLine, inLabel] = [line.words.map(has), label.words.map(has)];
      const inSpec = model.tables.specs.map((spec) => has(spec.text));
      const found = Uint8Array.from(specs, (spec, site) => Number(inLine[lines[site]] || inLabel[labels[site]] || inSpec[spec]));
      list = list.filter((allocation) => found[sites[allocation]] === 1);
    }
    const sum = list.reduce((sum, allocation) => sum + sizes[allocation], 0);
    fill(count, `${counted(list.length, "block")}, ${bytes(sum)}`);
    grid.show(list);
  };
  return { name: "allocations", title: "Allocations", element, show };
}

export function leaks(state: State, drawer: Drawer): View {
  const { model } = state;
  const names: [string, string][] = [["start", "Start of the trace"], ...state.names().map(({ name, text }): [string, string] => [name, text]), ["now", "Chosen moment"]];
  let [from, to] = [state.model.tables.marks.length ? "mark-0" : "start", "end"];
  let by = "line";
  const at = (name: string): number => (name === "start" ? 0 : name === "now" ? state.at : state.byName(name)!.of(state.space));
  const table = h("div", {});
  const element = h(
    "section",
    {},
    h(
      "p",
      { class: "bar" },
      choice("Taken after", names, from, (value) => ((from = value), show())),
      choice("and held at", names, to, (value) => ((to = value), show())),
      choice("By", BY, by, (value) => ((by = value), show())),
    ),
    table,
  );
  const show = (): void => {
    const [first, last] = [at(from), at(to)];
    if (last <= first) {
      fill(table, h("p", { class: "empty" }, "The second moment is not behind the first one."));
      return;
    }
    const list = state.live(last).filter((allocation) => model.begin[allocation] >= first);
    const found = rows(model, list, by);
    const sum = total(model, list);
    const open = (row: Row): void => {
      const { of } = keys(model, by);
      drawer.blocks(linked(row.words), list.filter((allocation) => of(allocation) === row.key));
    };
    fill(
      table,
      h(
        "h2",
        {},
        h("b", { id: "leaked-bytes", "data-bytes": sum.bytes, title: exact(sum.bytes) }, bytes(sum.bytes)),
        ` in ${counted(list.length, "block")} taken after ${seconds(first === 0 ? 0 : model.timeAt(first))} and held at ${seconds(model.timeAt(last))}`,
      ),
      found.length ? sums(found, found[0].bytes, open, 200, keeping(model, list, by)) : h("p", { class: "empty" }, "Nothing was taken in between and is still held."),
      found.length ? keepers(model, list) : null,
      found.length ? growth(model, list, by, found, first, last) : null,
    );
  };
  return { name: "leaks", title: "Leaks", element, show };
}

/** When the blocks of the largest rows were taken: what is taken again and again grows. */
function growth(model: Model, list: Uint32Array, by: string, found: Row[], first: number, last: number): HTMLElement {
  const top = found.slice(0, 10);
  const { of } = keys(model, by);
  const [from, to] = [model.timeAt(Math.max(1, first)), model.timeAt(last)];
  const parts = 40;
  const bins = new Map(top.map((row) => [row.key, new Uint32Array(parts)]));
  const time = model.column("time");
  for (const allocation of list) {
    const bin = bins.get(of(allocation));
    if (bin) bin[Math.min(parts - 1, Math.floor(((time[model.begin[allocation]] - from) / Math.max(1, to - from)) * parts))]++;
  }
  const body = top.map((row) => {
    const bin = bins.get(row.key)!;
    const most = Math.max(...bin);
    const filled = bin.filter((many) => many > 0).length;
    const bars = Array.from(bin, (many) => h("i", { style: `height: ${many ? Math.max(2, (many / most) * 18) : 0}px` }));
    const steady = filled >= parts * 0.6 ? "all the time" : filled <= 2 ? "at one time" : `in ${filled} of ${parts} parts of the time`;
    return h("tr", {}, h("td", {}, h("div", { class: "bins" }, ...bars)), h("td", { class: "soft" }, steady), h("td", { class: "key" }, ...linked(row.words)));
  });
  return h("div", { class: "scroll" }, h("h3", {}, "When they were taken"), h("table", {}, h("tbody", {}, ...body)));
}

export function padding(state: State, drawer: Drawer): View {
  const { model } = state;
  const element = h("section", {});
  const show = (): void => {
    const list = state.live();
    const sum = total(model, list);
    const lost = (row: Row): number => row.bytes - row.logical;
    const [arrays, lines] = ["array", "line"].map((by) =>
      rows(model, list, by)
        .filter((row) => lost(row) > 0)
        .sort((a, b) => lost(b) - lost(a)),
    );
    const table = (found: Row[], by: string, title: string): HTMLElement => {
      const advised = by === "array" && model.tables.specs.some((spec) => spec.advice !== "");
      const most = found.length ? lost(found[0]) : 1;
      const body = found.slice(0, 200).map((row) => {
        const open = (): void => {
          const { of } = keys(model, by);
          drawer.blocks(linked(row.words), list.filter((allocation) => of(allocation) === row.key));
        };
        const onkeydown = (event: KeyboardEvent): void => {
          if (event.key === "Enter" && event.target === event.currentTarget) open();
        };
        return h(
          "tr",
          { class: "opens", tabindex: 0, onclick: open, onkeydown, "data-lost": lost(row) },
          h("td", { class: "share" }, h("i", { style: `width: ${(lost(row) / most) * 100}%` })),
          h("td", { class: "number", title: exact(lost(row)) }, bytes(lost(row))),
          h("td", { class: "number" }, percent(lost(row), row.bytes)),
          h("td", { class: "number" }, bytes(row.bytes)),
          h("td", { class: "number" }, grouped(row.blocks)),
          h("td", { class: "key", title: row.words }, ...linked(row.words)),
          advised && h("td", {}, model.tables.specs[row.key].advice),
        );
      });
      const head = ["", "Lost", "Of it", "In memory", "Blocks", title, ...(advised ? ["What would avoid it"] : [])];
      return h(
        "div",
        { class: "scroll" },
        h("table", { class: "sums" }, h("thead", {}, h("tr", {}, ...head.map((text, at) => h("th", { class: at > 0 && at < 5 ? "number" : undefined }, text)))), h("tbody", {}, ...body)),
      );
    };
    fill(
      element,
      h(
        "h2",
        {},
        h("b", { id: "padding-bytes", "data-bytes": sum.bytes - sum.logical, title: exact(sum.bytes - sum.logical) }, bytes(sum.bytes - sum.logical)),
        ` of ${bytes(sum.bytes)} are padding (${percent(sum.bytes - sum.logical, sum.bytes)})`,
      ),
      h("p", { class: "soft" }, "Padding is what tiles of the device's layout and the heap's rounding add to the elements of an array."),
      ...(arrays.length
        ? [h("h3", {}, "By array type"), table(arrays, "array", "Array type"), h("h3", {}, "By line"), table(lines, "line", "Origin")]
        : [h("p", { class: "empty" }, "Nothing that lived then had any.")]),
    );
  };
  return { name: "padding", title: "Padding", element, show };
}

/** A program that needs more than a device has, and what would make it fit. */
function notCompiledProgram(of: RefusedProgram, drawer: Drawer): HTMLElement {
  const body = of.largest.map(({ size, array, operation, line }) =>
    h("tr", {}, h("td", { class: "number", title: exact(size) }, bytes(size)), h("td", {}, operation), h("td", {}, array), h("td", { class: "key" }, ...linked(line))),
  );
  const head = ["Bytes", "Operation", "Array", "Line"].map((text, at) => h("th", { class: at ? undefined : "number" }, text));
  const details = h("details", { open: true, class: "refusal" });
  add(
    details,
    h("summary", {}, h("b", {}, `✕ ${of.program} needs ${bytes(of.needed)} of ${bytes(of.available)}`), ` at ${seconds(of.time)}`),
    h("p", {}, "It was refused when it was compiled", of.line ? ", by " : "", ...linked(of.line), `. Arguments ${bytes(of.arguments)}, results ${bytes(of.results)}, temporaries ${bytes(of.temporaries)}; its static plan is among the programs.`),
    h("p", { class: "bar" }, h("button", { onclick: () => drawer.one("Who had it compiled", of.words, of.stack) }, "Show who had it compiled")),
    of.advice.length > 0 && h("h3", {}, "What would make it fit, each checked by compiling it"),
    of.advice.length > 0 && h("ul", { class: "helps" }, ...of.advice.map((words) => h("li", {}, words))),
    of.largest.length > 0 && h("h3", {}, "Its largest temporaries, where they take most"),
    of.largest.length > 0 && h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body))),
  );
  return details;
}

export function memoryErrors(state: State, drawer: Drawer): View {
  const { model } = state;
  const { refusals, refused_programs: programs, spaces } = model.tables;
  const element = h("section", {});
  let drawn = false;
  const show = (): void => {
    if (drawn) return;
    drawn = true;
    const notCompiled = programs.slice(0, 50).map((of) => notCompiledProgram(of, drawer));
    if (notCompiled.length) add(element, h("h2", {}, counted(programs.length, "program"), " not compiled for want of memory"), ...notCompiled);
    if (programs.length > 50) element.append(h("p", { class: "soft" }, `The first 50 of ${grouped(programs.length)} are shown.`));
    if (refusals.length === 0 && programs.length > 0) return;
    if (refusals.length === 0) {
      fill(element, h("p", { class: "empty" }, "No allocation of this trace found no room."));
      return;
    }
    const parts = refusals.slice(0, 50).map((refusal, number) => {
      const at = refusal.at[refusal.space];
      const list = state.live(at, refusal.space).slice();
      const space = spaces[refusal.space];
      const spec = model.tables.specs[refusal.spec];
      const inUse = state.inUseAt(at, refusal.space);
      const found = rows(model, list, "line");
      const divided = layout(state, list, space.capacity).holes;
      const holes = refusal.holes ?? {
        free: divided.reduce((sum, hole) => sum + hole.size, 0),
        largest: divided.reduce((most, hole) => Math.max(most, hole.size), 0),
        count: divided.length,
      };
      const open = (row: Row): void => {
        const { of } = keys(model, "line");
        drawer.blocks(linked(row.words), list.filter((allocation) => of(allocation) === row.key));
      };
      const label = model.tables.labels[refusal.label];
      const { advice, careful } = refusal.autopsy ?? { advice: [], careful: [] };
      const [helps, not] = [true, false].map((does) => advice.filter(([help]) => help === does).map(([, words]) => h("li", {}, words)));
      const details = h("details", { open: number === 0, class: "refusal" });
      add(
        details,
        h("summary", {}, h("b", {}, `✕ ${space.name} had no room for ${bytes(refusal.size)}`), ` at ${seconds(refusal.time)}`),
        h("p", {}, `Asked for ${exact(refusal.size)}: ${label || spec.text}, by ${model.tables.keys.entry[refusal.entry]}.`),
        h(
          "p",
          {},
          `${bytes(inUse)} of ${bytes(space.capacity)} were in use, ${bytes(holes.free)} free in ${counted(holes.count, "hole")}, the largest ${bytes(holes.largest)}.`,
          holes.free >= refusal.size && holes.largest < refusal.size ? " There was enough, but not in one piece." : null,
        ),
        h(
          "p",
          { class: "bar" },
          h(
            "button",
            {
              onclick: () => {
                state.setSpace(refusal.space);
                state.setNamed(`refusal-${number}`);
                state.setView("map");
              },
            },
            "Show the address map of this moment",
          ),
          h("button", { onclick: () => drawer.one("Who asked", `For ${exact(refusal.size)}`, refusal.stack) }, "Show who asked"),
        ),
        ...careful.map((why) => h("p", { class: "careful" }, `${why}.`)),
        helps.length > 0 && h("h3", {}, "What would make it fit, each checked by replay"),
        helps.length > 0 && h("ul", { class: "helps" }, ...helps),
        not.length > 0 && h("h3", {}, "What would not"),
        not.length > 0 && h("ul", {}, ...not),
        refusal.autopsy === null && h("p", { class: "soft" }, "It was not replayed; the first ten are, and tpu-emu autopsy replays any."),
        h("h3", {}, "Who held the memory"),
        found.length ? sums(found, found[0].bytes, open, 20) : h("p", { class: "empty" }, "Nothing: it is larger than the memory."),
      );
      return details;
    });
    add(element, h("h2", {}, counted(refusals.length, "allocation"), " without room"), ...parts);
    if (refusals.length > 50) element.append(h("p", { class: "soft" }, `The first 50 of ${grouped(refusals.length)} are shown.`));
  };
  return { name: "refusals", title: "Out of memory", element, show };
}
