// Several ways that a picture could go on, of which one is taken.

import { attempt, el, quiet } from "./dom.js";
import { fetchPicture, fill, save } from "./pictures.js";
import { showRecipe } from "./recipe.js";

const EARLIER = 96; // versions of before that stay on the page

export class Versions {
  /** `onTake(canvas)` gets what was chosen; `files()` are the pictures that the recipe takes, by name. */
  constructor(place, { onTake, onAgain, files }) {
    Object.assign(this, { place, onTake, tiles: [], chosen: null });
    const again = quiet("Again", "reuse", onAgain, { title: "The same once more, with another seed" });
    const code = quiet("As code", "code", () => showRecipe(this.job.recipe, files()));
    this.save = quiet("Save", "save", () => attempt(() => this.saveChosen()));
    this.all = quiet("Save all", "save", () => attempt(() => this.saveAll()));
    this.tools = el("div", { hidden: true }, again, this.save, code);
    this.title = el("h2", "Versions");
    this.grid = el("div.grid");
    this.earlier = el("div.grid.earlier");
    place.append(this.title, this.grid, this.tools, this.earlier, el("div", this.all));
    this.clear();
  }

  clear() {
    this.earlier.replaceChildren();
    this.empty();
    this.settle();
  }

  /** Take away what is being drawn; what was drawn before stays. */
  empty() {
    this.grid.replaceChildren();
    this.tiles = [];
  }

  settle() {
    this.place.hidden = !this.tiles.length && !this.earlier.children.length;
    this.place.parentElement.classList.toggle("alone", this.place.hidden);
    this.all.hidden = !this.earlier.children.length;
  }

  /** Places for what is being drawn; `about` has the ratio of its edges and a name for files. */
  begin(job, { ratio, name }) {
    const again = this.job?.id === job.id;
    if (!again) this.putAside();
    this.empty();
    Object.assign(this, { job, name });
    this.tools.hidden = true;
    this.grid.style.setProperty("--ratio", ratio);
    const count = job.settings.count ?? 1;
    this.grid.classList.toggle("broad", ratio > 1.4 || count === 1);
    this.title.textContent = count > 1 ? "Choose a version" : "The result: take it to go on from there";
    this.tiles = [...Array(count).keys()].map((number) => this.tile(`${number + 1}`, el("div.blank")));
    this.grid.append(...this.tiles);
    this.settle();
  }

  /** What was drawn stands below what comes now. */
  putAside() {
    const drawn = this.tiles.filter((tile) => !tile.disabled);
    this.earlier.prepend(...drawn);
    for (const old of [...this.earlier.children].slice(EARLIER)) old.remove();
    [...this.earlier.children].forEach((tile, i) =>
      tile.setAttribute("aria-label", `Earlier ${i + 1}: ${tile.title}`),
    );
  }

  tile(name, content) {
    const tile = el(
      "button.tile",
      {
        type: "button",
        disabled: true,
        "aria-pressed": "false",
        "aria-label": `Version ${name}`,
      },
      content,
      el("span.name", name),
    );
    tile.addEventListener("click", () => attempt(() => this.choose(tile)));
    return tile;
  }

  preview(addresses) {
    addresses.forEach((address, number) => address && fill(this.tiles[number], address));
  }

  end(job) {
    this.job = job;
    if (job.state !== "done") {
      this.empty();
      this.settle();
      return;
    }
    job.pictures.forEach((address, number) => {
      fill(this.tiles[number], address);
      this.tiles[number].disabled = false;
      this.tiles[number].title = `${this.name}, seed ${job.settings.seed}, ${number + 1}`;
    });
    this.tools.hidden = false;
    this.chosen = job.pictures.length === 1 ? job.pictures[0] : null;
    this.save.disabled = !this.chosen;
  }

  async choose(tile) {
    const address = tile.querySelector("img").src;
    const picture = await fetchPicture(address);
    for (const other of [...this.grid.children, ...this.earlier.children])
      other.setAttribute("aria-pressed", other === tile);
    this.chosen = address;
    this.save.disabled = false;
    this.onTake(picture);
  }

  /** Save all that is here, each under its own name. */
  async saveAll() {
    for (const tile of [...this.tiles, ...this.earlier.children])
      if (!tile.disabled)
        await save(tile.querySelector("img").src, `${tile.title.replace(/\.\w+,|,/g, "")}.png`);
  }

  saveChosen() {
    return save(this.chosen, `unmask-${this.job.kind}-${this.job.settings.seed}.png`);
  }
}
