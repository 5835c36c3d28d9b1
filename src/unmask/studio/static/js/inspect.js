// Inspect: what the model makes of a picture.

import { button, el, invitation, select } from "./dom.js";
import { address, encode, fetchPicture, sources } from "./pictures.js";
import { showRecipe } from "./recipe.js";
import { Runner } from "./runner.js";
import { recall, remember } from "./store.js";
import { captionCard, weighing } from "./words.js";

const GLOW = [
  [13, 8, 135],
  [126, 3, 168],
  [204, 71, 120],
  [248, 149, 64],
  [240, 249, 33],
]; // plasma: dark is expected

export class Inspect {
  constructor(model) {
    this.model = model;
    this.root = select("#inspect");
    this.stage = select(".stage", this.root);
    this.figures = select(".figures", this.root);
    sources(this.root, model, (canvas) => this.take(canvas));
    this.runner = new Runner(select(".run", this.root), { key: "inspect.job" });
    this.stage.append(
      invitation(
        "Begin with an image",
        "Open one, drop it here, paste it, or take a sample. The model looks at its middle.",
      ),
    );
    this.restore();
  }

  /** The newest picture counts: what is known of one before is not waited for. */
  async take(canvas) {
    remember("inspect.picture", address(canvas));
    this.runner.leave();
    const image = encode(canvas);
    const back = await this.runner.run("reconstruct", { image });
    if (back?.state !== "done") return;
    const score = await this.runner.run("score", { image });
    if (score?.state !== "done") return;
    this.show(back, score, address(canvas));
    if (!this.model.words.length || this.model.kind !== "absorbing") return;
    const said = await this.runner.run("caption", { image });
    if (said?.state !== "done") return;
    const ask = async (words) =>
      (await this.runner.run("caption", { image, draws: 1, words }))?.figures?.said;
    this.figures.prepend(captionCard(said.figures), weighing(this.model, ask));
  }

  async restore() {
    const picture = recall("inspect.picture");
    if (picture) this.take(await fetchPicture(picture));
  }

  show(back, score, picture) {
    const { codes, psnr_db: psnr } = back.figures;
    const { bits_by_code: bitsByCode, bits_per_code: each, bits, exact } = score.figures;
    const most = Math.max(...bitsByCode.flat());
    const scale = el("span.scale", "0", el("i"), `${most.toFixed(1)} bits`);
    select("i", scale).style.background = `linear-gradient(90deg, ${GLOW.map((colour) => `rgb(${colour})`)})`;
    const maps = [
      this.map("Original", "as the model sees it", el("img", { src: back.pictures[0], alt: "The original" })),
      this.map(
        "Reconstruction",
        "after the codec",
        el("img", { src: back.pictures[1], alt: "The reconstruction" }),
      ),
      this.map(
        "Bits per code",
        scale,
        paint(bitsByCode, (value) => glow(value / (most || 1)), "Bits that each code takes"),
      ),
      this.map(
        "Codes",
        `${new Set(codes.flat()).size} different of ${this.model.codebook_size}`,
        paint(codes, colour, "The codes, a colour for each"),
      ),
    ];
    this.readout = el(
      "p.readout",
      { role: "status" },
      "Point at a code, or move over them with the arrow keys.",
    );
    this.stage.replaceChildren(this.readout, ...maps);
    this.cells = { codes, bitsByCode, maps };
    const code = button("As code", {
      symbol: "code",
      onclick: () => showRecipe(joined(back.recipe, score.recipe), { "picture.png": picture }),
    });
    this.figures.replaceChildren(
      figure(
        `${exact ? "" : "≤ "}${each.toFixed(2)}`,
        "bits per code",
        `${Math.log2(this.model.codebook_size).toFixed(0)} would be a blind guess. Fewer: the model expects such images.`,
      ),
      figure(
        `${exact ? "" : "≤ "}${Math.round(bits).toLocaleString("en")}`,
        "bits in all",
        `for ${codes.length}×${codes[0].length} codes, ${(bits / 8 / 1024).toFixed(2)} KiB`,
      ),
      figure(
        psnr === null ? "∞" : psnr.toFixed(1),
        "dB PSNR",
        "how close the reconstruction is; higher is closer",
      ),
      code,
    );
  }

  map(title, about, face) {
    const cell = el("div.cell", { hidden: true });
    const box = el(
      "div.face",
      {
        tabIndex: 0,
        "aria-label": `${title}. Arrow keys move over the codes.`,
        role: "application",
      },
      face,
      cell,
    );
    box.addEventListener("pointermove", (event) => {
      const { left, top, width, height } = box.getBoundingClientRect();
      const [h, w] = this.model.grid;
      this.point(
        Math.floor(((event.clientY - top) / height) * h),
        Math.floor(((event.clientX - left) / width) * w),
      );
    });
    box.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!move) return;
      event.preventDefault();
      const [row, column] = this.at ?? [-move[0], -move[1]];
      this.point(row + move[0], column + move[1]);
    });
    return el("figure.map", el("figcaption", el("h2", title), el("span.hint", about)), box);
  }

  /** Mark one code in all maps, and say what it is. */
  point(row, column) {
    const [h, w] = this.model.grid;
    [row, column] = [Math.min(Math.max(row, 0), h - 1), Math.min(Math.max(column, 0), w - 1)];
    this.at = [row, column];
    const { codes, bitsByCode, maps } = this.cells;
    for (const map of maps) {
      const cell = select(".cell", map);
      cell.hidden = false;
      Object.assign(cell.style, {
        left: `${(100 * column) / w}%`,
        top: `${(100 * row) / h}%`,
        width: `${100 / w}%`,
        height: `${100 / h}%`,
      });
    }
    const same = codes.flat().filter((code) => code === codes[row][column]).length;
    this.readout.textContent = `Row ${row + 1}, column ${column + 1}: code ${codes[row][column]}, used ${same === 1 ? "once" : `${same} times`} here, ${bitsByCode[row][column].toFixed(2)} bits.`;
  }
}

function figure(number, unit, words) {
  return el("div.figure", el("b", `${number} `, el("small", unit)), el("p", words));
}

function paint(rows, shade, label) {
  const canvas = el("canvas", {
    width: rows[0].length,
    height: rows.length,
    role: "img",
    "aria-label": label,
  });
  const context = canvas.getContext("2d");
  rows.forEach((row, y) =>
    row.forEach((value, x) => {
      context.fillStyle = shade(value);
      context.fillRect(x, y, 1, 1);
    }),
  );
  return canvas;
}

function glow(share) {
  const place = Math.min(Math.max(share, 0), 1) * (GLOW.length - 1);
  const [low, high] = [GLOW[Math.floor(place)], GLOW[Math.ceil(place)]];
  return `rgb(${low.map((from, i) => Math.round(from + (high[i] - from) * (place % 1)))})`;
}

/** A colour that stays with a code: neighbours in number are far apart in hue. */
const colour = (code) =>
  `oklch(${0.5 + 0.35 * ((code * 0.7548) % 1)} ${0.03 + 0.07 * ((code * 0.5698) % 1)} ${(code * 137.508) % 360})`;

function joined(one, other) {
  const more = other.python.split("\n").at(-1);
  return { command: `${one.command}\n${other.command}`, python: `${one.python}\n${more}` };
}
