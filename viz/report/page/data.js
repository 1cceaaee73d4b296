/* SPDX-License-Identifier: MIT
 *
 * What the page holds of the maps: the element `explorer-data`, written by
 * viz/report/explorer*.c, whose header says what is in it. A map is decoded when it is
 * looked at.
 */
const held = document.getElementById('explorer-data');
const data = held ? JSON.parse(held.textContent) : {kinds: []};

const HIDDEN = 0, SEEN = 1, LEAK = 2; /* what a cell is */

function bytesOf(code) {
  const text = atob(code), bytes = new Uint8Array(text.length);

  for (let i = 0; i < text.length; i++)
    bytes[i] = text.charCodeAt(i);
  return bytes;
}

/* 1 bit of sign, 6 of exponent, 9 of fraction: three digits over 20 decades. */
function shortFloat(code) {
  const exponent = code >> 9 & 63, fraction = code & 511;
  const size = exponent === 63 ? (fraction ? NaN : Infinity)
             : exponent        ? (1 + fraction / 512) * Math.pow(2, exponent - 47)
                               : fraction * Math.pow(2, -55);

  return code & 0x8000 ? -size : size;
}

const LARGEST_SHORT = shortFloat(62 << 9 | 511);

function reader(width) {
  return width === 8   ? (view, at) => view.getFloat64(at, true)
         : width === 4 ? (view, at) => view.getFloat32(at, true)
                       : (view, at) => shortFloat(view.getUint16(at, true));
}

/* The cells of one mask, a byte each: SEEN or HIDDEN. */
const masks = [];

function maskOf(number, count) {
  if (!masks[number]) {
    const bits = bytesOf(data.masks[number]);

    masks[number] = new Uint8Array(count);
    for (let i = 0; i < count; i++)
      masks[number][i] = bits[i >> 3] >> (i & 7) & 1 ? SEEN : HIDDEN;
  }
  return masks[number];
}

/* One map: `values` and `means` are NaN where nothing is known, `cells` what each is. */
function decode(kind, frame, mask, code) {
  const rows = Math.ceil(frame.rows / kind.side);
  const columns = Math.ceil(frame.columns / kind.side), count = rows * columns;
  const cells = maskOf(mask, count).slice();
  const values = new Float64Array(count).fill(NaN);
  const means = kind.mean ? new Float64Array(count).fill(NaN) : null;
  const bytes = bytesOf(code), view = new DataView(bytes.buffer);
  const read = reader(kind.width), wide = Math.max(4, kind.width);
  const readLeak = reader(wide);
  let at = 0;

  for (const into of means ? [values, means] : [values])
    for (let i = 0; i < count; i++)
      if (cells[i] === SEEN) {
        into[i] = read(view, at);
        at += kind.width;
      }
  const leaks = []; /* of cells that hold seen pairs too */
  for (; at < bytes.length; at += 4 + wide) {
    const cell = view.getUint16(at, true) * columns + view.getUint16(at + 2, true);

    leaks[cell] = readLeak(view, at + 4);
    if (cells[cell] === HIDDEN)
      values[cell] = leaks[cell];
    cells[cell] |= LEAK;
  }
  return {rows, columns, cells, values, means, leaks};
}

/* The places of an axis of which something was recorded: 'layer' by index, or 'head'. */
function recorded(kind, axis) {
  const count = axis === 'head' ? kind.heads : kind.layers.length;
  const some = new Array(count).fill(false);

  kind.maps.forEach((map, at) => {
    const head = at % kind.heads, layer = Math.floor(at / kind.heads);

    some[axis === 'head' ? head : layer % kind.layers.length] |= map !== null;
  });
  return some.map((is, i) => is ? i : -1).filter((i) => i >= 0);
}

/* What stands at a place, of the recordings held: 0, 1, or 2 for what the second has
 * more than the first. Null = it was not recorded. */
function mapAt(kind, recording, frame, layer, head) {
  const one = (which) => {
    const at = ((which * kind.frames.length + frame) * kind.layers.length + layer) *
               kind.heads + head;

    return kind.maps[at] &&
           decode(kind, kind.frames[frame], kind.masks[at], kind.maps[at]);
  };

  if (recording < 2)
    return one(recording);
  const a = one(0), b = one(1);
  if (!a || !b)
    return null;
  const of = (map, name, i) => map.cells[i] ? map[name][i] : 0;
  for (const name of b.means ? ['values', 'means'] : ['values'])
    for (let i = 0; i < b.cells.length; i++)
      b[name][i] = a.cells[i] | b.cells[i] ? of(b, name, i) - of(a, name, i) : NaN;
  for (let i = 0; i < b.cells.length; i++)
    b.cells[i] |= a.cells[i];
  return b;
}
