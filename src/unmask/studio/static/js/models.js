// Which model is meant: one of those that the server lists.

import { describe, models } from "./api.js";
import { button, el, select, show } from "./dom.js";
import { recall, remember } from "./store.js";

/** The model that this tab has chosen, as the server describes it; the names of all are with it. */
export async function chosenModel() {
  const names = await models();
  const wanted = names.includes(recall("model")) ? recall("model") : undefined;
  if (wanted) select("#model-name").textContent = `opening ${brief(wanted)}`;
  const model = await describe(wanted).catch((error) => {
    remember("model", null); // the next attempt begins with the first
    throw error;
  });
  select("#model-name").textContent = brief(model.name);
  select("#model").addEventListener("click", () => showModel(model, names));
  return model;
}

const brief = (name) => name.split("/").slice(-2).join("/");

/** Another model: what was drawn and painted is found again after the reload. */
function turnTo(name) {
  remember("model", name);
  location.reload();
}

function menu(model, names) {
  const choices = names.map((name) =>
    button(name, {
      "aria-pressed": String(name === model.name),
      onclick: () => name !== model.name && turnTo(name),
    }),
  );
  return el("div.choices", { role: "group", "aria-label": "Models" }, choices);
}

function showModel(model, names) {
  const { about } = model;
  const facts = {
    Model: model.name,
    Kind: `${model.kind}, ${(model.parameters / 1e6).toFixed(1)} million parameters`,
    Pictures: `${model.image_size}×${model.image_size} pixels as ${model.grid.join("×")} codes out of ${model.codebook_size}`,
    "Trained on": about.prior_data ?? about.data,
    "Validation split":
      about.prior_validation?.bits && `${about.prior_validation.bits.toFixed(2)} bits per code`,
    Licence: about.licence,
    Fingerprint: model.fingerprint,
    Unmask: model.version,
  };
  const list = Object.entries(facts)
    .filter(([, fact]) => fact)
    .flatMap(([name, fact]) => [el("dt", name), el("dd", fact)]);
  const links = el("div.actions", el("a.plain", { href: "/api" }, "The API of this Studio"));
  show("about", "The model", names.length > 1 && menu(model, names), el("dl.facts", list), links);
}
