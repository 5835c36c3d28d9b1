// Extend: what could lie beyond the edges of a picture, or on a canvas with nothing on it.

import { button, el, quiet, select, tool } from "./dom.js";
import { Frame, NONE } from "./frame.js";
import { address, blank, fetchPicture } from "./pictures.js";
import { recall, remember } from "./store.js";
import { addWords } from "./words.js";
import { Workshop } from "./workshop.js";

const SIDES = ["left", "top", "right", "bottom"];

export class Extend extends Workshop {
  constructor(model) {
    super("extend", model, { label: "Draw what is missing", symbol: "extend" });
    select(".source", this.root).append(
      button("Start with an empty canvas", { symbol: "extend", onclick: () => this.take(null) }),
    );
    this.makeFields();
    this.frame = new Frame({
      step: model.factor,
      most: model.limits.edge_px,
      fits: (...size) => this.fits(...size),
      onChange: (margins) => this.changed(margins),
    });
    this.along = el("div.along", { "aria-hidden": "true" }); // the field says it
    this.frame.area.append(this.along);
    this.makeTools();
    this.invite(
      "Begin with an image, or with nothing",
      "Open one, drop it here, paste it, take a sample, or start with an empty canvas.",
    );
    this.restore();
  }

  makeFields() {
    const { form, model } = this;
    const place = form.place.appendChild(el("div.quad", { role: "group", "aria-label": "Pixels to add" }));
    SIDES.forEach((side) => {
      const label = { left: "Left", top: "Above", right: "Right", bottom: "Below" }[side];
      form.number(side, label, { min: 0, max: model.limits.edge_px, step: model.factor, value: 0, place });
      const follow = () => this.frame.margins && this.frame.set({ [side]: form.controls[side].value });
      form.root(side).addEventListener("change", follow);
    });
    place.append(el("span.hint", "Pixels to add on each side."));
    const along = "On an empty canvas, several prompts separated by | stand in a row.";
    addWords(form, model, { empty: `Empty: no prompt. ${along}` });
    form.place.addEventListener("input", () => this.placeWords());
    form.range("count", "Versions", { min: 1, max: 8, value: 2 });
    form.settings("edit");
    form.seam(model);
    form.seed();
    for (const side of SIDES) form.enable(side, false);
  }

  makeTools() {
    const shapes = {
      "Double width": ([w]) => ({ left: 0, right: w }),
      "Both sides": ([w]) => ({ left: w / 2, right: w / 2 }),
      "All around": ([w, h]) => ({ left: w / 2, right: w / 2, top: h / 2, bottom: h / 2 }),
      Reset: () => ({}),
    };
    const { frame } = this;
    const buttons = Object.entries(shapes).map(([words, shape]) => {
      const margins = () => shape([frame.picture.width, frame.picture.height]);
      return quiet(words, null, () => frame.set({ ...NONE, ...margins() }));
    });
    this.undo = tool("Undo", "undo", () => this.goBack(), { disabled: true });
    this.readout = el("span.readout", { role: "status" });
    this.toolbar = el(
      "div.tools",
      { role: "toolbar", "aria-label": "Shapes" },
      buttons,
      el("span.gap"),
      this.undo,
    );
  }

  /** A picture to extend; null is an empty canvas of the trained size. */
  take(canvas) {
    this.clear();
    this.open(canvas);
    if (!canvas) this.frame.set({ right: this.model.image_size });
  }

  /** Go on as a picture was drawn: a canvas of its size, or what was added on each side. */
  reuse(values, { origin: { size, margins } }) {
    if (size) {
      this.take(null);
      const edge = this.model.image_size;
      this.frame.set({ left: 0, top: 0, right: size[0] - edge, bottom: size[1] - edge });
    } else if (this.frame.margins)
      this.frame.set(Object.fromEntries(SIDES.map((side, number) => [side, margins[number]])));
    this.form.set(values);
    this.placeWords();
  }

  /** Show the words of a canvas where each is meant. */
  placeWords() {
    const { prompt } = this.form.controls;
    if (!prompt || !this.frame.margins) return;
    const several = this.picture === null;
    if (prompt.several !== several) {
      prompt.several = several;
      prompt.mark();
    }
    const [width, height] = this.frame.size;
    this.along.classList.toggle("down", height > width);
    const texts = prompt.texts.length > 1 ? prompt.texts : [];
    this.along.replaceChildren(...texts.map((text) => el("span", text)));
  }

  adopt(canvas) {
    this.past.push({ picture: this.picture, margins: { ...this.frame.margins } });
    this.open(canvas);
  }

  goBack() {
    const { picture, margins } = this.past.pop();
    this.open(picture, margins);
  }

  open(picture, margins) {
    this.picture = picture;
    for (const side of SIDES) this.form.enable(side, true);
    for (const name of ["count", "seam"]) this.form.enable(name, picture !== null);
    this.form.turn(picture ? "edit" : "canvas");
    this.work.replaceChildren(this.toolbar, el("div.easel", this.frame.root, this.readout));
    const size = this.model.image_size;
    this.frame.picture.hidden = picture === null;
    this.frame.show(picture ?? blank(size, size), margins);
  }

  fits(width, height) {
    const { factor, limits } = this.model;
    const count = this.picture ? this.form.controls.count.value : 1;
    return (
      count * Math.ceil(width / factor) * Math.ceil(height / factor) <= limits.codes &&
      width * height <= limits.upload_pixels &&
      Math.max(width, height) <= limits.edge_px
    );
  }

  changed(margins) {
    this.form.set(margins);
    const [width, height] = this.frame.size;
    const most = `as many as one job can draw${this.picture ? ": fewer versions leave room for more" : ""}`;
    this.readout.textContent = `${width} × ${height} pixels${this.frame.full ? `, ${most}` : ""}`;
    this.undo.disabled = !this.past.length;
    this.placeWords();
    const nothing = this.picture !== null && SIDES.every((side) => !margins[side]);
    this.runner.go.disabled = nothing;
    if (!this.runner.running) this.runner.say(nothing ? "Drag an edge of the frame outwards." : "");
    remember("extend.state", { picture: this.picture && address(this.picture), margins });
  }

  run() {
    const [width, height] = this.frame.size;
    const picture = this.picture && address(this.picture);
    this.ask({ picture, width, height, margins: { ...this.frame.margins } });
  }

  ask(asked) {
    const { picture, width, height, margins } = asked;
    const { left, top, right, bottom, ...settings } = this.form.values();
    const words = `${width}×${height} · seed ${settings.seed} · ${this.form.summary(settings)}`;
    const about = { words, name: "Extend", ratio: width / height, asked };
    if (picture) this.runner.ask("extend", { ...settings, ...margins, image: picture.split(",")[1] }, about);
    else this.runner.ask("canvas", { ...settings, width, height }, about);
  }

  files({ picture }) {
    return picture ? { "picture.png": picture } : {};
  }

  /** After a reload: the picture, the frame and the job. */
  async restore() {
    const state = recall("extend.state");
    if (!state) return;
    this.open(state.picture && (await fetchPicture(state.picture)), state.margins);
    this.runner.resume();
  }
}
