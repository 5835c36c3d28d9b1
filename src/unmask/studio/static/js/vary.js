// Variations: the whole picture, as different as one likes.

import { button, el } from "./dom.js";
import { Fields } from "./fields.js";

/** A slider, and a button that calls `onVary({ strength, unlikely })`. */
export class Variations {
  constructor(onVary) {
    this.root = el("div.vary", { role: "group", "aria-label": "Variations", hidden: true });
    const fields = new Fields(this.root);
    fields.range("strength", "How different", {
      min: 0.05,
      max: 1,
      step: 0.05,
      value: 0.3,
      hint: "Share of the codes to redraw.",
    });
    this.fields = fields;
    this.unlikely = el("input", { type: "checkbox", name: "unlikely" });
    this.root.append(
      el("label.check", this.unlikely, "Only the codes that the model finds unlikely"),
      button("Vary the whole image", {
        kind: "plain large",
        symbol: "vary",
        onclick: () => onVary(this.value),
      }),
    );
  }

  get value() {
    return { strength: this.fields.values().strength, unlikely: this.unlikely.checked };
  }

  set({ strength = 0.3, unlikely = false }) {
    this.fields.set({ strength });
    this.unlikely.checked = unlikely;
  }
}
