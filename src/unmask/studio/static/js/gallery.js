// Gallery: every result, found again.

import { galleryPage, removeKept, starKept } from "./api.js";
import { compare } from "./compare.js";
import { attempt, button, el, icon, invitation, select } from "./dom.js";
import { restore } from "./origin.js";
import { view } from "./viewer.js";

const PAUSE_MS = 250; // after the last letter of a search

/** A picture in few words. */
const title = ({ origin }) =>
  origin
    ? [origin.prompt && `“${origin.prompt}”`, origin.task, `seed ${origin.seed}`].filter(Boolean).join(", ")
    : "unknown";

export class Gallery {
  /** `places` take a picture elsewhere; `views` take its settings. */
  constructor(places, views, model) {
    Object.assign(this, { places, views, model, kept: [], chosen: [], asked: 0 });
    this.root = select("#gallery");
    this.makeFields();
    this.grid = el("div.grid");
    this.more = button("Show more", { hidden: true, onclick: () => attempt(() => this.load(true)) });
    this.stage = select(".stage", this.root);
    this.stage.append(this.grid, this.more);
    const look = () => this.root.hidden || attempt(() => this.load());
    window.addEventListener("hashchange", () => setTimeout(look));
    look();
  }

  makeFields() {
    this.words = el("input", { type: "search", id: "gallery-words", placeholder: "a word, a seed, a task" });
    this.starred = el("input", { type: "checkbox" });
    let timer;
    this.words.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => attempt(() => this.load()), PAUSE_MS);
    });
    this.starred.addEventListener("input", () => attempt(() => this.load()));
    this.both = button("Compare two", {
      symbol: "compare",
      disabled: true,
      onclick: () => compare(...this.pair()),
    });
    this.line = el("p.hint", { role: "status" });
    select(".fields", this.root).append(
      el("div.field", el("label", { htmlFor: "gallery-words" }, "Search"), this.words),
      el("label.check", this.starred, "Starred only"),
      this.both,
      this.line,
    );
  }

  /** The newest pictures that are searched for, or older ones after those. */
  async load(older = false) {
    const number = (this.asked += 1);
    const page = await galleryPage({
      words: this.words.value,
      starred: this.starred.checked,
      before: older ? this.kept.at(-1).id : null,
    });
    if (number !== this.asked) return; // something else is searched for by now
    if (!older) {
      this.kept = [];
      this.chosen = [];
      this.grid.replaceChildren();
    }
    this.kept.push(...page.pictures);
    this.grid.append(...page.pictures.map((kept) => this.tile(kept)));
    this.more.hidden = !page.more;
    this.total = page.total;
    this.settle();
  }

  settle() {
    const { length } = this.kept;
    const tick = length > 1 && this.chosen.length < 2 ? " Tick two to compare them." : "";
    this.line.textContent = `${length} of ${this.total} images.${tick}`;
    this.both.disabled = this.chosen.length !== 2;
    select(".empty", this.stage)?.remove();
    if (length) return;
    const words = this.total
      ? "No image matches. Search for fewer words, or not for stars only."
      : "Whatever you draw from now on appears here.";
    this.stage.prepend(invitation(this.total ? "Nothing found" : "Nothing kept yet", words));
  }

  tile(kept) {
    const box = el("input", {
      type: "checkbox",
      "aria-label": `Compare: ${title(kept)}`,
      onchange: () => this.choose(kept, box),
    });
    const open = el(
      "button.tile",
      { type: "button", "aria-label": title(kept), onclick: () => this.open(kept) },
      el("img", { src: kept.address, alt: "", loading: "lazy" }),
    );
    kept.root = el("div.kept", { title: title(kept) }, open, box, icon("star"));
    kept.root.toggleAttribute("data-starred", kept.starred);
    return kept.root;
  }

  /** Two can be compared; a third takes the place of the first. */
  choose(kept, box) {
    this.chosen = this.chosen.filter((other) => other !== kept);
    if (box.checked) this.chosen.push(kept);
    for (const old of this.chosen.splice(0, this.chosen.length - 2))
      select("input", old.root).checked = false;
    this.settle();
  }

  pair() {
    return this.chosen.map((kept) => ({ address: kept.address, title: title(kept) }));
  }

  open(kept) {
    view(
      this.kept.map((one) => ({ ...one.origin, address: one.address, title: title(one), kept: one })),
      this.kept.indexOf(kept),
      { places: this.places, actions: this.actions() },
    );
  }

  actions() {
    return [
      {
        words: ({ kept }) => (kept.starred ? "Remove star" : "Star"),
        symbol: "star",
        act: async ({ kept }) => {
          kept.starred = (await starKept(kept, !kept.starred)).starred;
          kept.root.toggleAttribute("data-starred", kept.starred);
        },
      },
      {
        words: () => "Reuse settings",
        symbol: "reuse",
        closes: true,
        off: ({ kept }) => !kept.origin,
        act: ({ kept }) => restore(kept.origin, this.views, this.model, kept.address),
      },
      {
        words: ({ sure }) => (sure ? "Delete for good?" : "Delete"),
        symbol: "clear",
        act: async (item, dialog) => {
          if (!item.sure) return (item.sure = true);
          await removeKept(item.kept);
          dialog.close();
          this.forget(item.kept);
        },
      },
    ];
  }

  forget(kept) {
    kept.root.remove();
    this.kept = this.kept.filter((one) => one !== kept);
    this.chosen = this.chosen.filter((one) => one !== kept);
    this.total -= 1;
    this.settle();
  }
}
