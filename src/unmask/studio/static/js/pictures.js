// Pictures: opened, dropped, pasted, brought to the model's size, saved.

import { start, watch } from "./api.js";
import { attempt, button, el, notice, select } from "./dom.js";
import { newSeed } from "./fields.js";

export function blank(width, height) {
  return el("canvas", { width, height });
}

export const GONE = "This image is gone: the Studio keeps results for a while only. Draw it again.";

/** A canvas with the picture at an address, pixel for pixel. */
export async function fetchPicture(address) {
  const image = new Image();
  image.src = address;
  await image.decode().catch(() => {
    throw new Error(GONE);
  });
  const canvas = blank(image.naturalWidth, image.naturalHeight);
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas;
}

/** Put the picture at an address into a tile, in the place of the one before, or of nothing. */
export function fill(tile, address, alt = "") {
  const image = select("img", tile) ?? el("img");
  Object.assign(image, { src: address, alt });
  select(".blank", tile)?.replaceWith(image);
}

/** Save the file at an address under a name. */
export async function save(address, name) {
  const response = await fetch(address).catch(() => null);
  if (!response?.ok) throw new Error(GONE);
  const href = URL.createObjectURL(await response.blob());
  el("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 40000); // some browsers take their time
}

/** A hidden field for files, and `open()`, which lets a person choose. `receive(files)` gets them. */
export function chooser(label, receive, properties = {}) {
  const input = el("input", {
    type: "file",
    accept: "image/*",
    hidden: true,
    "aria-label": label,
    ...properties,
  });
  input.addEventListener("change", () => {
    if (input.files.length) receive([...input.files]);
    input.value = "";
  });
  return { input, open: () => input.click() };
}

/** A file as the model can use it: its shorter side at the size of the training, no longer than limits allow. */
export async function openFile(file, model, background = "white") {
  let image;
  try {
    image = await createImageBitmap(file);
  } catch {
    throw new Error(`${file.name ?? "What was pasted"} is not an image that this browser can read.`);
  }
  const scale = model.image_size / Math.min(image.width, image.height);
  const longest = Math.floor(model.limits.codes / 4 / Math.min(...model.grid)) * model.factor; // four versions fit
  const width = Math.min(Math.round(image.width * scale), longest);
  const height = Math.min(Math.round(image.height * scale), longest);
  return shrink(image, scale, width, height, background);
}

/** The middle of a picture, scaled, in halves as long as they last: a browser's own scaling skips pixels. */
function shrink(image, scale, width, height, background) {
  let source = image,
    factor = scale;
  while (factor < 0.5) {
    const half = blank(Math.ceil(source.width / 2), Math.ceil(source.height / 2));
    half.getContext("2d").drawImage(source, 0, 0, half.width, half.height);
    source = half;
    factor *= 2;
  }
  const canvas = blank(width, height);
  const context = canvas.getContext("2d");
  context.fillStyle = background;
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  const [w, h] = [Math.max(image.width * scale, width), Math.max(image.height * scale, height)];
  context.drawImage(source, (width - w) / 2, (height - h) / 2, w, h);
  return canvas;
}

export const address = (canvas) => canvas.toDataURL("image/png");
export const encode = (canvas) => address(canvas).split(",")[1];

/** The ways to get a picture: a file, a drop, a paste, a sample. `take(canvas)` gets what was asked for last. */
export function sources(view, model, take) {
  const file = chooser("Image file", ([chosen]) => receive(chosen));
  const open = button("Open image", { symbol: "open", onclick: file.open });
  const draw = button("Take a sample", { symbol: "dice" });
  let asked = 0;
  const bring = (picture) =>
    attempt(async () => {
      const number = (asked += 1);
      const canvas = await picture;
      if (number === asked) take(canvas);
    });
  const receive = (file) => {
    bring(openFile(file, model));
    view.dispatchEvent(new CustomEvent("opened", { detail: file }));
  };
  draw.addEventListener("click", async () => {
    draw.disabled = true;
    await bring(sample());
    draw.disabled = false;
  });
  select(".source", view).append(
    el("div.pair", open, draw),
    file.input,
    el("p.hint", "Or drop an image here, or paste one."),
  );
  showDrops(view);
  listenForFiles(view, receive, ({ target }) => {
    if (!target.matches("input, textarea")) notice("There is no image in the clipboard.");
  });
}

async function sample() {
  const job = await start("sample", { seed: newSeed() });
  const end = await watch(job.id);
  if (end.state !== "done") throw new Error(end.error);
  return fetchPicture(end.pictures[0]);
}

/** Have what is dropped on a view, or pasted while it is seen; `otherwise(event)`: what was pasted is no file. */
export function listenForFiles(view, receive, otherwise = () => {}) {
  view.addEventListener("dragover", (event) => event.preventDefault());
  view.addEventListener("drop", (event) => {
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) receive(file);
  });
  document.addEventListener("paste", (event) => {
    if (view.hidden) return;
    const [file] = event.clipboardData.files;
    if (file) receive(file);
    else otherwise(event);
  });
}

function showDrops(view) {
  const over = (on) => select(".stage", view).classList.toggle("over", on);
  view.addEventListener("dragover", () => over(true));
  view.addEventListener("dragleave", (event) => view.contains(event.relatedTarget) || over(false));
  view.addEventListener("drop", () => over(false));
}
