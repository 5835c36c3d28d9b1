// What Edit and Extend share: a picture to work on, a job that draws, and the versions that come of it.

import { invitation, select } from "./dom.js";
import { Form } from "./form.js";
import { sources } from "./pictures.js";
import { Runner } from "./runner.js";
import { Versions } from "./versions.js";

/**
 * A view that can take(canvas), adopt(canvas), which is a version that was chosen, run() and ask(asked). What it asked
 * for stays with the job, as `about.asked`; files(asked) are the pictures of it, by name.
 */
export class Workshop {
  constructor(name, model, { label, symbol }) {
    const root = select(`#${name}`);
    const form = new Form(select(".fields", root), model);
    Object.assign(this, { model, root, form, work: select(".work", root), picture: null, past: [] });
    sources(root, model, (canvas) => this.take(canvas));
    this.runner = new Runner(select(".run", root), {
      key: `${name}.job`,
      label,
      symbol,
      onRun: () => this.run(),
      onStart: (job, about) => {
        this.about = about;
        this.versions.begin(job, about);
      },
      onPreview: (addresses) => this.versions.preview(addresses),
      onEnd: (job) => this.versions.end(job),
    });
    this.versions = new Versions(select(".versions", root), {
      onTake: (canvas) => this.adopt(canvas),
      onAgain: () => this.about && this.ask(this.about.asked),
      files: () => this.files(this.about.asked),
    });
  }

  /** Say how to begin, as long as there is no picture. */
  invite(title, words) {
    this.work.replaceChildren(invitation(title, words));
    this.runner.go.disabled = true;
  }

  /** Let go of all that belongs to the picture before. */
  clear() {
    this.runner.leave();
    this.versions.clear();
    this.past = [];
  }
}
