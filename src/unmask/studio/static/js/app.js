// The page: which view is shown, which theme, which model.

import { galleryPage, trainings } from "./api.js";
import { entitle, offerNotifications } from "./away.js";
import { notice, select } from "./dom.js";
import { Create } from "./create.js";
import { Edit } from "./edit.js";
import { Extend } from "./extend.js";
import { Gallery } from "./gallery.js";
import { Inspect } from "./inspect.js";
import { chosenModel } from "./models.js";
import { listenForOrigins, offerOrigins } from "./origin.js";
import { rememberTheme } from "./store.js";
import { Training } from "./training.js";

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
  entitle(current.textContent);
  scrollTo(0, 0);
}

function chooseTheme() {
  const now = document.documentElement.dataset.theme;
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  document.documentElement.dataset.theme = next;
  rememberTheme(next);
  labelTheme();
  notice(`Theme: ${next === "auto" ? "same as the system" : next}.`);
}

function labelTheme() {
  select("#theme").setAttribute("aria-label", `Theme: ${document.documentElement.dataset.theme}`);
  select("#theme").title = `Theme: ${document.documentElement.dataset.theme}`;
}

/** Offer a view, or do not. */
function offer(name, on = true) {
  select(`nav a[href="#/${name}"]`).hidden = !on;
  route(); // it may have been there
}

/** Trainings, where the server has any to show. */
async function openTrainings() {
  const names = await trainings();
  if (!names.length) return;
  offer("training");
  new Training(names);
}

/** The gallery, where the server keeps results. */
async function openGallery(places, views, model) {
  if (!(await galleryPage({ limit: 1 })).keeping) return;
  offer("gallery");
  new Gallery(places, views, model);
}

/** The views that work on a picture, and functions that take one there. An autoregressive model cannot fill in. */
function openViews(model) {
  const absorbing = model.kind === "absorbing";
  for (const name of ["edit", "extend"]) offer(name, absorbing);
  const filling = absorbing && { edit: new Edit(model), extend: new Extend(model) };
  const views = { ...filling, inspect: new Inspect(model) };
  const takes = Object.keys(views).map((name) => {
    const take = (canvas) => {
      location.hash = `/${name}`;
      views[name].take(canvas);
    };
    return [name, take];
  });
  const places = Object.fromEntries(takes);
  const vary = (canvas) => (places.edit(canvas), views.edit.vary());
  return { views, places: { ...(absorbing && { vary }), ...places } };
}

async function begin() {
  route();
  labelTheme();
  window.addEventListener("hashchange", route);
  select("#theme").addEventListener("click", chooseTheme);
  offerNotifications();
  let model;
  try {
    model = await chosenModel();
  } catch (error) {
    select(".dot").classList.add("off");
    notice(error.message, { lasting: true });
    return;
  }
  const { views, places } = openViews(model);
  for (const { root } of Object.values(views)) offerOrigins(root, views, model);
  views.create = new Create(model, places);
  listenForOrigins([select("#create"), select("#gallery")], views, model);
  openGallery(places, views, model);
  openTrainings();
  document.documentElement.dataset.ready = "";
}

begin();
