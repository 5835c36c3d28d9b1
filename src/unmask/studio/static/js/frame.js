// A frame that is dragged beyond a picture.

import { el } from "./dom.js";

const SIDES = { left: ["x", -1], right: ["x", 1], top: ["y", -1], bottom: ["y", 1] };
const HANDLES = {
  left: ["left"],
  right: ["right"],
  top: ["top"],
  bottom: ["bottom"],
  nw: ["left", "top"],
  ne: ["right", "top"],
  sw: ["left", "bottom"],
  se: ["right", "bottom"],
};

export const NONE = { left: 0, top: 0, right: 0, bottom: 0 };

export class Frame {
  /**
   * step: pixels by which it grows, to at most so many on a side.  fits(width, height): whether the model may
   * draw so much.  onChange(): after.
   */
  constructor({ step, most, fits, onChange }) {
    Object.assign(this, { step, most, fits, onChange });
    this.picture = el("canvas", { role: "img", "aria-label": "The image" });
    this.area = el("div.area", this.picture);
    this.handles = Object.keys(HANDLES).map((name) => this.handle(name));
    this.root = el("div.frame", this.area, this.handles);
    new ResizeObserver(() => this.lay()).observe(this.root);
  }

  handle(name) {
    const sides = HANDLES[name];
    const single = sides.length === 1;
    const kind = single ? SIDES[name][0] : name;
    const slider = {
      tabIndex: 0,
      role: "slider",
      "aria-label": `Pixels to add, ${name}`,
      "aria-valuemin": 0,
      "aria-valuemax": this.most,
      "aria-orientation": kind === "x" ? "horizontal" : "vertical",
    };
    const role = single ? slider : { "aria-hidden": "true" };
    const handle = el(`div.handle.${kind}`, { "data-handle": name, ...role });
    handle.addEventListener("pointerdown", (event) => this.drag(event, handle, sides));
    handle.addEventListener("keydown", (event) => this.key(event, sides));
    return handle;
  }

  show(picture, margins = NONE) {
    this.margins = { ...margins };
    this.full = false;
    Object.assign(this.picture, { width: picture.width, height: picture.height });
    this.picture.getContext("2d").drawImage(picture, 0, 0);
    this.changed();
  }

  get size() {
    const { left, top, right, bottom } = this.margins;
    return [this.picture.width + left + right, this.picture.height + top + bottom];
  }

  set(margins) {
    const before = this.margins;
    const tidy = (value) => Math.max(0, Math.round(value / this.step) * this.step);
    this.margins = {
      ...before,
      ...Object.fromEntries(Object.entries(margins).map(([side, value]) => [side, tidy(value)])),
    };
    this.full = !this.fits(...this.size); // more was wanted
    if (this.full) this.margins = before;
    this.changed();
  }

  changed() {
    this.lay();
    this.onChange(this.margins);
  }

  drag(event, handle, sides) {
    event.preventDefault();
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    const [startX, startY, start, scale] = [event.clientX, event.clientY, { ...this.margins }, this.scale];
    this.held = scale; // it would run away from the pointer if it shrank now
    const move = (now) => {
      const moved = { x: (now.clientX - startX) / scale, y: (now.clientY - startY) / scale };
      this.set(
        Object.fromEntries(sides.map((side) => [side, start[side] + moved[SIDES[side][0]] * SIDES[side][1]])),
      );
    };
    const up = () => {
      handle.removeEventListener("pointermove", move);
      this.held = null;
      this.lay();
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", up, { once: true });
  }

  key(event, [side]) {
    const [axis, direction] = SIDES[side];
    const arrows = { ArrowRight: ["x", 1], ArrowLeft: ["x", -1], ArrowDown: ["y", 1], ArrowUp: ["y", -1] }[
      event.key
    ];
    if (event.key === "Home") this.set({ [side]: 0 });
    else if (arrows?.[0] === axis)
      this.set({ [side]: this.margins[side] + arrows[1] * direction * this.step * (event.shiftKey ? 4 : 1) });
    else return;
    event.preventDefault();
  }

  /** Put everything where it belongs, as large as there is room. */
  lay() {
    if (!this.margins || !this.root.clientWidth) return;
    const [width, height] = this.size;
    const room = {
      x: this.root.clientWidth,
      y: Math.max(Math.min(innerHeight * 0.58, this.root.clientWidth), 260),
    };
    const edge = 40; // room to drag into
    this.scale = this.held ?? Math.min((room.x - 2 * edge) / width, (room.y - 2 * edge) / height, 6);
    const [left, top] = [(room.x - width * this.scale) / 2, (room.y - height * this.scale) / 2];
    this.root.style.height = `${room.y}px`;
    const box = (style, x, y, w, h) =>
      Object.assign(style, { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` });
    box(this.area.style, left, top, width * this.scale, height * this.scale);
    box(
      this.picture.style,
      this.margins.left * this.scale,
      this.margins.top * this.scale,
      this.picture.width * this.scale,
      this.picture.height * this.scale,
    );
    for (const handle of this.handles) {
      const { handle: name } = handle.dataset;
      const at = { x: 0.5, y: 0.5 };
      for (const [axis, direction] of HANDLES[name].map((side) => SIDES[side])) at[axis] += direction / 2;
      handle.style.left = `${left + at.x * width * this.scale}px`;
      handle.style.top = `${top + at.y * height * this.scale}px`;
      if (name in SIDES) handle.setAttribute("aria-valuenow", this.margins[name]);
    }
  }
}
