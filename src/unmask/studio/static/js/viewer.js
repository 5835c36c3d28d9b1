// A picture, large, and what can be done with it.

import { attempt, button, copy, el, notice, select, show, tool } from "./dom.js";
import { GONE, fetchPicture, save } from "./pictures.js";

const dialog = select("#viewer");

/**
 * Show the item `number` of several, each an { address, seed, number, title }. `places[name](canvas)` takes a picture
 * elsewhere. `actions` are what else can be done: words(item), symbol, act(item, dialog), and if it `closes` the view.
 */
export function view(items, number, { places, actions }) {
  const many = items.length > 1;
  const now = () => items[number];
  const picture = el("img", {
    onload: () =>
      picture.parentElement.style.setProperty("--ratio", picture.naturalWidth / picture.naturalHeight),
    onerror: () => notice(GONE),
  });
  const hint = el("p.hint");
  const more = actions.map(({ words, symbol, act, closes, off }) => {
    const press = button("", {
      symbol,
      onclick: () =>
        attempt(async () => {
          if (closes) dialog.close();
          await act(now(), dialog);
          turn(0);
        }),
    });
    press.settle = () => {
      press.lastChild.textContent = words(now());
      press.disabled = off?.(now()) ?? false;
    };
    return press;
  });
  // Everything else stays in its place, and the focus with it.
  const turn = (by) => {
    number = (number + by + items.length) % items.length;
    const { address, seed, title } = now();
    if (picture.getAttribute("src") !== address) picture.src = address;
    picture.alt = `Image ${number + 1} of ${items.length}, seed ${seed}`;
    hint.textContent = title ?? "";
    if (many) select("h2", dialog).textContent = `Image ${number + 1} of ${items.length}`;
    for (const press of more) press.settle();
  };
  const turner = (words, symbol, by) =>
    many && tool(words, symbol, () => turn(by), { kind: "quiet round turn" });
  const frame = el("div.picture", turner("Previous", "left", -1), picture, turner("Next", "right", 1));
  const elsewhere = Object.keys(places).map((name) =>
    button(name[0].toUpperCase() + name.slice(1), {
      symbol: name,
      onclick: () =>
        attempt(async () => {
          const canvas = await fetchPicture(now().address);
          dialog.close();
          places[name](canvas);
        }),
    }),
  );
  const own = [
    button("Save", {
      symbol: "save",
      onclick: () => attempt(() => save(now().address, `unmask-${now().seed}-${now().number}.png`)),
    }),
    button("Copy seed", { symbol: "copy", onclick: (event) => copy(String(now().seed), "Seed", event) }),
  ];
  dialog.onkeydown = ({ key }) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (by && many) turn(by);
  };
  show("viewer", "Image", frame, hint, el("div.actions", elsewhere), el("div.actions", own, more));
  turn(0);
}
