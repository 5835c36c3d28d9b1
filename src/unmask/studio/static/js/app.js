// The page: which view is shown, which theme, which model.

import { describe } from "./api.js";
import { dialogHead, el, notice, select, show } from "./dom.js";
import { Create } from "./create.js";
import { Edit } from "./edit.js";
import { Extend } from "./extend.js";
import { Inspect } from "./inspect.js";
import { rememberTheme } from "./store.js";

const THEMES = ["auto", "light", "dark"];

function route() {
  const { hash } = location;
  if (hash && !hash.startsWith("#/") && select("nav a[aria-current]")) return; // a place within the page
  const links = [...document.querySelectorAll("nav a")];
  const current = links.find((link) => link.hash === hash && !link.hidden) ?? links[0];
  for (const link of links) {
    select(link.hash.replace("/", "")).hidden = link !== current;
    if (link === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${current.textContent} · Unmask Studio`;
  scrollTo(0, 0);
}

function chooseTheme() {
  const now = document.documentElement.dataset.theme;
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  document.documentElement.dataset.theme = next;
  rememberTheme(next);
  labelTheme();
  notice(`Theme: ${next === "auto" ? "as the system has it" : next}.`);
}

function labelTheme() {
  select("#theme").setAttribute("aria-label", `Theme: ${document.documentElement.dataset.theme}`);
  select("#theme").title = `Theme: ${document.documentElement.dataset.theme}`;
}

function showModel(model) {
  const { about } = model;
  const facts = {
    Model: model.name,
    Kind: `${model.kind}, ${(model.parameters / 1e6).toFixed(1)} million parameters`,
    Pictures: `${model.image_size}×${model.image_size} pixels as ${model.grid.join("×")} codes out of ${model.codebook_size}`,
    "Trained on": about.prior_data ?? about.data,
    "Held-out pictures":
      about.prior_validation?.bits && `${about.prior_validation.bits.toFixed(2)} bits per code`,
    Licence: about.licence,
    Fingerprint: model.fingerprint,
    Unmask: model.version,
  };
  const list = Object.entries(facts)
    .filter(([, fact]) => fact)
    .flatMap(([name, fact]) => [el("dt", {}, name), el("dd", {}, fact)]);
  const dialog = select("#about");
  const links = el(
    "div",
    { className: "actions" },
    el("a", { className: "plain", href: "/api" }, "The API of this Studio"),
  );
  show(
    dialog,
    dialogHead(dialog, "The model", "about-title"),
    el("div", { className: "body" }, el("dl", { className: "facts" }, list), links),
  );
}

/** The views that work on a picture, as functions that take one. An autoregressive model cannot fill in. */
function openViews(model) {
  const absorbing = model.kind === "absorbing";
  for (const name of ["edit", "extend"]) select(`nav a[href="#/${name}"]`).hidden = !absorbing;
  route(); // it may have been at one of them
  const classes = absorbing ? { edit: Edit, extend: Extend, inspect: Inspect } : { inspect: Inspect };
  const places = Object.entries(classes).map(([name, View]) => {
    const view = new View(model);
    const take = (canvas) => {
      location.hash = `/${name}`;
      view.take(canvas);
    };
    return [name, take];
  });
  return Object.fromEntries(places);
}

async function begin() {
  route();
  labelTheme();
  window.addEventListener("hashchange", route);
  select("#theme").addEventListener("click", chooseTheme);
  let model;
  try {
    model = await describe();
  } catch (error) {
    select(".dot").classList.add("off");
    notice(error.message, { lasting: true });
    return;
  }
  select("#model-name").textContent = model.name.split("/").slice(-2).join("/");
  select("#model").addEventListener("click", () => showModel(model));
  new Create(model, openViews(model));
  document.documentElement.dataset.ready = "";
}

begin();
