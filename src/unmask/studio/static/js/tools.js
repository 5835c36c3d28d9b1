// What a hand does to a selection. A tool goes down, moves and comes up at points of the picture, in pixels.

import { outlined } from "./geometry.js";

/** Every tool works on an easel: its selection, its brush, and what it says before and after a change. */
class Tool {
  constructor(easel, value) {
    Object.assign(this, { easel, value, done: false });
  }

  /** The points of an outline to show, if there is one. */
  get outline() {
    return null;
  }

  down() {}

  move() {}

  /** What it has begun is not wanted. */
  drop() {}
}

/** Paints at once, wherever it goes. */
class Brush extends Tool {
  down(at) {
    this.easel.onStroke();
    this.last = at;
    this.move(at);
  }

  move(at) {
    const { selection, size } = this.easel;
    this.easel.repaint(selection.line(this.last, at, size / 2, this.value));
    this.last = at;
  }

  up() {
    this.done = true;
    this.easel.onChange();
  }

  drop() {
    this.easel.onDrop();
  }
}

class Eraser extends Brush {
  constructor(easel) {
    super(easel, 0);
  }
}

/** From corner to corner. */
class Box extends Tool {
  down(at) {
    this.from = this.to = at;
  }

  move(at) {
    this.to = at;
  }

  up(at) {
    this.done = true;
    this.easel.change((selection) => selection.box(this.from, at, this.value));
  }

  get outline() {
    const [[left, top], [right, bottom]] = [this.from, this.to];
    return [
      [left, top],
      [right, top],
      [right, bottom],
      [left, bottom],
    ];
  }
}

/** Round what is wanted: in one stroke, or from corner to corner until the outline is closed. */
class Lasso extends Tool {
  points = [];
  cornered = false;

  down(at) {
    if (this.cornered && this.easel.near(at, this.points[0])) return this.close();
    this.points.push(at);
    this.from = at;
  }

  move(at) {
    if (!this.from) this.hint = at;
    else if (Math.hypot(at[0] - this.from[0], at[1] - this.from[1]) > 0.5) {
      this.points.push((this.from = at));
      this.drawn = true;
    }
  }

  up() {
    this.from = null;
    if (this.done) return;
    if (this.drawn && !this.cornered) this.close();
    else this.cornered = true;
  }

  close() {
    this.done = true;
    const { width, height } = this.easel.selection;
    const inside = outlined(this.points, width, height);
    if (inside.includes(1)) this.easel.change((selection) => selection.put(inside, this.value));
  }

  get outline() {
    return this.hint ? [...this.points, this.hint] : this.points;
  }
}

export const TOOLS = { brush: Brush, eraser: Eraser, box: Box, lasso: Lasso };
