// A picture to paint a selection on: by mouse, pen, fingers or keyboard.

import { el, svg } from "./dom.js";
import { Selection, tint } from "./selection.js";
import { TOOLS } from "./tools.js";
import { Zoom } from "./zoom.js";

const ERASER = 5; // the button at the other end of a pen
const NEAR = 10; // pixels of the screen within which an outline is closed
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Easel {
  /**
   * step: pixels by which keys move the brush.  onStroke(), onChange(): before and after the selection changes.
   * onDrop(): a stroke that was begun is not wanted.
   */
  constructor(step, { onStroke, onChange, onDrop }) {
    Object.assign(this, { step, onStroke, onChange, onDrop, name: "brush", size: 3 * step });
    Object.assign(this, { at: null, tool: null, held: null, fingers: new Map(), tint: tint("#5646d6") });
    this.picture = el("canvas", { role: "img", "aria-label": "The image" });
    this.mask = el("canvas.mask", {
      tabIndex: 0,
      role: "application",
      "aria-label":
        "Selection. Arrow keys move the brush, Space paints; with box and lasso Space sets corners, Enter closes.",
    });
    this.cursor = el("div.cursor", { hidden: true });
    const outlines = [svg("polygon", {}), svg("polygon", {})];
    this.lines = svg("svg", { class: "outline", "aria-hidden": "true" }, ...outlines);
    this.paper = el("div.paper", this.picture, this.mask, this.lines, this.cursor);
    this.root = el("div.easel", this.paper);
    this.zoom = new Zoom(this.root, this.paper);
    this.listen();
  }

  /** Whether a pointer is painting. */
  get holding() {
    return this.held !== null;
  }

  /** Show a picture; one of another size is seen whole. */
  show(picture, selection) {
    const { width, height } = picture;
    if (width !== this.mask.width || height !== this.mask.height) this.zoom.reset();
    Object.assign(this.picture, { width, height });
    Object.assign(this.mask, { width, height });
    this.picture.getContext("2d").drawImage(picture, 0, 0);
    this.paper.style.setProperty("--ratio", width / height);
    this.lines.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.selection = selection ?? new Selection(width, height);
    this.at = this.tool = null;
    this.paint();
  }

  /** Take another tool; what was begun with the one before ends here. */
  use(name) {
    if (this.holding) this.tool?.up(this.at);
    this.drop();
    this.name = name;
    this.root.dataset.tool = name;
    this.point();
  }

  paint() {
    this.repaint();
    this.point();
  }

  /** Change the selection in one go. */
  change(action) {
    this.onStroke();
    action(this.selection);
    this.paint();
    this.onChange();
  }

  repaint(part) {
    this.selection.draw(this.mask, this.tint, part);
  }

  listen() {
    const { root, mask } = this;
    root.addEventListener("pointerdown", (event) => this.press(event));
    root.addEventListener("pointermove", (event) => this.follow(event));
    root.addEventListener("lostpointercapture", (event) => this.release(event)); // however that came
    root.addEventListener("pointerleave", () => this.holding || this.hover(null));
    root.addEventListener("dblclick", () => this.close());
    mask.addEventListener("keydown", (event) => this.key(event));
    mask.addEventListener("blur", () => this.holding || this.hover(null));
  }

  press(event) {
    const { pointerType, pointerId, button } = event;
    if (event.target.closest("button")) return;
    this.pen ||= pointerType === "pen";
    if (pointerType === "touch") this.fingers.set(pointerId, [event.clientX, event.clientY]);
    const moves = button === 1 || this.name === "hand" || (pointerType === "touch" && this.pen); // a palm
    if (this.fingers.size > 1 && this.holding) this.drop(); // the first was not meant to paint
    const paints = button === 0 || (pointerType === "pen" && button === ERASER);
    if (!(moves || paints)) return;
    if (moves) event.preventDefault();
    this.root.setPointerCapture(pointerId);
    if (!moves && this.fingers.size < 2) this.begin(event);
    else if (pointerType !== "touch") this.drag = [event.clientX, event.clientY];
  }

  begin(event) {
    this.mask.focus({ preventScroll: true, focusVisible: false });
    this.held = event.pointerId;
    const takes = event.altKey || event.button === ERASER;
    this.down(this.place(event), takes ? 0 : 1);
  }

  follow(event) {
    const at = [event.clientX, event.clientY];
    const before = this.fingers.get(event.pointerId);
    if (before) this.fingers.set(event.pointerId, at);
    if (before && !this.holding) this.pinch(event.pointerId, before, at);
    else if (this.drag) {
      this.zoom.move(at[0] - this.drag[0], at[1] - this.drag[1]);
      this.drag = at;
    } else if (this.held === event.pointerId) {
      const between = event.getCoalescedEvents();
      for (const moment of between.length ? between : [event]) this.tool?.move(this.place(moment));
      this.hover(this.place(event));
    } else if (!this.holding && event.pointerType !== "touch") {
      this.tool?.move(this.place(event));
      this.hover(this.place(event));
    }
  }

  release(event) {
    this.fingers.delete(event.pointerId);
    this.drag = null;
    if (this.held !== event.pointerId) return;
    this.up(this.at);
    if (event.pointerType === "touch") this.hover(null);
  }

  /** A finger moved while none paints: one moves the picture, two also bring it nearer. */
  pinch(id, before, at) {
    const [other] = [...this.fingers].filter(([key]) => key !== id).map(([, place]) => place);
    const share = other ? 0.5 : 1;
    this.zoom.move(share * (at[0] - before[0]), share * (at[1] - before[1]));
    if (!other) return;
    const apart = ([x, y]) => Math.max(Math.hypot(x - other[0], y - other[1]), 1);
    this.zoom.by(apart(at) / apart(before), [(at[0] + other[0]) / 2, (at[1] + other[1]) / 2]);
  }

  /** Give up what was begun. */
  drop() {
    if (this.tool && !this.tool.done) this.tool.drop();
    this.tool = this.held = null;
    this.point();
  }

  place(event) {
    const box = this.mask.getBoundingClientRect();
    return [
      ((event.clientX - box.left) / box.width) * this.mask.width,
      ((event.clientY - box.top) / box.height) * this.mask.height,
    ];
  }

  /** Whether two points of the picture are as good as one on the screen. */
  near(one, other) {
    const scale = this.mask.getBoundingClientRect().width / this.mask.width;
    return Math.hypot(one[0] - other[0], one[1] - other[1]) * scale < NEAR;
  }

  down(at, value = 1) {
    this.tool ??= new TOOLS[this.name](this, value);
    this.tool.down(at);
    this.hover(at);
  }

  up(at) {
    this.tool?.up(at);
    this.held = null;
    if (this.tool?.done) this.tool = null;
    this.point();
  }

  /** Close an outline that was begun from corner to corner. */
  close() {
    this.tool?.close?.();
    this.tool = null;
    this.point();
  }

  hover(at) {
    this.at = at;
    this.point();
  }

  key(event) {
    const move = ARROWS[event.key];
    const at = this.at ?? [this.mask.width / 2, this.mask.height / 2];
    if (move && event.shiftKey) this.zoom.move(-40 * move[0], -40 * move[1]);
    else if (move) this.walk(at, move);
    else if (event.key === "Escape" && this.tool) this.drop();
    else if (event.key === "Enter" && this.tool?.close) this.close();
    else if ((event.key === " " || event.key === "Enter") && this.name !== "hand") this.dab(at);
    else return;
    event.preventDefault();
  }

  walk([x, y], [dx, dy]) {
    const inside = (value, edge) => Math.min(Math.max(value, 0), edge);
    const to = [inside(x + dx * this.step, this.mask.width), inside(y + dy * this.step, this.mask.height)];
    this.tool?.move(to);
    this.hover(to);
  }

  /** What a key does at a point: a box is set by two corners, all else by going down and up. */
  dab(at) {
    const second = this.tool !== null;
    if (!second || this.name === "lasso") this.down(at);
    if (second || this.name !== "box") this.up(at);
  }

  /** Show where the brush is, or how far an outline has been drawn. */
  point() {
    const percent = (value, edge) => `${(100 * value) / edge}%`;
    const { width, height } = this.mask;
    const outline = this.tool?.outline ?? null;
    this.lines.toggleAttribute("hidden", !outline);
    for (const line of this.lines.children) line.setAttribute("points", (outline ?? []).join(" "));
    this.cursor.hidden = !this.at || this.name === "hand" || (outline !== null && this.holding);
    if (!this.at) return;
    const size = ["box", "lasso"].includes(this.name) ? this.step / 2 : this.size;
    Object.assign(this.cursor.style, {
      left: percent(this.at[0], width),
      top: percent(this.at[1], height),
      width: percent(size, width),
      height: percent(size, height),
    });
  }
}
