// One view's job: its button, its progress, its words; and finding it again after a reload.

import { cancel, find, start, watch } from "./api.js";
import { button, el } from "./dom.js";
import { recall, remember } from "./store.js";

export class Runner {
  /**
   * key: under which the tab remembers the job.  label: what the button says; no label, no button.
   * onStart(job), onPreview(addresses), onEnd(job): what the view shows.
   */
  constructor(
    place,
    { key, label, symbol = "create", onRun, onStart = () => {}, onPreview, onEnd = () => {} },
  ) {
    Object.assign(this, { key, onStart, onPreview, onEnd, job: null });
    this.go = label && button(label, { kind: "primary large", symbol, type: "submit" });
    this.bar = el("progress", { max: 1, hidden: true, "aria-label": "Progress" });
    this.stop = button("Stop", {
      kind: "plain large",
      symbol: "stop",
      hidden: true,
      onclick: () => this.cancel(),
    });
    this.words = el("p", { className: "status", role: "status" });
    place.append(...[this.go, this.stop, this.bar, this.words].filter(Boolean));
    place.closest("form")?.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!this.running) onRun();
    });
  }

  get running() {
    return this.job !== null;
  }

  /** Ask for something and follow it to its end. */
  async run(kind, request) {
    if (this.running) return;
    this.say("Asking the model …");
    try {
      const job = await start(kind, request);
      remember(this.key, job.id);
      await this.follow(job);
    } catch (error) {
      this.fail(error.message);
    }
  }

  /** Go on with what was under way, or show again what it left, after a reload. */
  async resume() {
    const id = recall(this.key);
    if (!id) return;
    try {
      await this.follow(await find(id));
    } catch {
      this.forget(); // the server has dropped it
    }
  }

  async follow(job) {
    this.onStart(job);
    this.show(job);
    try {
      const end = await watch(job.id, { onJob: (now) => this.show(now), onPreview: this.onPreview });
      this.idle();
      if (end.state === "failed") this.fail(end.error);
      else
        this.say(
          end.state === "done"
            ? `Done in ${end.seconds.toFixed(1)} s.`
            : `Stopped${end.error === "cancelled" ? "" : `: ${end.error}`}.`,
        );
      this.onEnd(end);
    } catch (error) {
      this.idle();
      this.fail(error.message);
      this.onEnd({ ...job, state: "failed", pictures: [] });
    }
  }

  async cancel() {
    this.say("Stopping …");
    if (this.job) await cancel(this.job.id).catch((error) => this.fail(error.message));
  }

  forget() {
    remember(this.key, null);
  }

  show(job) {
    this.job = job;
    if (this.go) this.go.hidden = true;
    this.stop.hidden = this.bar.hidden = false;
    if (job.state === "waiting") {
      this.bar.removeAttribute("value");
      this.say(job.ahead === 1 ? "Next in the queue." : `${job.ahead} ahead in the queue.`);
    } else {
      this.bar.value = job.progress;
      this.say(`Drawing: ${Math.floor(job.progress * 100)} %`);
    }
  }

  idle() {
    this.job = null;
    if (this.go) this.go.hidden = false;
    this.stop.hidden = this.bar.hidden = true;
  }

  say(words) {
    if (this.words.textContent !== words) this.words.textContent = words;
    this.words.classList.remove("bad");
  }

  fail(words) {
    this.say(words);
    this.words.classList.add("bad");
  }
}
