// Edit: what is painted over is drawn anew.

import { attempt, el, select, tool } from "./dom.js";
import { Easel } from "./easel.js";
import { segments } from "./fields.js";
import { MaskBar, maskAddress } from "./masks.js";
import { address, fetchPicture, openFile } from "./pictures.js";
import { Selection } from "./selection.js";
import { recall, remember } from "./store.js";
import { Variations } from "./vary.js";
import { addWords } from "./words.js";
import { Workshop } from "./workshop.js";

const UNDOS = 60;
const KEYS = { b: "brush", e: "eraser", r: "box", l: "lasso", h: "hand" };

export class Edit extends Workshop {
  constructor(model) {
    super("edit", model, { label: "Redraw selection", symbol: "brush" });
    this.future = [];
    addWords(this.form, model);
    this.form.range("count", "Versions", { min: 1, max: 8, value: 4 });
    this.form.settings("edit");
    this.form.seam(model);
    this.form.seed();
    this.variations = new Variations((how) => this.vary(how));
    select(".source", this.root).after(this.variations.root);
    this.easel = new Easel(model.factor, {
      onStroke: () => this.keep(),
      onChange: () => this.changed(),
      onDrop: () => this.restoreState(this.past.pop()),
    });
    this.masks = new MaskBar(this.easel, model, (pictures) => this.askFor(pictures));
    this.makeTools();
    this.invite(
      "Begin with an image",
      "Open one, drop it here, paste it, or take a sample of the model's own.",
    );
    document.addEventListener("keydown", (event) => this.key(event));
    this.restore();
  }

  makeTools() {
    const tools = Object.entries(KEYS).map(([letter, key]) => ({
      key,
      words: key[0].toUpperCase() + key.slice(1),
      symbol: key,
      title: `Key: ${letter.toUpperCase()}`,
    }));
    this.tools = segments("Tool", tools, "brush", (tool) => this.easel.use(tool));
    const size = el("input.size", {
      type: "range",
      title: "Brush size: [ and ]",
      min: 1,
      max: this.model.image_size / 2,
      value: this.easel.size,
      "aria-label": "Brush size",
      oninput: () => (this.easel.size = Number(size.value)),
    });
    this.undo = tool("Undo", "undo", () => this.step(this.past, this.future));
    this.redo = tool("Redo", "redo", () => this.step(this.future, this.past));
    this.toolbar = el(
      "div.tools",
      { role: "toolbar", "aria-label": "Tools" },
      this.tools,
      size,
      el("span.gap"),
      this.undo,
      this.redo,
    );
    this.size = size;
  }

  /** A new picture to work on. */
  take(canvas) {
    this.clear();
    this.future = [];
    this.restoreState({ picture: canvas });
  }

  /** Go on as a picture was drawn. */
  reuse(values, { origin, canvas }) {
    if (canvas) {
      this.take(canvas);
      this.restoreState({ picture: canvas, selection: Selection.from(origin, canvas) });
    }
    this.form.set(values);
    if (origin.task === "vary") this.variations.set(origin);
  }

  /** A version that was chosen takes the picture's place; what is selected stays so. */
  adopt(canvas) {
    this.keep();
    this.restoreState({ ...this.state(), picture: canvas });
  }

  state() {
    return { picture: this.picture, selection: this.easel.selection.copy() };
  }

  keep() {
    this.past = [...this.past, this.state()].slice(-UNDOS);
    this.future = [];
  }

  step(from, to) {
    if (!from.length) return;
    to.push(this.state());
    this.restoreState(from.pop());
  }

  restoreState({ picture, selection }) {
    this.picture = picture;
    if (!this.easel.root.isConnected)
      this.work.replaceChildren(this.toolbar, this.easel.root, this.masks.root);
    this.easel.show(picture, selection);
    this.variations.root.hidden = false;
    this.changed();
  }

  changed() {
    this.undo.disabled = !this.past.length;
    this.redo.disabled = !this.future.length;
    this.runner.go.disabled = this.easel.selection.empty;
    this.masks.settle();
    if (!this.runner.running)
      this.runner.say(this.easel.selection.empty ? "Paint over what should change." : "");
    remember("edit.state", { picture: address(this.picture), mask: this.mask() });
  }

  mask() {
    return maskAddress(this.easel.selection);
  }

  run() {
    this.ask({ name: "Redraw", image: address(this.picture), mask: this.mask() });
  }

  /** Draw the whole picture a little different. */
  vary(how = this.variations.value) {
    this.ask({ name: "Vary", image: address(this.picture), how });
  }

  /** Ask for versions of an image at an address: of what the mask at another selects, or varied in some way. */
  ask(asked) {
    const { name, how } = asked;
    const { seam, ...settings } = this.form.values();
    const [image, mask] = [asked.image, asked.mask].map((data) => data?.split(",")[1]);
    const ratio = this.picture.width / this.picture.height;
    const words = `${name} · seed ${settings.seed} · ${this.form.summary(settings)}`;
    const about = { words, name, ratio, asked };
    if (how) this.runner.ask("vary", { ...settings, ...how, image }, about);
    else this.runner.ask("inpaint", { ...settings, seam, image, mask }, about);
  }

  /** The same mask for other pictures, each in its turn. */
  async askFor(pictures) {
    for (const file of pictures) {
      await attempt(async () => {
        const canvas = await openFile(file, this.model);
        if (canvas.width !== this.picture.width || canvas.height !== this.picture.height)
          throw new Error(`${file.name} has another shape than the mask: it is left out.`);
        this.ask({ name: file.name, image: address(canvas), mask: this.mask() });
      });
    }
  }

  files({ image, mask }) {
    return { "picture.png": image, ...(mask && { "mask.png": mask }) };
  }

  /** After a reload: the picture, what was selected, and the job. */
  async restore() {
    const state = recall("edit.state");
    if (!state) return;
    const [picture, mask] = await Promise.all([fetchPicture(state.picture), fetchPicture(state.mask)]);
    this.restoreState({ picture, selection: Selection.of(mask) });
    this.runner.resume();
  }

  key(event) {
    if (this.root.hidden || !this.picture || document.querySelector("dialog[open]")) return;
    if (event.target.matches("input:not([type=range]), select, textarea")) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
      if (event.shiftKey) this.step(this.future, this.past);
      else this.step(this.past, this.future);
    } else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (KEYS[event.key.toLowerCase()]) this.tools.press(KEYS[event.key.toLowerCase()]);
    else if ("[]".includes(event.key)) {
      this.size.value = Number(this.size.value) + (event.key === "[" ? -2 : 2);
      this.easel.size = Number(this.size.value);
    } else if (!this.masks.key(event.key.toLowerCase()) && !this.easel.zoom.key(event.key)) return;
    event.preventDefault();
  }
}
