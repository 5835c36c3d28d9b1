// Training: how a run comes along, and how it came to be what it is.

import { training, trainingPicture } from "./api.js";
import { Chart } from "./charts.js";
import { el, invitation, select } from "./dom.js";
import { Fields } from "./fields.js";
import { recall, remember } from "./store.js";

const PAUSE_MS = 3000;

export class Training {
  constructor(names) {
    this.root = select("#training");
    this.stage = select(".stage", this.root);
    this.form = new Fields(select(".fields", this.root));
    this.form.choice(
      "run",
      "Run",
      names.map((name) => [name, name]),
    );
    this.menu = this.form.controls.run;
    if (names.includes(recall("training"))) this.menu.value = recall("training");
    this.menu.addEventListener("input", () => this.turn());
    this.words = el("p.status", { role: "status" });
    this.bar = el("progress", { max: 1, "aria-label": "Steps done" });
    select(".run", this.root).append(this.bar, this.words);
    this.makeTime();
    this.turn();
    setInterval(() => this.visible && this.look(), PAUSE_MS);
    addEventListener("hashchange", () => this.visible && this.look());
  }

  get visible() {
    return !this.root.hidden && !document.hidden;
  }

  makeTime() {
    this.slider = el("input", { type: "range", min: 0, "aria-label": "Step", oninput: () => this.travel() });
    this.when = el("output.number");
    this.pictures = el("div.pictures");
    this.time = el(
      "section.time",
      { "aria-label": "Images by step" },
      el("div.top", el("h2", "Images by step"), this.when),
      this.pictures,
      this.slider,
    );
    this.charts = el("div.charts");
  }

  /** Another run, seen from its latest step. */
  turn() {
    remember("training", this.menu.value);
    this.steps = [];
    this.shown = {};
    this.at = null; // the step that is looked at; null: the latest
    this.slider.max = this.slider.value = 0;
    this.charts.replaceChildren();
    this.stage.replaceChildren();
    this.look();
  }

  async look() {
    const name = this.menu.value;
    const run = await training(name).catch((error) => ({ error: error.message }));
    if (name !== this.menu.value) return;
    if (run.error) this.words.textContent = run.error;
    else this.show(run);
  }

  show(run) {
    this.run = run;
    const { step, steps, idle_seconds: idle } = run;
    this.bar.hidden = !steps;
    this.bar.value = steps ? step / steps : 0;
    const of = steps ? ` of ${steps.toLocaleString("en")}` : "";
    this.words.textContent = `Step ${step.toLocaleString("en")}${of}. ${ago(idle)}`;
    if (!step) {
      this.stage.replaceChildren(
        invitation("Nothing yet", "The first curves appear with the first lines of its log."),
      );
      return;
    }
    this.follow(Object.values(run.pictures).flat());
    for (const [metric, curves] of Object.entries(run.curves)) this.chart(metric).show(curves, step);
    this.point(null);
    this.stage.replaceChildren(...[this.steps.length && this.time, this.charts].filter(Boolean));
  }

  chart(metric) {
    if (!this.shown[metric]) {
      this.shown[metric] = new Chart(metric, (step) => this.point(step));
      this.charts.append(this.shown[metric].root);
    }
    return this.shown[metric];
  }

  /** Have all charts say what they were at a step; without one, at that of the slider. */
  point(step) {
    for (const chart of Object.values(this.shown)) chart.point(step ?? this.at);
  }

  /** Take in new pictures; who was at the latest stays there. */
  follow(found) {
    const newest = Number(this.slider.value) >= this.steps.length - 1;
    this.steps = [...new Set(found)].sort((one, other) => one - other);
    this.slider.max = Math.max(this.steps.length - 1, 0);
    if (newest) this.slider.value = this.slider.max;
    if (this.steps.length) this.draw();
  }

  travel() {
    this.draw();
    const { value } = this.slider;
    this.at = Number(value) < this.steps.length - 1 ? this.steps[value] : null;
    this.point(null);
  }

  draw() {
    const step = this.steps[this.slider.value];
    this.when.textContent = `Step ${step.toLocaleString("en")}`;
    this.slider.setAttribute("aria-valuetext", this.when.textContent);
    const there = Object.entries(this.run.pictures).filter(([, steps]) => steps.some((each) => each <= step));
    there.forEach(([of, steps], i) => {
      const image = this.pictures.children[i] ?? this.pictures.appendChild(el("img"));
      image.alt = `${of} at step ${step}`;
      const address = trainingPicture(
        this.run.name,
        of,
        steps.findLast((each) => each <= step),
      );
      if (image.getAttribute("src") !== address) image.src = address;
    });
    for (const image of [...this.pictures.children].slice(there.length)) image.remove();
  }
}

/** When it was last heard of. */
function ago(seconds) {
  if (seconds === null) return "";
  if (seconds < 90) return `Last update ${Math.round(seconds)} s ago.`;
  const minutes = Math.round(seconds / 60);
  return `Last update ${minutes < 90 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`} ago.`;
}
