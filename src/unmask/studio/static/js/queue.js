// What a view has still to do: requests with their settings as they were when they were asked for.

import { el, notice, tool } from "./dom.js";
import { recall, remember } from "./store.js";

const MOST = 100;

/** Entries of which the one at `from` has moved by so many places. */
export function moved(entries, from, by) {
  const to = Math.min(Math.max(from + by, 0), entries.length - 1);
  const others = entries.filter((_, i) => i !== from);
  return [...others.slice(0, to), entries[from], ...others.slice(to)];
}

/** An entry is {kind, request, about}; what it is `about.words` says. The tab remembers them all. */
export class Queue {
  constructor(key) {
    this.key = `${key}.queue`;
    this.entries = recall(this.key) ?? [];
    this.root = el("ol.queue", { "aria-label": "Queue" });
    this.show();
  }

  add(entry) {
    if (this.entries.length >= MOST) notice(`The queue is full: ${MOST} at most.`);
    else this.set([...this.entries, entry]);
  }

  /** The first entry, which leaves the queue; undefined if there is none. */
  next() {
    const [first, ...others] = this.entries;
    this.set(others);
    return first;
  }

  clear() {
    this.set([]);
  }

  set(entries) {
    this.entries = entries;
    remember(this.key, entries);
    this.show();
  }

  show() {
    const last = this.entries.length - 1;
    const rows = this.entries.map((entry, i) => {
      const change = (words, symbol, disabled, changed) => {
        const onclick = () => (this.set(changed()), this.focus(i, symbol));
        return tool(`${words}: ${entry.about.words}`, symbol, onclick, { disabled });
      };
      return el(
        "li",
        el("span.words", entry.about.words),
        change("Sooner", "up", i === 0, () => moved(this.entries, i, -1)),
        change("Later", "down", i === last, () => moved(this.entries, i, 1)),
        change("Remove", "close", false, () => this.entries.filter((_, other) => other !== i)),
      );
    });
    this.root.replaceChildren(...rows);
    this.root.hidden = !rows.length;
  }

  /** Keep the focus with an entry that was moved, or near one that is gone. */
  focus(i, symbol) {
    const row = Math.min(i + ({ up: -1, down: 1 }[symbol] ?? 0), this.entries.length - 1);
    const tools = this.root.children[row]?.querySelectorAll("button:enabled") ?? [];
    [...tools].find((each) => each.querySelector(`[href$="#${symbol}"]`))?.focus();
  }
}
