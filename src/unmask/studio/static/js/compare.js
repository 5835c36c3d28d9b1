// Two pictures in one place, and a slider between them.

import { el, show } from "./dom.js";

/** Show two pictures, each an { address, title }. */
export function compare(before, after) {
  const face = el(
    "div.face",
    el("img", { src: before.address, alt: `Left: ${before.title}` }),
    el("img.after", { src: after.address, alt: `Right: ${after.title}` }),
    el("i.edge"),
  );
  const move = (share) => face.style.setProperty("--at", `${share}%`);
  const slider = el("input", {
    type: "range",
    min: 0,
    max: 100,
    value: 50,
    "aria-label": "How much of the left image is seen",
    oninput: () => move(slider.value),
  });
  face.addEventListener("pointermove", (event) => {
    const { left, width } = face.getBoundingClientRect();
    slider.value = ((event.clientX - left) / width) * 100;
    move(slider.value);
  });
  move(50);
  const names = el("div.names.hint", el("span", before.title), el("span", after.title));
  show("compare", "Compare", face, slider, names);
}
