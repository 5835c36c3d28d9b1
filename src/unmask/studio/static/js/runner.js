// One view's job: its button, its progress, its words; and finding it again after a reload.

import { cancel, find, model, start, watch } from "./api.js";
import { announce, progress } from "./away.js";
import { button, el } from "./dom.js";
import { Queue } from "./queue.js";
import { recall, remember } from "./store.js";

const DOING = { reconstruct: "Reconstructing", score: "Scoring", caption: "Captioning" };

export class Runner {
  /**
   * key: under which the tab remembers the job.  label: what the button says; no label, no button.
   * onStart(job, about), onPreview(addresses), onEnd(job): what the view shows, of its own job only.
   * With a label there is a queue: what is asked for meanwhile waits, and the last can go on until it is stopped.
   */
  constructor(
    place,
    { key, label, symbol = "create", onRun, onStart = () => {}, onPreview, onEnd = () => {} },
  ) {
    Object.assign(this, { key, label, onStart, onPreview, onEnd, turn: null, job: null });
    this.view = place.closest(".view");
    this.go =
      label &&
      button(label, {
        kind: "primary large",
        symbol,
        type: "submit",
        onclick: (event) => event.detail > 1 && event.preventDefault(), // the rest of a double click
      });
    this.queue = label && new Queue(key);
    this.endless = el("input", { type: "checkbox" });
    this.bar = el("progress", { max: 1, hidden: true, "aria-label": "Progress" });
    this.stop = button("Stop", {
      kind: "plain large",
      symbol: "stop",
      hidden: true,
      onclick: (event) => event.detail < 2 && this.cancel(), // not the rest of a double click on what was here
    });
    // How far it is changes all the time; only what it is about is read out.
    this.words = el("span", { role: "status" });
    this.share = el("span.number", { "aria-hidden": "true" });
    this.line = el("p.status", this.words, " ", this.share);
    const more = label && [
      el("label.check", this.endless, "Go on until stopped, seed after seed"),
      this.queue.root,
    ];
    const turns = el("div.turns", [this.go, this.stop].filter(Boolean));
    place.append(...[turns, this.bar, this.line, more].flat().filter(Boolean));
    place.closest("form")?.addEventListener("submit", (event) => {
      event.preventDefault();
      onRun();
    });
  }

  get running() {
    return this.turn !== null;
  }

  /**
   * Ask for something once all that was asked for before is done, of the model that is chosen now. `about` is for
   * whoever shows it, and `words`.
   */
  ask(kind, request, about) {
    this.queue.add({ kind, request: { model, ...request }, about });
    if (!this.running) this.next();
  }

  /** Begin what is first in the queue; a Studio that is busy is asked again later. */
  async next() {
    clearTimeout(this.later);
    const entry = this.queue.next();
    if (!entry) return;
    const end = await this.run(entry.kind, entry.request, entry.about);
    this.later = end?.retry && setTimeout(() => this.running || this.next(), 1000 * end.retry);
    if (this.later) this.queue.set([entry, ...this.queue.entries]);
    if (!end || this.later) return;
    if (end.state === "done" && this.endless.checked && !this.queue.entries.length) {
      const seed = entry.request.seed < Number.MAX_SAFE_INTEGER ? entry.request.seed + 1 : 0;
      this.queue.add({ ...entry, request: { ...entry.request, seed } });
    }
    if (this.queue.entries.length) this.next();
    else announce(this.words.textContent);
  }

  /** Ask for something and follow it; gives how it ended, {state: "refused", retry}, or null: let go of. */
  async run(kind, request, about = null) {
    if (this.running) return null;
    const signal = this.begin();
    if (!this.later) this.say("Asking the model …"); // again, it is not read out
    try {
      const job = await start(kind, request);
      if (!signal.aborted) {
        remember(this.key, { id: job.id, about });
        return await this.follow(job, signal, about);
      }
      discard(job);
    } catch (error) {
      if (!signal.aborted) {
        this.rest();
        this.fail(error.message);
        return { state: "refused", retry: error.retry };
      }
    }
    return null;
  }

  /** Go on with what was under way, or show again what it left, after a reload. */
  async resume() {
    const { id, about } = recall(this.key) ?? {};
    const job = id && (await find(id).catch(() => null)); // the server may have dropped it
    if (job && !this.running && recall(this.key)?.id === id) await this.follow(job, this.begin(), about);
    if (this.queue && !this.running) this.next();
  }

  async follow(job, signal, about) {
    this.onStart(job, about);
    this.show(job);
    const end = await watch(job.id, {
      signal,
      onJob: (now) => this.show(now),
      onPreview: this.onPreview,
    }).catch((error) => ({ ...job, state: "failed", error: error.message, pictures: [] }));
    if (signal.aborted) return null;
    this.rest();
    this.tell(end);
    this.onEnd(end);
    return end;
  }

  /** Let go of what is under way, and of what was: something else is wanted now. */
  leave() {
    this.turn?.abort();
    if (this.job) discard(this.job);
    this.rest();
    this.queue?.clear();
    remember(this.key, null);
  }

  async cancel() {
    this.endless.checked = false;
    this.say("Stopping …");
    await cancel(this.job.id).catch((error) => this.fail(error.message));
  }

  begin() {
    this.turn = new AbortController();
    this.view.classList.add("busy");
    return this.turn.signal;
  }

  rest() {
    this.turn = this.job = null;
    this.view.classList.remove("busy");
    progress(this, null);
    this.name(this.label);
    this.stop.hidden = this.bar.hidden = true;
  }

  show(job) {
    this.job = job;
    progress(this, job.progress);
    this.name("Add to the queue");
    this.stop.hidden = this.bar.hidden = false;
    if (job.state === "waiting") {
      this.bar.removeAttribute("value");
      this.say(job.ahead === 1 ? "Next in the queue." : `${job.ahead} ahead in the queue.`);
    } else {
      this.bar.value = job.progress;
      this.say(DOING[job.kind] ?? "Drawing", `${Math.floor(job.progress * 100)} %`);
    }
  }

  /** What the button says: what it does now. */
  name(words) {
    if (!this.go) return;
    this.go.lastChild.textContent = words;
    this.go.classList.toggle("primary", words === this.label);
    this.go.classList.toggle("plain", words !== this.label);
  }

  tell({ state, error, seconds }) {
    if (state === "failed") this.fail(error);
    else if (state === "done") this.say(`Done in ${seconds.toFixed(1)} s.`);
    else this.say(error === "cancelled" ? "Stopped." : `Stopped: ${error}.`);
  }

  say(words, share = "") {
    if (this.words.textContent !== words) this.words.textContent = words;
    this.share.textContent = share;
    this.line.classList.remove("bad");
  }

  fail(words) {
    this.say(words);
    this.line.classList.add("bad");
  }
}

const discard = (job) => cancel(job.id).catch(() => {}); // it ends in any case, since nobody watches it
