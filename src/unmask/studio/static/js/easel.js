// A picture to paint a selection on, by pointer or by keyboard.

import { el } from "./dom.js";
import { Selection, TINT } from "./selection.js";

export class Easel {
  /** `onStroke()` is called before a stroke changes the selection, `onChange()` after it. */
  constructor(step, { onStroke, onChange }) {
    Object.assign(this, { step, onStroke, onChange, tool: "brush", size: 3 * step, at: null, from: null });
    this.picture = el("canvas", { role: "img", "aria-label": "The picture" });
    this.mask = el("canvas", {
      className: "mask",
      tabIndex: 0,
      role: "application",
      "aria-label":
        "Selection. Arrow keys move the brush, Space paints; with the box, Space sets its corners.",
    });
    this.cursor = el("div", { className: "cursor", hidden: true });
    this.rubber = el("div", { className: "rubber", hidden: true });
    this.root = el("div", { className: "paper" }, this.picture, this.mask, this.cursor, this.rubber);
    this.listen();
  }

  show(picture, selection) {
    const { width, height } = picture;
    Object.assign(this.picture, { width, height });
    Object.assign(this.mask, { width, height });
    this.picture.getContext("2d").drawImage(picture, 0, 0);
    this.root.style.setProperty("--ratio", width / height);
    this.selection = selection ?? new Selection(width, height);
    this.at = this.from = null;
    this.paint();
  }

  /** Take another tool; what was begun with the one before ends here. */
  use(tool) {
    this.up(this.from);
    this.tool = tool;
    this.point();
  }

  paint() {
    this.selection.draw(this.mask);
    this.point();
  }

  listen() {
    const { mask } = this;
    mask.addEventListener("pointerdown", (event) => {
      if (!event.isPrimary || event.button !== 0) return;
      mask.setPointerCapture(event.pointerId);
      this.down(this.place(event));
    });
    mask.addEventListener("pointermove", (event) => event.isPrimary && this.move(this.place(event)));
    mask.addEventListener("lostpointercapture", () => this.up(this.at ?? this.from)); // however that came
    mask.addEventListener("pointerleave", () => this.from || ((this.at = null), this.point()));
    mask.addEventListener("keydown", (event) => this.key(event));
    mask.addEventListener("blur", () => ((this.at = null), this.point()));
  }

  place(event) {
    const box = this.mask.getBoundingClientRect();
    return [
      ((event.clientX - box.left) / box.width) * this.mask.width,
      ((event.clientY - box.top) / box.height) * this.mask.height,
    ];
  }

  down(at) {
    this.onStroke();
    this.from = at;
    if (this.tool !== "box") this.stroke(at, at);
    this.at = at;
    this.point();
  }

  move(at) {
    if (this.from && this.tool !== "box") {
      this.stroke(this.from, at);
      this.from = at;
    }
    this.at = at;
    this.point();
  }

  up(at) {
    if (!this.from) return;
    if (this.tool === "box") this.selection.box(this.from, at, 1);
    this.from = null;
    this.paint();
    this.onChange();
  }

  stroke(from, to) {
    const part = this.selection.line(from, to, this.size / 2, this.tool === "brush" ? 1 : 0);
    this.selection.draw(this.mask, TINT, part);
  }

  key(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const move = moves[event.key];
    const centre = [this.mask.width / 2, this.mask.height / 2];
    if (move) {
      const [x, y] = this.at ?? centre;
      const inside = (value, edge) => Math.min(Math.max(value, 0), edge);
      this.at = [
        inside(x + move[0] * this.step, this.mask.width),
        inside(y + move[1] * this.step, this.mask.height),
      ];
      this.point();
    } else if (event.key === " " || event.key === "Enter") {
      this.at ??= centre;
      if (this.tool === "box" && !this.from) this.down(this.at);
      else {
        if (this.tool !== "box") this.down(this.at);
        this.up(this.at);
      }
    } else return;
    event.preventDefault();
  }

  /** Show where the brush is, or how far the box has been drawn. */
  point() {
    const percent = (value, edge) => `${(100 * value) / edge}%`;
    const { width, height } = this.mask;
    this.cursor.hidden = !this.at || (this.tool === "box" && this.from);
    this.rubber.hidden = !(this.at && this.from && this.tool === "box");
    if (!this.at) return;
    const size = this.tool === "box" ? this.step / 2 : this.size;
    Object.assign(this.cursor.style, {
      left: percent(this.at[0], width),
      top: percent(this.at[1], height),
      width: percent(size, width),
      height: percent(size, height),
    });
    if (this.rubber.hidden) return;
    const [x, y] = [0, 1].map((axis) => Math.min(this.from[axis], this.at[axis]));
    const [w, h] = [0, 1].map((axis) => Math.abs(this.from[axis] - this.at[axis]));
    Object.assign(this.rubber.style, {
      left: percent(x, width),
      top: percent(y, height),
      width: percent(w, width),
      height: percent(h, height),
    });
  }
}
