// The same, from a command line and from Python.

import { button, copy, dialogHead, el, select, show } from "./dom.js";

/** Show how to do it elsewhere; `files` are the pictures that it takes, by name. */
export function showRecipe(recipe, files = {}) {
  const dialog = select("#recipe");
  const saves = Object.entries(files).map(([name, href]) =>
    el("a", { className: "plain", href, download: name }, `Save ${name}`),
  );
  const body = el(
    "div",
    { className: "body" },
    el("p", { className: "hint" }, "The same result, bit for bit on the same machine, without this page."),
    el("h3", {}, "Command line"),
    snippet(recipe.command, "Command"),
    el("h3", {}, "Python"),
    snippet(recipe.python, "Python lines"),
    saves.length ? el("div", { className: "actions" }, saves) : null,
  );
  show(dialog, dialogHead(dialog, "As code", "recipe-title"), body);
}

function snippet(text, what) {
  return el(
    "div",
    { className: "snippet" },
    el("pre", { tabIndex: 0, "aria-label": what }, text),
    button("Copy", { symbol: "copy", title: `Copy: ${what}`, onclick: (event) => copy(text, what, event) }),
  );
}
