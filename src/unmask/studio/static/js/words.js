// Words: a box for a prompt that completes what the model knows and marks what it does not.

import { button, el } from "./dom.js";

const WORD = /[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*/gu;
const OFFERED = 8;
const NEAR = 3;
const plain = (word) => word.normalize("NFKC").toLowerCase();

/** The fields for words, of a model that knows some; of others there are none. */
export function addWords(form, model, { empty = "Empty: no prompt." } = {}) {
  if (!model.words.length) return;
  const prompt = new WordBox(model, "Prompt");
  const negative = new WordBox(model, "Negative prompt", { tag: "negative" });
  form.add("prompt", prompt, { hint: empty }, ...prompt.content);
  form.add(
    "negative",
    negative,
    { hint: "What to steer away from. It takes guidance above 1." },
    ...negative.content,
  );
}

let boxes = 0;

class WordBox {
  several = false; // texts, apart by |

  constructor({ words, caption_length: room }, label, { tag = "prompt" } = {}) {
    Object.assign(this, { words, room, known: new Set(words), offers: [], active: -1, tag });
    const id = `words-${(boxes += 1)}`;
    this.input = el("input", {
      id,
      type: "text",
      name: tag,
      role: "combobox",
      autocomplete: "off",
      spellcheck: false,
      maxLength: 1000,
      autocapitalize: "off",
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": `${id}-list`,
      oninput: () => this.offer(),
      onkeydown: (event) => this.key(event),
      onblur: () => (this.close(), this.mark()),
    });
    this.list = el("ul", {
      id: `${id}-list`,
      role: "listbox",
      "aria-label": `Words for: ${label}`,
      hidden: true,
    });
    this.unknown = el("div.unknown", { role: "status" });
    const combo = el("div.combo", this.input, this.list);
    this.content = [el("label", { htmlFor: id }, label), combo, this.unknown];
  }

  /** What is asked for; nothing is null for a prompt. */
  get value() {
    const [text, ...others] = this.texts;
    if (others.length) return [text, ...others];
    return text || (this.tag === "prompt" ? null : "");
  }

  set value(text) {
    this.input.value = [text ?? ""].flat().join(" | ");
    this.close();
    this.mark();
  }

  /** What is said, or the one after the other. */
  get texts() {
    return (this.several ? this.input.value.split("|") : [this.input.value]).map((text) => text.trim());
  }

  /** The words of the text: where each is, and how the model would read it. */
  get tokens() {
    return [...this.input.value.matchAll(WORD)].map(({ 0: text, index }) => ({
      text,
      word: plain(text),
      from: index,
      to: index + text.length,
    }));
  }

  /** The word that the caret is at the end of. */
  get typed() {
    return this.tokens.find(({ to }) => to === this.input.selectionStart);
  }

  offer() {
    const { typed } = this;
    const longer = typed
      ? this.words.filter((word) => word.startsWith(typed.word) && word !== typed.word)
      : [];
    this.offers = longer.sort((a, b) => a.length - b.length || a.localeCompare(b)).slice(0, OFFERED);
    this.active = -1;
    this.show();
    this.mark(this.offers.length ? typed : null);
  }

  show() {
    const { id } = this.list;
    const open = this.offers.length > 0;
    this.list.replaceChildren(
      ...this.offers.map((word, number) =>
        el(
          "li",
          {
            id: `${id}-${number}`,
            role: "option",
            "aria-selected": String(number === this.active),
            onpointerdown: (event) => (event.preventDefault(), this.take(word)), // the focus stays where it is
          },
          word,
        ),
      ),
    );
    this.list.hidden = !open;
    this.input.setAttribute("aria-expanded", open);
    if (this.active >= 0) this.input.setAttribute("aria-activedescendant", `${id}-${this.active}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  close() {
    this.offers = [];
    this.active = -1;
    this.show();
  }

  key(event) {
    const { length } = this.offers;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!length) return;
    if (step) this.active = (this.active + step + length + (this.active < 0 && step < 0)) % length;
    else if (event.key === "Escape") return (event.preventDefault(), this.close());
    else if ((event.key === "Enter" || event.key === "Tab") && this.active >= 0)
      return (event.preventDefault(), this.take(this.offers[this.active]));
    else return;
    event.preventDefault();
    this.show();
  }

  /** Put a word where the one was that is typed, or at `place`. */
  take(word, place = this.typed) {
    const { value } = this.input;
    const rest = value.slice(place.to).replace(/^ /, "");
    const before = `${value.slice(0, place.from)}${word} `;
    this.input.value = before + rest;
    this.input.focus();
    this.input.setSelectionRange(before.length, before.length);
    this.input.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** Say which words are not known, and which are near; the one that is still typed may become one. */
  mark(typing = null) {
    const strange = this.tokens.filter(({ word, from }) => !this.known.has(word) && from !== typing?.from);
    const most = Math.max(...this.texts.map((text) => text.match(WORD)?.length ?? 0));
    const over = most - this.room;
    this.input.toggleAttribute("data-unknown", strange.length > 0 || over > 0);
    this.input.setAttribute("aria-invalid", String(strange.length > 0 || over > 0));
    const lines = strange.map((token) => {
      const near = nearest(token.word, this.words).map((word) =>
        button(word, {
          kind: "chip",
          title: `Instead of ${token.text}`,
          onclick: () => this.take(word, token),
        }),
      );
      return el("p", "Unknown word: ", el("b", token.text), near.length ? " " : null, near);
    });
    if (over > 0) lines.push(el("p", `The model takes ${this.room} words at most; remove ${over}.`));
    this.unknown.replaceChildren(...lines);
  }
}

/** The known words that are fewest letters away, if few are. */
export function nearest(word, words) {
  const most = Math.max(2, Math.floor(word.length / 3));
  return words
    .filter((other) => Math.abs(other.length - word.length) <= most)
    .map((other) => [distance(word, other), other])
    .filter(([far]) => far <= most)
    .sort(([a], [b]) => a - b)
    .slice(0, NEAR)
    .map(([, other]) => other);
}

/** Letters to put in, take out or change until one word is the other (Levenshtein). */
function distance(one, other) {
  let row = [...Array(other.length + 1).keys()];
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1)
      next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (one[i - 1] !== other[j - 1]));
    row = next;
  }
  return row[other.length];
}

const percent = (share) => (share > 0 && share < 0.01 ? "< 1 %" : `${Math.round(share * 100)} %`);

const bar = ([word, share]) =>
  el("li", { "--share": share }, el("span", word), el("span.number", percent(share)));

/** What a picture shows, by the model: its captions, and its words, with how often each was drawn. */
export function captionCard({ captions, words }) {
  const [[text, share], ...others] = Object.entries(captions);
  const line = ([caption, often]) =>
    el("li", el("span", caption || "nothing"), el("span.number", percent(often)));
  return el(
    "div.figure.caption",
    el("b", `${text || "nothing"} `, el("small", percent(share))),
    el("p", "the model's caption, and how often it came up"),
    others.length ? el("ol", others.slice(0, 3).map(line)) : null,
    el("h2", "Word by word"),
    el("ul.shares", Object.entries(words).slice(0, 8).map(bar)),
  );
}

/** A box for words of one's own; `ask(text)` gives how likely each is. */
export function weighing(model, ask) {
  const box = new WordBox(model, "Your words for it", { tag: "said" });
  const list = el("ul.shares", { "aria-live": "polite" });
  const form = el(
    "form.figure.weighing",
    el("div.field", box.content),
    button("How likely are they?", { kind: "plain", type: "submit" }),
    list,
    el("p", "each given the image and the words before it"),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    box.close();
    const said = box.value && (await ask(box.value));
    if (said) list.replaceChildren(...said.map(bar));
  });
  return form;
}
