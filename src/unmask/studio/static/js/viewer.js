// A picture, large, and what can be done with it.

import { button, copy, dialogHead, el, select, show } from "./dom.js";
import { fetchPicture, save } from "./pictures.js";
import { showRecipe } from "./recipe.js";

const dialog = select("#viewer");

/** Show picture `number` of a finished job. `places[name](canvas)` takes it elsewhere, `reuse(settings)` to the form. */
export function view(job, number, { places, reuse }) {
  const { pictures, settings } = job;
  const picture = el("img", {
    src: pictures[number],
    alt: `Picture ${number + 1} of ${pictures.length}, seed ${settings.seed}`,
  });
  picture.onload = () =>
    picture.parentElement.style.setProperty("--ratio", picture.naturalWidth / picture.naturalHeight);
  const turn = (by) => view(job, (number + by + pictures.length) % pictures.length, { places, reuse });
  const leave = (action) => async () => {
    dialog.close();
    await action();
  };
  const many = pictures.length > 1;
  const frame = el(
    "div",
    { className: "picture" },
    many
      ? button("Previous", { kind: "quiet round turn", symbol: "left", bare: true, onclick: () => turn(-1) })
      : null,
    picture,
    many
      ? button("Next", { kind: "quiet round turn", symbol: "right", bare: true, onclick: () => turn(1) })
      : null,
  );
  const elsewhere = Object.keys(places).map((name) =>
    button(name[0].toUpperCase() + name.slice(1), {
      symbol: name,
      onclick: leave(async () => places[name](await fetchPicture(pictures[number]))),
    }),
  );
  const actions = el(
    "div",
    { className: "actions" },
    button("Save", {
      symbol: "save",
      onclick: () => save(pictures[number], `unmask-${settings.seed}-${number}.png`),
    }),
    button("Copy seed", { symbol: "copy", onclick: (event) => copy(String(settings.seed), "Seed", event) }),
    button("Reuse settings", { symbol: "reuse", onclick: leave(() => reuse(settings)) }),
    button("As code", { symbol: "code", onclick: () => showRecipe(job.recipe) }),
  );
  const title = many ? `Picture ${number + 1} of ${pictures.length}` : "Picture";
  dialog.onkeydown = (event) =>
    many && { ArrowLeft: () => turn(-1), ArrowRight: () => turn(1) }[event.key]?.();
  show(
    dialog,
    dialogHead(dialog, title, "viewer-title"),
    el("div", { className: "body" }, frame, el("div", { className: "actions" }, elsewhere), actions),
  );
}
