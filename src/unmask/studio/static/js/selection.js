// What is selected of a picture: a pixel is, or is not.

const colour = (...levels) => new Uint32Array(Uint8Array.from(levels).buffer)[0];

/** The colours of what is not selected and of what is: for people, given as #rrggbb, and for the model. */
export const tint = (hex) => [
  colour(0, 0, 0, 0),
  colour(...[1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)), 255),
];
export const MASK = [colour(0, 0, 0, 255), colour(255, 255, 255, 255)];

export class Selection {
  constructor(width, height, pixels = new Uint8Array(width * height)) {
    Object.assign(this, { width, height, pixels });
  }

  /** What is nearer to white than to black on a canvas. */
  static of(canvas) {
    const { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    const level = (i) => 0.299 * data[i] + 0.587 * data[i + 1] + 0.114 * data[i + 2];
    return new Selection(
      width,
      height,
      Uint8Array.from({ length: width * height }, (_, i) => Number(level(4 * i) > 127)),
    );
  }

  /** What a picture's file says was drawn again: a box, or lengths of runs, not selected and selected in turn. */
  static from({ box, mask }, { width, height }) {
    const selection = new Selection(width, height);
    if (box) selection.box([box[0], box[1]], [box[0] + box[2], box[1] + box[3]], 1);
    let at = 0;
    mask?.forEach((length, turn) => selection.pixels.fill(turn % 2, at, (at += length)));
    return selection;
  }

  copy() {
    return new Selection(this.width, this.height, this.pixels.slice());
  }

  get empty() {
    return !this.pixels.includes(1);
  }

  /** Select, or not, all pixels whose centre is within `radius` of the line between two points; gives where. */
  line([x0, y0], [x1, y1], radius, value) {
    const [dx, dy] = [x1 - x0, y1 - y0];
    const length = dx * dx + dy * dy;
    const part = this.part(
      Math.min(x0, x1) - radius,
      Math.min(y0, y1) - radius,
      Math.max(x0, x1) + radius,
      Math.max(y0, y1) + radius,
    );
    this.each(part, (i, x, y) => {
      const along = length
        ? Math.min(Math.max(((x + 0.5 - x0) * dx + (y + 0.5 - y0) * dy) / length, 0), 1)
        : 0;
      const distance = Math.hypot(x + 0.5 - x0 - along * dx, y + 0.5 - y0 - along * dy);
      if (distance <= radius) this.pixels[i] = value;
    });
    return part;
  }

  box([x0, y0], [x1, y1], value) {
    const [left, right] = [Math.min(x0, x1), Math.max(x0, x1)].map(Math.round);
    const [top, bottom] = [Math.min(y0, y1), Math.max(y0, y1)].map(Math.round);
    this.each(this.part(left, top, right, bottom), (i) => (this.pixels[i] = value));
  }

  /** Select, or not, all pixels that are set in an array. */
  put(pixels, value) {
    pixels.forEach((set, i) => set && (this.pixels[i] = value));
  }

  /** The whole pixels between edges, as far as there are any. */
  part(left, top, right, bottom) {
    const [x, y] = [Math.max(Math.floor(left), 0), Math.max(Math.floor(top), 0)];
    const width = Math.max(Math.min(Math.ceil(right), this.width) - x, 0);
    const height = Math.max(Math.min(Math.ceil(bottom), this.height) - y, 0);
    return { x, y, width, height };
  }

  each({ x, y, width, height }, visit) {
    for (let row = y; row < y + height; row += 1) {
      for (let column = x; column < x + width; column += 1) visit(row * this.width + column, column, row);
    }
  }

  /** Draw it, or a part of it, on a canvas of its size. */
  draw(canvas, colours, part = this.part(0, 0, this.width, this.height)) {
    if (!part.width || !part.height) return canvas;
    const image = new ImageData(part.width, part.height);
    const words = new Uint32Array(image.data.buffer);
    let next = 0;
    this.each(part, (i) => (words[next++] = colours[this.pixels[i]]));
    canvas.getContext("2d").putImageData(image, part.x, part.y);
    return canvas;
  }
}
