// Settings: sliders, choices, seeds.

import { button, el } from "./dom.js";

let count = 0;
const fresh = () => `field-${(count += 1)}`;

export const TEMPERATURE = 0.8; // small models draw better below 1,
export const CORRECTED = { temperature: 0.9, remask: 1 }; // less so where codes are taken back and drawn again
export const SEEDS = 2 ** 32;
export const newSeed = () => crypto.getRandomValues(new Uint32Array(1))[0];

/** A set of fields by name, in a place on the page. */
export class Fields {
  constructor(place) {
    this.place = place;
    this.inputs = {};
  }

  /** A slider. `words(value)` is what is said of it. */
  range(name, label, { min, max, step = 1, value, hint, words = String, place = this.place }) {
    const id = fresh();
    const input = el("input", {
      type: "range",
      id,
      name,
      min,
      max,
      step,
      value,
      "aria-describedby": hint && `${id}-hint`,
    });
    const output = el("output", { htmlFor: id });
    const say = () => {
      output.textContent = words(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", say);
    input.say = say;
    say();
    this.add(
      name,
      input,
      place,
      el("div", { className: "top" }, el("label", { htmlFor: id }, label), output),
      input,
      hint && el("span", { className: "hint", id: `${id}-hint` }, hint),
    );
  }

  /** How bold draws are. */
  temperature(hint, value = TEMPERATURE) {
    this.range("temperature", "Temperature", {
      min: 0,
      max: 1.5,
      step: 0.05,
      value,
      words: (value) => value.toFixed(2),
      hint,
    });
  }

  /** How often codes are taken back and drawn again. */
  remasking() {
    this.range("remask", "Remasking", {
      min: 0,
      max: 1,
      step: 0.05,
      value: CORRECTED.remask,
      words: (value) => value.toFixed(2),
      hint: "Takes codes back and draws them again, so that mistakes are corrected.",
    });
  }

  /** One of several, given as [value, words]. */
  choice(name, label, options, { value, place = this.place } = {}) {
    const id = fresh();
    const input = el(
      "select",
      { id, name },
      options.map(([key, words]) => el("option", { value: key }, words)),
    );
    input.value = value ?? options[0][0];
    this.add(name, input, place, el("label", { htmlFor: id }, label), input);
  }

  /** A number in a box. */
  number(name, label, { min, max, step = 1, value, place = this.place }) {
    const id = fresh();
    const input = el("input", { type: "number", id, name, min, max, step, value, required: true });
    this.add(name, input, place, el("label", { htmlFor: id }, label), input);
  }

  /** The seed, new for every run unless it is held. */
  seed() {
    const id = fresh();
    const input = el("input", {
      type: "number",
      id,
      name: "seed",
      min: 0,
      max: SEEDS - 1,
      value: newSeed(),
      required: true,
    });
    this.hold = el("input", { type: "checkbox", name: "hold" });
    input.addEventListener("input", () => (this.hold.checked = true));
    const dice = button("New seed", { symbol: "dice", bare: true, onclick: () => (input.value = newSeed()) });
    this.add(
      "seed",
      input,
      this.place,
      el("label", { htmlFor: id }, "Seed"),
      el("div", { className: "seed" }, input, dice),
      el("label", { className: "check" }, this.hold, "Keep this seed for the next run"),
    );
  }

  pair() {
    return this.place.appendChild(el("div", { className: "pair" }));
  }

  add(name, input, place, ...content) {
    this.inputs[name] = input;
    place.append(el("div", { className: "field", "data-field": name }, ...content));
  }

  enable(name, on) {
    this.inputs[name].disabled = !on;
    this.inputs[name].closest(".field").toggleAttribute("data-off", !on);
  }

  on(name, listener) {
    this.inputs[name].addEventListener("input", listener);
  }

  set(values) {
    for (const [name, value] of Object.entries(values)) {
      const input = this.inputs[name];
      if (!input || value === null) continue;
      input.value = value;
      input.say?.();
    }
    if ("seed" in values && this.hold) this.hold.checked = true;
  }

  /** What is set now; a seed that is not held is drawn anew. */
  values() {
    if (this.inputs.seed && !this.hold.checked) this.inputs.seed.value = newSeed();
    const enabled = Object.entries(this.inputs).filter(([, input]) => !input.disabled);
    return Object.fromEntries(
      enabled.map(([name, input]) => [name, input.tagName === "SELECT" ? input.value : Number(input.value)]),
    );
  }
}

/** Buttons of which one is pressed. */
export function segments(label, options, value, onChange) {
  const bar = el("div", { className: "segments", role: "group", "aria-label": label });
  const press = (key) => {
    bar.value = key;
    for (const option of bar.children) option.setAttribute("aria-pressed", option.dataset.value === key);
  };
  for (const { key, words, symbol, title } of options) {
    bar.append(
      button(words, {
        kind: "",
        symbol,
        title,
        "data-value": key,
        onclick: () => (press(key), onChange(key)),
      }),
    );
  }
  bar.press = (key) => (press(key), onChange(key));
  press(value);
  return bar;
}
