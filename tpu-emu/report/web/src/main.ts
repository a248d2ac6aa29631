// The page: its head, its moment, its views.
import { add, choice, fill, h, tip } from "./dom";
import { Model } from "./data";
import { Drawer } from "./drawer";
import { prepare } from "./flame";
import { bytes, counted, exact, grouped, percent, seconds } from "./format";
import { callsView, executables } from "./programs";
import { currentEditor, editors, setEditor } from "./source";
import { ALL, State } from "./state";
import { Timeline, overview } from "./timeline";
import { View, allocations, flames, leaks, map, memoryErrors, padding, who } from "./views";

const KEYS: [string, string][] = [
  ["1 … 9", "views"],
  ["p, e, l", "peak, end, last change"],
  ["m, M", "next mark, previous mark"],
  ["o", "next refusal"],
  ["← →", "previous and next change, with Shift a hundred"],
  ["d, D", "next memory, previous memory"],
  ["/", "search"],
  ["t", "light or dark"],
  ["Escape", "closes what is open"],
  ["?", "this list"],
];

/** What a browser keeps for this page; files that are opened from a disk may have nothing. */
function kept(name: string, value?: string): string | null {
  try {
    if (value !== undefined) localStorage.setItem(`tpu-emu-${name}`, value);
    return localStorage.getItem(`tpu-emu-${name}`);
  } catch {
    return null;
  }
}

class Page {
  private readonly state: State;
  private readonly drawer: Drawer;
  private readonly timeline: Timeline;
  private readonly views: View[];
  private readonly cards = h("div", { class: "cards" });
  private readonly controls = h("div", { class: "bar controls" });
  private readonly memories = h("div", {});
  private readonly tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Views" });
  private readonly panel = h("main", { role: "tabpanel", id: "panel", tabindex: -1 });

  constructor(private readonly model: Model) {
    this.state = new State(model);
    this.drawer = new Drawer(model);
    const known = editors(model).map(([name]) => name);
    const before = kept("editor");
    // What the command was told counts more than what was chosen in another report.
    setEditor(before !== null && known.includes(before) && model.tables.editor === "file" ? before : model.tables.editor);
    this.timeline = new Timeline(this.state);
    const { state, drawer } = this;
    this.views = [
      who(state, drawer),
      flames(state, drawer),
      map(state, drawer),
      allocations(state, drawer),
      executables(state, drawer),
      leaks(state, drawer),
      padding(state, drawer),
      memoryErrors(state, drawer),
      callsView(state, drawer),
    ];
  }

  start(): void {
    const app = document.getElementById("app")!;
    const { tables } = this.model;
    document.title = `${tables.file.split("/").pop()} – tpu-emu`;
    fill(app, this.head(), ...this.careful(), this.controls, this.cards, this.timeline.element, this.memories, this.tabs, this.panel, this.drawer.element);
    this.fromAddress();
    this.state.listen((what) => {
      if (what === "moment") this.moment();
      this.show();
      this.toAddress();
    });
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.fromAddress());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    let width = innerWidth;
    window.addEventListener("resize", () => {
      if (width !== innerWidth) this.show();
      width = innerWidth;
    });
    this.moment();
    this.show();
    setTimeout(() => prepare(this.model), 200);
  }

  private head(): HTMLElement {
    const { tables } = this.model;
    const theme = h("button", { id: "theme", onclick: () => this.theme(), title: "t" }, "Light / dark");
    const help = h("button", { id: "help", onclick: () => this.help(), title: "?" }, "Keys");
    const opens = choice("Open files with", editors(this.model), currentEditor(), (name) => {
      setEditor(name);
      kept("editor", name);
      this.show();
    });
    const when = new Date(tables.started / 1e6);
    const started = Number.isNaN(when.getTime()) ? "" : `, ${when.toISOString().replace("T", " ").slice(0, 19)} UTC`;
    const kind = tables.is_snapshot ? "snapshot" : "trace";
    return h(
      "header",
      {},
      h("div", {}, h("h1", {}, tables.file.split("/").pop() || "trace"), h("p", { class: "soft" }, `${kind} of process ${tables.process}${started}; ${tables.topology}; tpu-emu ${tables.version}, format ${tables.format.join(".")}; ${counted(this.model.steps, "change")}`)),
      h("div", { class: "bar" }, opens, theme, help),
    );
  }

  private careful(): HTMLElement[] {
    return this.model.tables.cut.map((why) => h("p", { class: "careful", role: "alert" }, h("b", {}, "Careful: "), `${why}.`));
  }

  /** What follows the chosen memory and moment above the views. */
  private moment(): void {
    const { state, model } = this;
    const { spaces, marks, refusals } = model.tables;
    const names: [string, string][] = state.used.map((space) => [String(space), spaces[space].name]);
    if (state.used.filter((space) => spaces[space].device !== null).length > 1) names.unshift([String(ALL), "all devices"]);
    if (names.length === 0) names.push([String(state.space), state.space === ALL ? "no memory" : state.name()]);
    const button = (name: string, text: string): HTMLElement =>
      h("button", { "aria-pressed": String(state.named === name), onclick: () => state.setNamed(name), id: `at-${name}` }, text);
    const others: [string, string][] = [["", "–"], ...state.names().slice(3).map(({ name, text }): [string, string] => [name, text])];
    const focused = document.activeElement?.id;
    fill(
      this.controls,
      choice("Memory", names, String(state.space), (value) => state.setSpace(Number(value))),
      h("span", { class: "group" }, button("peak", "Peak"), button("end", "End"), button("last", "Last change")),
      marks.length + refusals.length > 0 && choice("Go to", others, others.some(([name]) => name === state.named) ? state.named! : "", (value) => value && state.setNamed(value)),
      h(
        "span",
        { class: "group" },
        h("button", { "aria-label": "Previous change", onclick: () => state.setMoment(state.neighbour(false, 1)), id: "step-back" }, "◀"),
        h("span", { id: "moment", "data-at": state.at, "aria-live": "polite" }, `${seconds(model.timeAt(state.at))}, after change ${grouped(state.at)}`),
        h("button", { "aria-label": "Next change", onclick: () => state.setMoment(state.neighbour(true, 1)), id: "step-on" }, "▶"),
      ),
    );
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    this.card();
    if (state.used.length > 1) {
      const scrolled = this.memories.firstElementChild?.scrollTop ?? 0;
      fill(this.memories, overview(state));
      this.memories.firstElementChild!.scrollTop = scrolled;
    }
    this.timeline.update();
  }

  private card(): void {
    const { state, model } = this;
    const capacity = state.capacity();
    const usage = state.space === ALL ? null : model.tables.spaces[state.space]?.usage;
    const one = (id: string, title: string, size: number, note: string): HTMLElement =>
      h("div", { class: "card", id: `card-${id}`, "data-bytes": size }, h("h2", {}, title), h("p", { class: "size", title: exact(size) }, bytes(size)), h("p", { class: "soft" }, note));
    const at = (name: string): number => state.byName(name)!.of(state.space);
    const [peak, end] = [at("peak"), at("end")];
    const share = (size: number): string => `${percent(size, capacity)} of the capacity`;
    const most = usage ? usage[1] : state.inUseAt(peak);
    fill(
      this.cards,
      one("peak", "Peak", most, usage ? share(most) : `${share(most)}, at ${seconds(model.timeAt(peak))}`),
      one("end", usage ? "In use" : "End", state.inUseAt(end), usage ? "when the snapshot was taken" : end < model.steps ? "before the client's clean-up" : "behind the last change"),
      one("now", "Chosen moment", state.inUseAt(state.at), share(state.inUseAt(state.at))),
      one("capacity", "Capacity", capacity, state.space === ALL ? "of all devices" : state.name()),
    );
  }

  private show(): void {
    tip.hide();
    const { state } = this;
    const { refusals: allocations, refused_programs: programs } = this.model.tables;
    const refusals = allocations.length + programs.length;
    const hadFocus = this.tabs.contains(document.activeElement);
    fill(
      this.tabs,
      ...this.views.map((view, at) => {
        const isChosen = view.name === state.view;
        const sign = view.name === "refusals" && refusals ? ` (${grouped(refusals)})` : "";
        return h(
          "button",
          { role: "tab", id: `tab-${view.name}`, "aria-selected": String(isChosen), "aria-controls": "panel", tabindex: isChosen ? 0 : -1, title: String(at + 1), onclick: () => state.setView(view.name) },
          view.title + sign,
        );
      }),
    );
    const view = this.views.find((view) => view.name === state.view) ?? this.views[0];
    this.panel.setAttribute("aria-labelledby", `tab-${view.name}`);
    if (this.panel.firstElementChild !== view.element) this.panel.replaceChildren(view.element);
    view.show();
    if (hadFocus) document.getElementById(`tab-${view.name}`)?.focus({ preventScroll: true });
  }

  private redraw(): void {
    this.timeline.draw();
    this.moment();
    this.show();
  }

  private theme(): void {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    kept("theme", root.dataset.theme);
    this.redraw();
  }

  private help(): void {
    const dialog = h("dialog", { class: "help" });
    const rows = KEYS.map(([key, what]) => h("tr", {}, h("th", {}, h("kbd", {}, key)), h("td", {}, what)));
    add(dialog, h("h2", {}, "Keys"), h("table", {}, ...rows), h("button", { onclick: () => dialog.close() }, "Close"));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  private next(prefix: string, forward: boolean): void {
    const { state } = this;
    const found = state.names().filter(({ name }) => name.startsWith(prefix));
    if (found.length === 0) return;
    const at = found.findIndex(({ name }) => name === state.named);
    const next = at < 0 ? (forward ? 0 : found.length - 1) : (at + (forward ? 1 : found.length - 1)) % found.length;
    state.setNamed(found[next].name);
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") return target instanceof HTMLInputElement ? target.blur() : this.drawer.close();
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return;
    const { state } = this;
    const { key } = event;
    const isTab = target.getAttribute("role") === "tab";
    if (/^[1-9]$/.test(key) && this.views[Number(key) - 1]) state.setView(this.views[Number(key) - 1].name);
    else if (isTab && (key === "ArrowLeft" || key === "ArrowRight")) {
      const at = this.views.findIndex((view) => view.name === state.view);
      state.setView(this.views[(at + (key === "ArrowRight" ? 1 : this.views.length - 1)) % this.views.length].name);
    } else if (key === "p") state.setNamed("peak");
    else if (key === "e") state.setNamed("end");
    else if (key === "l") state.setNamed("last");
    else if (key === "m" || key === "M") this.next("mark-", key === "m");
    else if (key === "o" || key === "O") this.next("refusal-", key === "o");
    else if (key === "d" || key === "D") {
      const spaces = [...(state.used.length > 1 ? [ALL] : []), ...state.used];
      const at = spaces.indexOf(state.space);
      if (spaces.length) state.setSpace(spaces[(at + (key === "d" ? 1 : spaces.length - 1)) % spaces.length]);
    } else if ((key === "ArrowLeft" || key === "ArrowRight") && !(target instanceof HTMLCanvasElement)) {
      state.setMoment(state.neighbour(key === "ArrowRight", event.shiftKey ? 100 : 1));
    } else if (key === "/") this.panel.querySelector<HTMLInputElement>("input[type=search]")?.focus();
    else if (key === "t") this.theme();
    else if (key === "?") this.help();
    else return;
    event.preventDefault();
  }

  /** What is chosen, so that a link to the file can have it. */
  private toAddress(): void {
    const { state } = this;
    const at = state.named ?? String(state.at);
    history.replaceState(null, "", `#view=${state.view}&memory=${state.space}&at=${at}`);
  }

  private fromAddress(): void {
    const asked = new URLSearchParams(location.hash.slice(1));
    const { state } = this;
    const space = Number(asked.get("memory") ?? NaN);
    if (asked.has("memory") && (space === ALL || this.model.tables.spaces[space])) state.setSpace(space);
    const at = asked.get("at");
    if (at !== null && /^\d+$/.test(at)) state.setMoment(Number(at));
    else if (at !== null) state.setNamed(at);
    const view = asked.get("view");
    if (view !== null && this.views.some(({ name }) => name === view)) state.setView(view);
  }
}

async function main(): Promise<void> {
  const theme = kept("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  try {
    if (typeof DecompressionStream === "undefined") throw new Error("this browser has no DecompressionStream; those since 2023 have it");
    const page = new Page(await Model.read());
    page.start();
    document.documentElement.dataset.ready = "true";
  } catch (why) {
    fill(document.getElementById("app")!, h("p", { class: "careful" }, `The report cannot be shown: ${why instanceof Error ? why.message : String(why)}`));
    throw why;
  }
}

void main();
