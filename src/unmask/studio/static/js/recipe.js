// The same, from a command line and from Python.

import { button, copy, el, show } from "./dom.js";

/** Show how to do it elsewhere; `files` are the pictures that it takes, by name. */
export function showRecipe(recipe, files = {}) {
  const saves = Object.entries(files).map(([name, href]) =>
    el("a.plain", { href, download: name }, `Save ${name}`),
  );
  show(
    "recipe",
    "As code",
    el("p.hint", "The same result, bit for bit on the same machine, without this page."),
    el("h3", "Command line"),
    snippet(recipe.command, "Command"),
    el("h3", "Python"),
    snippet(recipe.python, "Python lines"),
    saves.length > 0 && el("div.actions", saves),
  );
}

function snippet(text, what) {
  return el(
    "div.snippet",
    el("pre", { tabIndex: 0, "aria-label": what }, text),
    button("Copy", { symbol: "copy", title: `Copy: ${what}`, onclick: (event) => copy(text, what, event) }),
  );
}
