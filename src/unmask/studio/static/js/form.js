// The settings of sampling, as the server describes them: no setting, label, range or choice is written here.

import { button, el } from "./dom.js";
import { Fields, inWords } from "./fields.js";

const capital = (word) => word[0].toUpperCase() + word.slice(1);

/** Fields, among them the settings of what a model is used for: "sample", "canvas" or "edit". */
export class Form extends Fields {
  constructor(place, model) {
    super(place);
    this.described = model.settings;
    this.sets = model.sampling; // settings by name and use
  }

  /** A menu of the sets that have a name, and a field for every setting; advanced ones are folded. */
  settings(use) {
    const names = Object.keys(this.sets).map((name) => [name, capital(name)]);
    const back = button("Back to these settings", {
      symbol: "undo",
      bare: true,
      onclick: () => this.begin(),
    });
    this.choice("settings", "Settings", names, { aside: back, hint: "Where the fields below start." });
    this.controls.settings.addEventListener("input", () => this.begin());
    const folded = el("div.fields");
    for (const setting of this.described) this.setting(setting, setting.advanced ? folded : this.place);
    this.place.append(el("details", el("summary", "More settings"), folded));
    this.place.addEventListener("input", () => this.settle());
    this.turn(use);
  }

  /** How far what an edit draws fades into the picture; unless it is moved, over half a code. */
  seam({ factor, limits }) {
    this.range("seam", "Seam", {
      min: 0,
      max: Math.min(4 * factor, limits.seam_px),
      value: Math.floor(factor / 2),
      hint: "Pixels over which new fades into old. 0 is a hard edge.",
    });
  }

  setting({ name, label, help: hint, choices, maximum, usual, ...rest }, place) {
    const { minimum: min, step, default: value, optional, pair } = rest;
    if (choices) {
      const options = Object.entries(choices).map(([key, words]) => [key, `${capital(key)}: ${words}`]);
      this.choice(name, label, options, { hint, place });
    } else this.range(name, label, { min, max: usual ?? maximum, step, value, optional, pair, hint, place });
  }

  /** Show the settings of another use, as the chosen set has them. */
  turn(use) {
    if (use === this.use) return;
    this.use = use;
    this.begin();
  }

  /** Begin with the chosen set. */
  begin() {
    this.set(this.begun(this.controls.settings.value));
  }

  begun(set) {
    const defaults = this.described.map(({ name, default: value }) => [name, value]);
    return { ...Object.fromEntries(defaults), ...this.sets[set]?.[this.use] }; // another model's set is not known here
  }

  set(values) {
    super.set(values);
    this.settle();
  }

  /** Offer what has a meaning: for this use, and with what else is set. */
  settle() {
    for (const setting of this.described) {
      const used = setting.uses.includes(this.use);
      this.root(setting.name).hidden = !used;
      this.enable(setting.name, used && !this.idle(setting));
    }
  }

  /** Whether another setting leaves it no choice but its default. */
  idle({ unless }) {
    return unless && this.controls[unless[0]].value === unless[1];
  }

  values() {
    const idle = this.described.filter((setting) => this.idle(setting));
    return {
      ...super.values(),
      ...Object.fromEntries(idle.map(({ name, default: value }) => [name, value])),
    };
  }

  /** What a job was drawn with: the set, and what was changed. */
  summary(settings) {
    const begun = this.begun(settings.settings);
    const changed = this.described.filter(
      ({ name }) => name in settings && inWords(settings[name]) !== inWords(begun[name]),
    );
    const words = changed.map(({ name, label }) => `${label.toLowerCase()} ${inWords(settings[name])}`);
    return [settings.settings, ...words].join(" · ");
  }
}
