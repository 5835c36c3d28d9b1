// What can be done to a whole mask: turned round, grown, filled, opened, saved, seen in another colour.

import { attempt, el, quiet } from "./dom.js";
import { enclosed, grown, inverted, shrunk } from "./geometry.js";
import { address, blank, chooser, openFile } from "./pictures.js";
import { MASK, Selection, tint } from "./selection.js";
import { prefer, preferred } from "./store.js";

const LOOK = { colour: "#5646d6", opacity: 0.6 };

export class MaskBar {
  /** `onPictures(files)` gets other pictures that the mask is for. */
  constructor(easel, model, onPictures) {
    Object.assign(this, { easel, model });
    const by = Math.max(1, Math.round(model.factor / 4));
    const action = (key, words, symbol, change) => {
      const title = `${words}: ${key.toUpperCase()}`;
      return [key, quiet(words, symbol, () => this.change(change), { title })];
    };
    this.actions = Object.fromEntries([
      action("i", "Invert", "invert", inverted),
      action("g", "Grow", "grow", (pixels, width) => grown(pixels, width, by)),
      action("s", "Shrink", "shrink", (pixels, width) => shrunk(pixels, width, by)),
      action("f", "Fill outline", "fill", enclosed),
      action("x", "Clear", "clear", (pixels) => pixels.map(() => 0)),
    ]);
    const file = chooser("Mask file", ([chosen]) => attempt(() => this.open(chosen)));
    const others = chooser("Images for this mask", onPictures, { multiple: true });
    this.others = quiet("Use for images …", "pictures", others.open, {
      title: "Redraw what is selected in several images, one after another",
    });
    this.save = quiet("Save mask", "save", () => this.download(), { title: "Save mask" });
    this.root = el(
      "div.tools.masks",
      { role: "toolbar", "aria-label": "Mask" },
      Object.values(this.actions),
      quiet("Open mask", "open", file.open, { title: "Open mask" }),
      this.save,
      this.others,
      file.input,
      others.input,
      el("span.gap"),
      this.look(),
    );
  }

  /** How the mask is shown, which stays so. */
  look() {
    const { colour, opacity } = { ...LOOK, ...preferred("mask") };
    const shade = el("input", {
      type: "color",
      value: colour,
      "aria-label": "Mask colour",
      title: "Mask colour",
    });
    const strength = el("input", { type: "range", min: 0.1, max: 1, step: 0.05, value: opacity });
    strength.setAttribute("aria-label", (strength.title = "Mask opacity"));
    const apply = () => {
      this.easel.tint = tint(shade.value);
      this.easel.paper.style.setProperty("--mask-opacity", strength.value);
      if (this.easel.selection) this.easel.paint();
    };
    const look = el("span.look", shade, strength);
    look.addEventListener("input", () => {
      apply();
      prefer("mask", { colour: shade.value, opacity: Number(strength.value) });
    });
    apply();
    return look;
  }

  /** Do what a key stands for; whether it stands for anything. */
  key(name) {
    this.actions[name]?.click();
    return name in this.actions;
  }

  change(action) {
    this.easel.change((selection) => (selection.pixels = action(selection.pixels, selection.width)));
  }

  settle() {
    const { empty } = this.easel.selection;
    for (const name of ["g", "s", "f", "x"]) this.actions[name].disabled = empty;
    this.save.disabled = this.others.disabled = empty;
  }

  /** Take a mask from a file: white is selected. It is brought to the model's size as its picture was. */
  async open(file) {
    const mask = Selection.of(await openFile(file, this.model, "black"));
    const { width, height } = this.easel.selection;
    if (mask.width !== width || mask.height !== height)
      throw new Error(
        `At the model's size the mask has ${mask.width}×${mask.height} pixels, but the image has ${width}×${height}.`,
      );
    this.change(() => mask.pixels);
  }

  download() {
    el("a", { href: maskAddress(this.easel.selection), download: "mask.png" }).click();
  }
}

/** A selection as a picture that commands take, too. */
export const maskAddress = (selection) =>
  address(selection.draw(blank(selection.width, selection.height), MASK));
