// How a picture was drawn: what its file says goes back to the form that it came from.

import { look } from "./api.js";
import { attempt, notice } from "./dom.js";
import { fetchPicture, listenForFiles } from "./pictures.js";

const VIEWS = { sample: "create", canvas: "extend", extend: "extend", inpaint: "edit", vary: "edit" };

const inBase64 = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",")[1] ?? "");
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });

/** What a file says of its picture; null if it says nothing. */
const originOf = async (file) => (await look(await inBase64(file))).origin;

/** Fill in the form of the view that a picture came from; `picture` is its address, for edits to go on with. */
export async function restore(origin, views, model, picture) {
  const { settings, seed, number, prompt, negative } = origin;
  const view = views[VIEWS[origin.task]];
  if (!view)
    throw new Error(
      "This model cannot draw in the way that this image was drawn. Choose another model at the top right.",
    );
  location.hash = `/${VIEWS[origin.task]}`;
  const values = { settings: "recommended", ...settings, seed, prompt, negative, first: number };
  const count =
    origin.task === "sample" ? Math.min(origin.count, model.limits.count) : Math.max(number + 1, 1);
  const canvas = VIEWS[origin.task] === "edit" && picture ? await fetchPicture(picture) : null;
  view.reuse({ ...values, count, ...(origin.seam !== null && { seam: origin.seam }) }, { origin, canvas });
  notice(
    origin.fingerprint === model.fingerprint
      ? "The settings are now as they were for this image."
      : `This image was drawn by another model, ${origin.model || "without a name"}: here its settings give another image.`,
  );
}

/** Have pictures that are dropped or pasted where none is edited restore what they were drawn by. */
export function listenForOrigins(places, views, model) {
  const receive = (file) =>
    attempt(async () => {
      const said = await originOf(file);
      if (!said)
        throw new Error(
          "This file does not record how its image was drawn. To change the image, drop it on Edit.",
        );
      await restore(said, views, model, URL.createObjectURL(file));
    });
  for (const place of places) listenForFiles(place, receive);
}

/** Where a picture is opened to be worked on, offer its settings. */
export function offerOrigins(view, views, model) {
  view.addEventListener("opened", async ({ detail: file }) => {
    const said = await originOf(file).catch(() => null); // it was opened all the same
    if (!said) return;
    const use = () => attempt(() => restore(said, views, model, URL.createObjectURL(file)));
    notice("This file records how its image was drawn.", {
      lasting: true,
      action: ["Use its settings", use],
    });
  });
}
