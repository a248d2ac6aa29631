// Elements. Texts of a trace go in as text alone, never as HTML.
import { oneLine } from "./format";

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

/** An element with attributes, listeners (`onclick`) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, ...children);
  return element;
}

/** Adds children; texts of several lines become one. */
export function add(to: Element, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    to.append(typeof child === "string" ? oneLine(child) : child);
  }
}

/** Puts children in place of what is there. */
export function fill(into: Element, ...children: Child[]): void {
  into.replaceChildren();
  add(into, ...children);
}

/** A choice among texts by their values. */
export function choice(
  label: string,
  options: readonly (readonly [string, string])[],
  value: string,
  onchange: (value: string) => void,
): HTMLLabelElement {
  const select = h("select", { "aria-label": label, onchange: () => onchange(select.value) });
  for (const [name, text] of options) add(select, h("option", { value: name, selected: name === value }, text));
  select.value = value;
  return h("label", { class: "choice" }, h("span", {}, label), select);
}

/** A canvas in the element's width and a height, sharp on every display. */
export function canvas(width: number, height: number, label: string): [HTMLCanvasElement, CanvasRenderingContext2D] {
  const ratio = window.devicePixelRatio || 1;
  const element = h("canvas", { role: "img", "aria-label": label, tabindex: 0 });
  element.width = Math.max(1, Math.round(width * ratio));
  element.height = Math.max(1, Math.round(height * ratio));
  element.style.width = `${width}px`;
  element.style.height = `${height}px`;
  const context = element.getContext("2d")!;
  context.scale(ratio, ratio);
  return [element, context];
}

/** The value of a variable of the style. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A box beside the pointer. */
class Tip {
  private readonly box = h("div", { class: "tip", role: "tooltip", hidden: true });

  show(event: MouseEvent, ...lines: (string | Node)[]): void {
    if (!this.box.isConnected) document.body.append(this.box);
    fill(this.box, ...lines.map((line) => h("div", {}, line)));
    this.box.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const left = event.clientX + 14 + width > innerWidth ? event.clientX - width - 8 : event.clientX + 14;
    const top = event.clientY + 14 + height > innerHeight ? event.clientY - height - 8 : event.clientY + 14;
    this.box.style.left = `${Math.max(4, left)}px`;
    this.box.style.top = `${Math.max(4, top)}px`;
  }

  hide(): void {
    this.box.hidden = true;
  }
}

export const tip = new Tip();
