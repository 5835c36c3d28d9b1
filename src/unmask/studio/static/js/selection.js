// What is selected of a picture: a pixel is, or is not.

const TINT = [86, 70, 214];

export class Selection {
  constructor(width, height, pixels = new Uint8Array(width * height)) {
    Object.assign(this, { width, height, pixels });
  }

  copy() {
    return new Selection(this.width, this.height, this.pixels.slice());
  }

  get empty() {
    return !this.pixels.includes(1);
  }

  /** Select, or not, all pixels whose centre is within `radius` of the line between two points. */
  line([x0, y0], [x1, y1], radius, value) {
    const [dx, dy] = [x1 - x0, y1 - y0];
    const length = dx * dx + dy * dy;
    this.each(
      Math.min(x0, x1) - radius,
      Math.min(y0, y1) - radius,
      Math.max(x0, x1) + radius,
      Math.max(y0, y1) + radius,
      (x, y) => {
        const along = length
          ? Math.min(Math.max(((x + 0.5 - x0) * dx + (y + 0.5 - y0) * dy) / length, 0), 1)
          : 0;
        const distance = Math.hypot(x + 0.5 - x0 - along * dx, y + 0.5 - y0 - along * dy);
        if (distance <= radius) this.pixels[y * this.width + x] = value;
      },
    );
  }

  box([x0, y0], [x1, y1], value) {
    const [left, right] = [Math.min(x0, x1), Math.max(x0, x1)].map(Math.round);
    const [top, bottom] = [Math.min(y0, y1), Math.max(y0, y1)].map(Math.round);
    this.each(left, top, right - 1, bottom - 1, (x, y) => (this.pixels[y * this.width + x] = value));
  }

  each(left, top, right, bottom, visit) {
    for (let y = Math.max(Math.floor(top), 0); y <= Math.min(Math.floor(bottom), this.height - 1); y += 1) {
      for (let x = Math.max(Math.floor(left), 0); x <= Math.min(Math.floor(right), this.width - 1); x += 1)
        visit(x, y);
    }
  }

  /** Draw it: tinted where selected for people, white on black for the model. */
  draw(canvas, { mask = false } = {}) {
    const image = new ImageData(this.width, this.height);
    for (let i = 0; i < this.pixels.length; i += 1) {
      const on = this.pixels[i];
      image.data.set(mask ? [on * 255, on * 255, on * 255, 255] : [...TINT, on * 255], i * 4);
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }
}
