// Masks as geometry: zeros and ones, row by row. Nothing here changes what it is given.

/** What is selected is not any more, and the other way round. */
export const inverted = (pixels) => pixels.map((value) => 1 - value);

/** With all pixels that are within `radius` of a selected one. */
export function grown(pixels, width, radius) {
  const result = pixels.slice();
  const height = pixels.length / width;
  pixels.forEach((value, i) => {
    if (!value) return;
    const [x, y] = [i % width, Math.floor(i / width)];
    const last = Math.min(y + Math.floor(radius), height - 1);
    for (let row = Math.max(y - Math.floor(radius), 0); row <= last; row += 1) {
      const half = Math.floor(Math.sqrt(radius * radius - (row - y) ** 2));
      result.fill(1, row * width + Math.max(x - half, 0), row * width + Math.min(x + half + 1, width));
    }
  });
  return result;
}

/** Without what is within `radius` of a pixel that is not selected. The picture's edge takes nothing away. */
export const shrunk = (pixels, width, radius) => inverted(grown(inverted(pixels), width, radius));

/** With all that it encloses: whatever is not reached from the picture's edge along unselected pixels. */
export function enclosed(pixels, width) {
  const result = new Uint8Array(pixels.length).fill(1);
  const height = pixels.length / width;
  const next = [];
  const reach = (x, y) => {
    const i = y * width + x;
    if (x < 0 || y < 0 || x >= width || y >= height || pixels[i] || !result[i]) return;
    result[i] = 0;
    next.push([x, y]);
  };
  for (let x = 0; x < width; x += 1) for (const y of [0, height - 1]) reach(x, y);
  for (let y = 0; y < height; y += 1) for (const x of [0, width - 1]) reach(x, y);
  while (next.length) {
    const [x, y] = next.pop();
    for (const [dx, dy] of [
      [-1, 0],
      [1, 0],
      [0, -1],
      [0, 1],
    ])
      reach(x + dx, y + dy);
  }
  return result;
}

/**
 * The pixels whose centre is inside a closed outline, wherever it goes round them, also twice. Points may lie
 * beyond the picture.
 */
export function outlined(points, width, height) {
  const result = new Uint8Array(width * height);
  for (let row = 0; row < height; row += 1) {
    const crossings = crossed(points, row + 0.5).sort((one, other) => one.x - other.x);
    let winding = 0;
    crossings.forEach(({ x, turn }, i) => {
      winding += turn;
      if (!winding) return;
      const from = Math.min(Math.max(Math.ceil(x - 0.5), 0), width);
      const to = Math.min(Math.max(Math.ceil(crossings[i + 1].x - 0.5), 0), width);
      result.fill(1, row * width + from, row * width + to);
    });
  }
  return result;
}

/** Where a closed outline crosses the line at a height, and whether downwards or upwards. */
function crossed(points, y) {
  return points.flatMap(([x0, y0], i) => {
    const [x1, y1] = points[(i + 1) % points.length];
    if (y0 <= y === y1 <= y) return [];
    return [{ x: x0 + ((y - y0) / (y1 - y0)) * (x1 - x0), turn: y1 > y0 ? 1 : -1 }];
  });
}
