// Fields: sliders, menus, numbers, seeds.

import { button, el, select } from "./dom.js";

let count = 0;
const fresh = () => `field-${(count += 1)}`;

export const newSeed = () => crypto.getRandomValues(new Uint32Array(1))[0];

/** A value as people read it: null is all, two numbers are a beginning and an end. */
export const inWords = (value) =>
  [value]
    .flat()
    .map((part) => part ?? "all")
    .join(" to ");

/** A set of fields by name, in a place on the page. */
export class Fields {
  constructor(place) {
    this.place = place;
    this.controls = {}; // what has a value, by name
  }

  /** A slider; of a pair, a second one can be had. */
  range(name, label, { value, hint, place, pair = false, ...bounds }) {
    const id = fresh();
    const first = slider({ id, name, ...bounds });
    const control = pair ? moving(first, slider({ "aria-label": `${label} at the end`, ...bounds })) : first;
    control.value = value;
    const top = el("div.top", el("label", { htmlFor: id }, label), first.output);
    this.add(name, control, { hint, place }, top, first.input, control.more);
  }

  /** One of several, given as [value, words]; `aside` stands beside it. */
  choice(name, label, options, { hint, place, aside } = {}) {
    const id = fresh();
    const menu = el(
      "select",
      { id, name },
      options.map(([value, words]) => el("option", { value }, words)),
    );
    const row = el("div.row", menu, aside);
    this.add(name, menu, { hint, place }, el("label", { htmlFor: id }, label), row);
  }

  /** A number in a box. */
  number(name, label, { hint, place, ...bounds }) {
    const id = fresh();
    const input = box({ id, name, ...bounds });
    this.add(name, numeric(input), { hint, place }, el("label", { htmlFor: id }, label), input);
  }

  /** The seed, new for every run unless it is held. */
  seed() {
    const id = fresh();
    const input = box({
      id,
      name: "seed",
      min: Number.MIN_SAFE_INTEGER,
      max: Number.MAX_SAFE_INTEGER,
      value: newSeed(),
    });
    this.hold = el("input", { type: "checkbox", name: "hold" });
    input.addEventListener("input", () => (this.hold.checked = true));
    const dice = button("New seed", { symbol: "dice", bare: true, onclick: () => (input.value = newSeed()) });
    this.add(
      "seed",
      numeric(input),
      { hint: "The same seed and settings give the same images." },
      el("label", { htmlFor: id }, "Seed"),
      el("div.row", input, dice),
      el("label.check", this.hold, "Keep this seed for the next run"),
    );
  }

  add(name, control, { hint, place = this.place }, ...content) {
    const root = el("div.field", { "data-field": name }, ...content);
    if (hint) {
      const id = fresh();
      select("input, select", root).setAttribute("aria-describedby", id);
      root.append(el("span.hint", { id }, hint));
    }
    this.controls[name] = control;
    place.append(root);
  }

  root(name) {
    return select(`[data-field="${name}"]`, this.place);
  }

  enable(name, on) {
    this.root(name).toggleAttribute("data-off", !on);
    for (const input of this.root(name).querySelectorAll("input, select")) input.disabled = !on;
  }

  set(values) {
    for (const [name, value] of Object.entries(values)) {
      if (this.controls[name]) this.controls[name].value = value;
    }
    if ("seed" in values && this.hold) this.hold.checked = true;
  }

  /** What is set now, where that is enabled; a seed that is not held is drawn anew. */
  values() {
    if (this.hold && !this.hold.checked) this.controls.seed.value = newSeed();
    const enabled = Object.entries(this.controls).filter(([name]) => !this.root(name).matches("[data-off]"));
    return Object.fromEntries(enabled.map(([name, control]) => [name, control.value]));
  }
}

const box = (properties) => el("input", { type: "number", required: true, ...properties });

const numeric = (input) => ({
  get value() {
    return Number(input.value);
  },
  set value(number) {
    input.value = number;
  },
});

/**
 * A slider and what it says. A value between its steps, or beyond its end, stays as it is until it is moved. If it is
 * optional, its last place is null.
 */
function slider({ min, max, step = 1, optional = false, ...properties }) {
  const input = el("input", { type: "range", min, max, step, ...properties });
  const output = el("output", { htmlFor: input.id });
  let [now, end] = [min, max];
  const say = () => {
    output.textContent = inWords(now);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => {
    const number = Number(input.value);
    now = optional && number > end ? null : number;
    say();
  });
  return {
    input,
    output,
    get value() {
      return now;
    },
    set value(value) {
      now = value;
      end = Math.max(max, value ?? max);
      input.max = optional ? end + step : end;
      input.value = value ?? input.max;
      say();
    },
  };
}

/** Two sliders: the second counts, and is shown, while its box is ticked. */
function moving(first, last) {
  const ticked = el("input", { type: "checkbox" });
  const show = (on) => (ticked.checked = !(last.input.hidden = last.output.hidden = !on));
  ticked.addEventListener("input", () => {
    last.value = first.value;
    show(ticked.checked);
  });
  return {
    more: [el("label.check", ticked, "Changes while drawing, to", last.output), last.input],
    get value() {
      return ticked.checked ? [first.value, last.value] : first.value;
    },
    set value(value) {
      [first.value, last.value] = Array.isArray(value) ? value : [value, value];
      show(Array.isArray(value));
    },
  };
}

/** Buttons of which one is pressed. */
export function segments(label, options, value, onChange) {
  const bar = el("div.segments", { role: "group", "aria-label": label });
  const press = (key) => {
    bar.value = key;
    for (const option of bar.children) option.setAttribute("aria-pressed", option.dataset.value === key);
  };
  bar.press = (key) => (press(key), onChange(key));
  for (const { key, words, symbol, title } of options) {
    const onclick = () => bar.press(key);
    bar.append(button(words, { kind: "", symbol, title, "data-value": key, onclick }));
  }
  press(value);
  return bar;
}
