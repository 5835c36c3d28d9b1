// Extend: what could lie beyond the edges of a picture, or on a canvas with nothing on it.

import { button, el, invitation, select } from "./dom.js";
import { Form } from "./form.js";
import { Frame } from "./frame.js";
import { address, blank, fetchPicture, sources } from "./pictures.js";
import { Runner } from "./runner.js";
import { recall, remember } from "./store.js";
import { Versions } from "./versions.js";
import { addWords } from "./words.js";

const SIDES = ["left", "top", "right", "bottom"];

export class Extend {
  constructor(model) {
    this.model = model;
    this.root = select("#extend");
    this.work = select(".work", this.root);
    this.picture = null;
    this.past = [];
    sources(this.root, model, (canvas) => this.take(canvas));
    const nothing = button("Start with an empty canvas", {
      symbol: "extend",
      onclick: () => this.take(null),
    });
    select(".source", this.root).append(nothing);
    this.makeFields();
    this.runner = new Runner(select(".run", this.root), {
      key: "extend.job",
      label: "Draw what is missing",
      symbol: "extend",
      onRun: () => this.run(),
      onStart: (job, about) => this.begin(job, about),
      onPreview: (addresses) => this.versions.preview(addresses),
      onEnd: (job) => this.versions.end(job),
    });
    this.versions = new Versions(select(".versions", this.root), {
      onTake: (canvas) => this.adopt(canvas),
      onAgain: () => this.again(),
      files: () => (this.about.asked.picture ? { "picture.png": this.about.asked.picture } : {}),
    });
    this.frame = new Frame({
      step: model.factor,
      most: model.limits.edge_px,
      fits: (...size) => this.fits(...size),
      onChange: (margins) => this.changed(margins),
    });
    this.along = el("div", { className: "along", "aria-hidden": "true" }); // the field says it
    this.frame.area.append(this.along);
    this.makeTools();
    this.showEmpty();
    this.restore();
  }

  makeFields() {
    const { model } = this;
    const form = (this.form = new Form(select(".fields", this.root), model));
    const place = form.place.appendChild(
      el("div", { className: "quad", role: "group", "aria-label": "Pixels to add" }),
    );
    SIDES.forEach((side) => {
      const label = { left: "Left", top: "Above", right: "Right", bottom: "Below" }[side];
      form.number(side, label, { min: 0, max: model.limits.edge_px, step: model.factor, value: 0, place });
      const follow = () => this.frame.margins && this.frame.set({ [side]: form.controls[side].value });
      form.root(side).addEventListener("change", follow);
    });
    const along = "Several, apart by |, stand in a row along an empty canvas.";
    addWords(form, model, { empty: `Empty: nothing is said. ${along}` });
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
    const none = { left: 0, top: 0, right: 0, bottom: 0 };
    const buttons = Object.entries(shapes).map(([words, shape]) =>
      button(words, {
        kind: "quiet",
        onclick: () =>
          this.frame.set({ ...none, ...shape([this.frame.picture.width, this.frame.picture.height]) }),
      }),
    );
    this.undo = button("Undo", {
      kind: "quiet",
      symbol: "undo",
      bare: true,
      disabled: true,
      onclick: () => this.goBack(),
    });
    this.readout = el("span", { className: "readout", role: "status" });
    this.toolbar = el(
      "div",
      { className: "tools", role: "toolbar", "aria-label": "Shapes" },
      buttons,
      el("span", { className: "gap" }),
      this.undo,
    );
  }

  showEmpty() {
    this.work.replaceChildren(
      invitation(
        "Begin with a picture, or with nothing",
        "Open one, drop it here, paste it, take a sample, or start with an empty canvas.",
      ),
    );
    this.runner.go.disabled = true;
  }

  /** A picture to extend; null is an empty canvas of the trained size. */
  take(canvas) {
    this.runner.leave();
    this.versions.clear();
    this.past = [];
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
    this.along.replaceChildren(...texts.map((text) => el("span", {}, text)));
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
    this.work.replaceChildren(this.toolbar, el("div", { className: "easel" }, this.frame.root, this.readout));
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
    this.readout.textContent = `${width} × ${height} pixels`;
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

  again() {
    if (this.about) this.ask(this.about.asked);
  }

  ask(asked) {
    const { picture, width, height, margins } = asked;
    const { left, top, right, bottom, ...settings } = this.form.values();
    const words = `${width}×${height} · seed ${settings.seed} · ${this.form.summary(settings)}`;
    const about = { words, name: "Extend", ratio: width / height, asked };
    if (picture) this.runner.ask("extend", { ...settings, ...margins, image: picture.split(",")[1] }, about);
    else this.runner.ask("canvas", { ...settings, width, height }, about);
  }

  begin(job, about) {
    this.about = about;
    this.versions.begin(job, about);
  }

  /** After a reload: the picture, the frame and the job. */
  async restore() {
    const state = recall("extend.state");
    if (!state) return;
    this.open(state.picture && (await fetchPicture(state.picture)), state.margins);
    this.runner.resume();
  }
}
