// A table of which only the rows in sight are elements.
import { fill, h } from "./dom";
import { numbers, ordered } from "./sums";

export interface ColumnOf {
  title: string;
  /** Of the whole width, as a grid takes it. */
  width: string;
  isNumber?: boolean;
  /** By what rows are sorted; columns without it cannot be. */
  sort?: (row: number) => number;
  cell: (row: number) => (string | Node)[];
}

const HEIGHT = 26;
/** Browsers draw no taller elements. */
const TALLEST = 8_000_000;

export class Grid {
  readonly element = h("div", { class: "grid", role: "table" });
  private readonly head = h("div", { class: "grid-head", role: "row" });
  private readonly body = h("div", { class: "grid-body", tabindex: 0, role: "rowgroup" });
  private readonly tall = h("div", { class: "grid-tall" });
  private readonly window = h("div", { class: "grid-window" });
  private list: Uint32Array = new Uint32Array();
  private sorted: Uint32Array = new Uint32Array();

  constructor(
    private readonly columns: ColumnOf[],
    private by: number,
    private down: boolean,
    private readonly chosen: (row: number) => void,
  ) {
    this.tall.append(this.window);
    this.body.append(this.head, this.tall);
    this.element.append(this.body);
    this.element.style.setProperty("--columns", columns.map((column) => column.width).join(" "));
    this.body.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.body);
  }

  show(list: Uint32Array): void {
    this.list = list;
    this.sort();
    this.body.scrollTop = 0;
    this.draw();
  }

  private sort(): void {
    const { sort } = this.columns[this.by];
    this.sorted = sort ? ordered(numbers(this.list, sort), this.list) : this.list.slice();
    if (this.down) this.sorted.reverse();
    fill(
      this.head,
      ...this.columns.map((column, at) => {
        const isBy = at === this.by;
        const sign = isBy ? (this.down ? " ▼" : " ▲") : "";
        const cell = h("div", { role: "columnheader", class: column.isNumber ? "number" : undefined, "aria-sort": isBy ? (this.down ? "descending" : "ascending") : undefined });
        if (!column.sort) cell.append(column.title);
        else {
          const onclick = (): void => {
            this.down = isBy ? !this.down : column.isNumber === true;
            this.by = at;
            this.sort();
            this.draw();
            (this.head.children[at].firstChild as HTMLElement).focus();
          };
          cell.append(h("button", { class: "plain", onclick }, column.title + sign));
        }
        return cell;
      }),
    );
  }

  private draw(): void {
    const count = this.sorted.length;
    const height = Math.min(TALLEST, count * HEIGHT);
    this.tall.style.height = `${height}px`;
    const view = (this.body.clientHeight || 400) - HEIGHT;
    const many = Math.ceil(view / HEIGHT) + 1;
    const room = Math.max(1, height - view);
    const part = Math.min(1, this.body.scrollTop / room);
    const exact = count * HEIGHT <= TALLEST;
    const first = exact ? Math.floor(this.body.scrollTop / HEIGHT) : Math.round(part * Math.max(0, count - many + 1));
    this.window.style.transform = `translateY(${exact ? first * HEIGHT : this.body.scrollTop}px)`;
    const rows: HTMLElement[] = [];
    for (let at = first; at < Math.min(count, first + many); at++) {
      const row = this.sorted[at];
      const cells = this.columns.map((column) => h("div", { role: "cell", class: column.isNumber ? "number" : undefined }, ...column.cell(row)));
      const onclick = (): void => this.chosen(row);
      const onkeydown = (event: KeyboardEvent): void => {
        if (event.key === "Enter" && event.target === event.currentTarget) this.chosen(row);
      };
      rows.push(h("div", { class: "grid-row", role: "row", tabindex: 0, onclick, onkeydown }, ...cells));
    }
    this.window.replaceChildren(...rows);
  }
}
