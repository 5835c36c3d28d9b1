// Create: new pictures, which appear code by code.

import { find } from "./api.js";
import { el, invitation, notice, quiet, select } from "./dom.js";
import { Form } from "./form.js";
import { fill } from "./pictures.js";
import { showRecipe } from "./recipe.js";
import { Runner } from "./runner.js";
import { recall, remember } from "./store.js";
import { view } from "./viewer.js";
import { addWords } from "./words.js";

const KEPT = 6; // batches that stay on the page

export class Create {
  /** `places` maps the names of views to what they do with a picture. */
  constructor(model, places) {
    this.model = model;
    this.places = places;
    this.root = select("#create");
    this.stage = select(".stage", this.root);
    this.batches = [];
    this.form = new Form(select(".fields", this.root), model);
    addWords(this.form, model, { empty: "Empty: any image like those of the training." });
    this.form.range("count", "Images", { min: 1, max: model.limits.count, value: 8 });
    this.form.settings("sample");
    this.form.seed();
    const place = select("details > .fields", this.form.place);
    this.form.number("first", "Begin at image number", {
      min: 0,
      max: 2 ** 31,
      value: 0,
      place,
      hint: "A seed has images 0, 1, 2 and so on: 8 goes on after the first eight.",
    });
    this.runner = new Runner(select(".run", this.root), {
      key: "create.job",
      label: "Create images",
      onRun: () => this.run(),
      onStart: (job) => this.begin(job),
      onPreview: (addresses) => this.batch.preview(addresses),
      onEnd: (job) => this.end(job),
    });
    this.stage.append(this.empty());
    this.restore();
  }

  run() {
    const asked = this.form.values();
    const words = `${asked.count} × seed ${asked.seed} · ${this.form.summary(asked)}`;
    this.runner.ask("sample", asked, { words });
  }

  begin(job) {
    const there = this.batches.find((batch) => batch.job.id === job.id);
    this.batch = there ?? new Batch(job, this);
    if (!there) this.add(this.batch);
  }

  end(job) {
    this.batch.end(job);
    if (job.state !== "done") this.remove(this.batch);
    if (job.unkept) notice(job.unkept, { lasting: true });
    remember(
      "create.batches",
      this.batches.map((batch) => batch.job.id),
    );
  }

  add(batch) {
    select(".empty", this.stage)?.remove();
    this.stage.prepend(batch.root);
    this.batches.unshift(batch);
    for (const old of this.batches.splice(KEPT)) old.root.remove();
  }

  remove(batch) {
    batch.root.remove();
    this.batches = this.batches.filter((other) => other !== batch);
    if (!this.batches.length) this.stage.replaceChildren(this.empty());
  }

  /** After a reload: batches that the server still has, and the job that was under way. */
  async restore() {
    const jobs = await Promise.all((recall("create.batches") ?? []).map((id) => find(id).catch(() => null)));
    for (const job of jobs.reverse()) {
      if (job?.state !== "done") continue;
      const batch = new Batch(job, this);
      this.add(batch);
      batch.end(job);
    }
    this.runner.resume();
  }

  reuse(settings) {
    location.hash = "/create";
    this.form.set(settings);
  }

  empty() {
    const tints = ["#f2b84b", "#e8694f", "#5646d6", "#3f9ec9", "#4aa96c", "#d65f9c"];
    const squares = [...Array(36).keys()].map((i) =>
      el("i", { "--i": (i * 17) % 23, "--tint": tints[(i * 7) % 6] }),
    );
    return invitation(
      "Nothing drawn yet",
      `The model begins with a grid of ${this.model.grid.join("×")} masked codes and reveals them a few at a time. Press the button and watch.`,
      el("div.mosaic", { "aria-hidden": "true" }, squares),
    );
  }
}

/** The pictures of one job. */
class Batch {
  constructor(job, owner) {
    this.job = job;
    this.owner = owner;
    const { count } = job.settings;
    this.tiles = [...Array(count).keys()].map((number) =>
      el(
        "button.tile",
        {
          type: "button",
          disabled: true,
          "aria-label": `Image ${number + 1}`,
          onclick: () => this.open(number),
        },
        el("div.blank"),
      ),
    );
    const columns = count < 6 ? count : count < 11 ? Math.ceil(count / 2) : 6;
    this.tools = el(
      "div",
      { hidden: true },
      quiet("Reuse settings", "reuse", () => owner.reuse(this.job.settings)),
      quiet("As code", "code", () => showRecipe(this.job.recipe)),
    );
    this.root = el(
      "article.batch",
      { "data-job": job.id },
      el(
        "header",
        el("h2", title(job.settings), el("span.hint", owner.form.summary(job.settings))),
        this.tools,
      ),
      el("div.grid", { "--columns": columns, "--narrow": Math.min(columns, 2) }, this.tiles),
    );
  }

  preview(addresses) {
    addresses.forEach((address, i) => address && fill(this.tiles[i], address, "still being drawn"));
  }

  end(job) {
    this.job = job;
    job.pictures.forEach((address, number) => {
      fill(this.tiles[number], address);
      this.tiles[number].disabled = false;
    });
    this.tools.hidden = false;
  }

  open(number) {
    const { pictures, settings, recipe } = this.job;
    const items = pictures.map((address, n) => ({ ...settings, address, number: settings.first + n }));
    view(items, number, {
      places: this.owner.places,
      actions: [
        {
          words: () => "Reuse settings",
          symbol: "reuse",
          closes: true,
          act: () => this.owner.reuse(settings),
        },
        { words: () => "As code", symbol: "code", act: () => showRecipe(recipe) },
      ],
    });
  }
}

/** What a batch is called: by its prompt, if it had one, and by its seed. */
const title = ({ prompt, seed }) => (prompt ? `“${prompt}”, seed ${seed}` : `Seed ${seed}`);
