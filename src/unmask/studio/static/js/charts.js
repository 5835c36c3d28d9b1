// Curves of a training: small, side by side, with one cursor for all of them.

import { el, svg } from "./dom.js";

const [WIDTH, HEIGHT] = [300, 120];

/** From the least to the most of some numbers; all of one value stand in the middle. */
export function span(numbers) {
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return low < high ? [low, high] : [low - 0.5, high + 0.5];
}

/** Points (step, value) as places in a box; what is no number leaves a gap: several lines. */
export function lines(points, last, [low, high], [width, height]) {
  const parts = [[]];
  for (const [step, value] of points) {
    if (value === null) parts.push([]);
    else parts.at(-1).push([(step / last) * width, height - ((value - low) / (high - low)) * height]);
  }
  return parts.filter((part) => part.length);
}

/** The value at a step: that of the last point until then. */
export const at = (points, step) => points.findLast(([when]) => when <= step)?.[1] ?? null;

/** A number in few figures. */
export const short = (value) =>
  value === null
    ? "–"
    : Math.abs(value) >= 1000
      ? Math.round(value).toLocaleString("en")
      : value.toPrecision(3);

/** The curves of one metric. `onPoint(step)` is told where somebody points, or null. */
export class Chart {
  constructor(name, onPoint) {
    this.name = name;
    this.value = el("span.hint.number");
    this.ends = [el("span.most"), el("span.least")];
    this.plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
    this.face = el("div.face", this.plot, this.ends);
    const title = el("h2", name.replaceAll("_", " "));
    this.root = el("figure.chart", el("figcaption", title, this.value), this.face);
    this.face.addEventListener("pointermove", ({ clientX }) => {
      const { left, width } = this.face.getBoundingClientRect();
      onPoint(Math.round(Math.min(Math.max((clientX - left) / width, 0), 1) * this.last));
    });
    this.face.addEventListener("pointerleave", () => onPoint(null));
  }

  /** Curves by what they are of, up to a step. */
  show(curves, last) {
    Object.assign(this, { curves, last });
    const numbers = Object.values(curves).flatMap((points) => points.map(([, value]) => value));
    const range = span(numbers.filter((value) => value !== null));
    this.cursor = svg("line", { class: "at", y1: 0, y2: HEIGHT });
    const drawn = Object.entries(curves).flatMap(([kind, points]) =>
      lines(points, last, range, [WIDTH, HEIGHT]).map((part) =>
        svg("polyline", { class: part[1] ? kind : `${kind} dot`, points: [...part, part.at(-1)].join(" ") }),
      ),
    );
    this.plot.replaceChildren(...drawn, this.cursor);
    this.ends.forEach((end, i) => (end.textContent = short(range[1 - i])));
    this.plot.setAttribute("aria-label", `${this.name} until step ${last}: ${this.words(last)}`);
  }

  words(step) {
    const kinds = Object.entries(this.curves);
    return kinds
      .map(([kind, points]) => `${kinds.length > 1 ? `${kind} ` : ""}${short(at(points, step))}`)
      .join(" · ");
  }

  /** Say what it was at a step; without one, what it is. */
  point(step) {
    this.value.textContent = this.words(step ?? this.last);
    this.cursor.style.visibility = step === null ? "hidden" : "";
    const x = ((step ?? 0) / this.last) * WIDTH;
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
  }
}
