// How near a picture is seen, and which part of it.

import { button, el, tool } from "./dom.js";

const MOST = 16;
export const WHOLE = { scale: 1, x: 0, y: 0 };

/** Nearer by a factor, what is at a point stays where it is. Points and moves are in pixels from the middle. */
export function zoomed({ scale, x, y }, factor, [atX, atY]) {
  const next = Math.min(Math.max(scale * factor, 1), MOST);
  const by = next / scale;
  return { scale: next, x: atX - by * (atX - x), y: atY - by * (atY - y) };
}

/** Moved so little that the room stays full: something of `size` at scale 1 in a room. */
export function bounded({ scale, x, y }, size, room) {
  const within = (move, axis) => {
    const most = Math.max(scale * size[axis] - Math.min(size[axis], room[axis]), 0) / 2;
    return Math.min(Math.max(move, -most), most);
  };
  return { scale, x: within(x, 0), y: within(y, 1) };
}

/** A paper in a room, which is zoomed by wheel and buttons and moved by whoever calls. */
export class Zoom {
  constructor(room, paper) {
    Object.assign(this, { room, paper, view: WHOLE });
    this.words = button("100 %", { kind: "quiet number", title: "Show all: 0", onclick: () => this.reset() });
    this.bar = el(
      "div.zoom",
      { role: "group", "aria-label": "Zoom" },
      tool("Zoom out: −", "minus", () => this.by(1 / 1.5)),
      this.words,
      tool("Zoom in: +", "plus", () => this.by(1.5)),
    );
    room.append(this.bar);
    room.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.set(WHOLE);
  }

  set(view) {
    const { paper, room } = this;
    const size = [paper.offsetWidth, paper.offsetHeight];
    this.view = bounded(view, size, [room.clientWidth, room.clientHeight]);
    const { scale, x, y } = this.view;
    paper.style.transform = scale === 1 ? "" : `translate(${x}px, ${y}px) scale(${scale})`;
    paper.style.setProperty("--zoom", scale);
    paper.classList.toggle("near", scale >= 3);
    this.words.textContent = `${Math.round(100 * scale)} %`;
    this.words.setAttribute("aria-label", `Zoom ${this.words.textContent}: show all`);
    this.words.disabled = scale === 1;
  }

  reset() {
    this.set(WHOLE);
  }

  /** Nearer by a factor, at a place in the window or in the middle. */
  by(factor, place) {
    this.set(zoomed(this.view, factor, place ? this.middle(place) : [0, 0]));
  }

  move(dx, dy) {
    const { scale, x, y } = this.view;
    this.set({ scale, x: x + dx, y: y + dy });
  }

  /** What a key asks for; whether it asks for anything. */
  key(name) {
    if (name === "0") this.reset();
    else if (name === "+" || name === "=") this.by(1.5);
    else if (name === "-") this.by(1 / 1.5);
    else return false;
    return true;
  }

  /** A place in the window, from the middle of the paper as it is when nothing is moved. */
  middle([x, y]) {
    const box = this.paper.getBoundingClientRect();
    return [x - box.left - box.width / 2 + this.view.x, y - box.top - box.height / 2 + this.view.y];
  }

  wheel(event) {
    if (event.deltaY > 0 && this.view.scale === 1 && !event.ctrlKey) return; // the page may scroll on
    event.preventDefault();
    const lines = event.deltaMode ? 16 : 1; // some browsers count lines
    this.by(Math.exp((-event.deltaY * lines) / (event.ctrlKey ? 120 : 400)), [event.clientX, event.clientY]);
  }
}
