// A picture, large, and what can be done with it.

import { attempt, button, copy, dialogHead, el, notice, select, show } from "./dom.js";
import { GONE, fetchPicture, save } from "./pictures.js";
import { showRecipe } from "./recipe.js";

const dialog = select("#viewer");

/** Show picture `number` of a finished job. `places[name](canvas)` takes it elsewhere, `reuse(settings)` to the form. */
export function view(job, number, { places, reuse }) {
  const { pictures, settings } = job;
  const many = pictures.length > 1;
  const picture = el("img", {
    onload: () =>
      picture.parentElement.style.setProperty("--ratio", picture.naturalWidth / picture.naturalHeight),
    onerror: () => notice(GONE),
  });
  const head = dialogHead(dialog, "Picture", "viewer-title");
  // Everything else stays in its place, and the focus with it.
  const turn = (by) => {
    number = (number + by + pictures.length) % pictures.length;
    picture.src = pictures[number];
    picture.alt = `Picture ${number + 1} of ${pictures.length}, seed ${settings.seed}`;
    if (many) select("h2", head).textContent = `Picture ${number + 1} of ${pictures.length}`;
  };
  const turner = (words, symbol, by) =>
    many && button(words, { kind: "quiet round turn", symbol, bare: true, onclick: () => turn(by) });
  const frame = el(
    "div",
    { className: "picture" },
    [turner("Previous", "left", -1), picture, turner("Next", "right", 1)].filter(Boolean),
  );
  const elsewhere = Object.keys(places).map((name) =>
    button(name[0].toUpperCase() + name.slice(1), {
      symbol: name,
      onclick: () =>
        attempt(async () => {
          const canvas = await fetchPicture(pictures[number]);
          dialog.close();
          places[name](canvas);
        }),
    }),
  );
  const actions = el(
    "div",
    { className: "actions" },
    button("Save", {
      symbol: "save",
      onclick: () => attempt(() => save(pictures[number], `unmask-${settings.seed}-${number}.png`)),
    }),
    button("Copy seed", { symbol: "copy", onclick: (event) => copy(String(settings.seed), "Seed", event) }),
    button("Reuse settings", {
      symbol: "reuse",
      onclick: () => {
        dialog.close();
        reuse(settings);
      },
    }),
    button("As code", { symbol: "code", onclick: () => showRecipe(job.recipe) }),
  );
  dialog.onkeydown = ({ key }) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (by && many) turn(by);
  };
  turn(0);
  show(
    dialog,
    head,
    el("div", { className: "body" }, frame, el("div", { className: "actions" }, elsewhere), actions),
  );
}
