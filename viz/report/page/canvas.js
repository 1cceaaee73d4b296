/* SPDX-License-Identifier: MIT
 *
 * The map on its canvas: cells of whole pixels, row 0 on top, labels while they fit,
 * rings around leaks, the bar of colours below.
 */
const canvas = document.getElementById('map');
const LABELS = 64;        /* longest axis on which every place has a label */
const FONT = 'px system-ui, "DejaVu Sans", sans-serif';
const RINGED = 5;         /* pixels of a cell from which on a leak is ringed */
const TALLEST = 760;      /* of the cells of a map */

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function widest(pen, labels) {
  return labels.reduce((most, l) => Math.max(most, pen.measureText(l).width), 0);
}

/* Everything in pixels of the canvas. `shown` is what explorer.js says is on show. */
function layOut(pen, shown, width, dpr) {
  const {map, rowLabels, columnLabels} = shown, text = 12 * dpr, gap = 6 * dpr;

  pen.font = text + FONT;
  const most = width * .36, title = text + gap;
  const place = (labels) => {
    const named = labels.named && labels.named.length <= LABELS;
    const left = Math.min(named ? widest(pen, labels.named)
                                : widest(pen, labels.ends), most);
    const room = width - title - left - 3 * gap;
    const cell = Math.floor(Math.min(room / map.columns, TALLEST * dpr / map.rows,
                                     36 * dpr));

    return {named, left, cell};
  };
  let rows = place(rowLabels);
  if (rows.named && rows.cell < text * .95)
    rows = place({ends: rowLabels.ends});
  const cell = Math.max(1, rows.cell), named = rows.named && columnLabels.named &&
                                               columnLabels.named.length <= LABELS;
  const under = named ? Math.min(widest(pen, columnLabels.named), 150 * dpr) : text;
  const left = Math.ceil(title + rows.left + gap), top = Math.ceil(gap);
  const bottom = top + cell * map.rows, bar = bottom + gap + under + title + 2 * gap;

  return {text, gap, cell, left, top, bottom, named: {rows: rows.named, columns: named},
          labelRoom: {rows: rows.left, columns: under}, right: left + cell * map.columns,
          titleAt: bottom + gap + under + gap, bar: Math.ceil(bar),
          barWidth: Math.min(width - left - gap, Math.max(cell * map.columns, 240 * dpr)),
          height: Math.ceil(bar + 14 * dpr + title + gap)};
}

function fit(pen, label, room) {
  if (pen.measureText(label).width <= room)
    return label;
  let letters = Array.from(label);
  while (letters.length > 1 && pen.measureText(letters.join('') + '\u2026').width > room)
    letters.pop();
  return letters.join('') + '\u2026';
}

/* Every n-th place, so that numbers do not touch. */
function numbered(count, cell, room) {
  const steps = [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128];

  return steps.find((step) => step * cell >= room) || count;
}

function drawLabels(pen, shown, lay) {
  const {map, rowLabels, columnLabels} = shown;
  const middle = (i) => (i + .5) * lay.cell;

  pen.fillStyle = css('--ink');
  pen.textBaseline = 'middle';
  pen.textAlign = 'right';
  const rowStep = lay.named.rows ? 1 : numbered(map.rows, lay.cell, lay.text * 1.6);
  for (let i = 0; i < map.rows; i += rowStep)
    pen.fillText(fit(pen, lay.named.rows ? rowLabels.named[i] : rowLabels.ends[i],
                     lay.labelRoom.rows), lay.left - lay.gap, lay.top + middle(i));
  pen.textAlign = lay.named.columns ? 'right' : 'center';
  const room = widest(pen, columnLabels.ends) + 2 * lay.gap;
  const columnStep = lay.named.columns ? 1 : numbered(map.columns, lay.cell, room);
  for (let i = 0; i < map.columns; i += columnStep) {
    pen.save();
    pen.translate(lay.left + middle(i), lay.bottom + lay.gap);
    if (lay.named.columns) {
      pen.rotate(-Math.PI / 2);
      pen.fillText(fit(pen, columnLabels.named[i], lay.labelRoom.columns), 0, 0);
    } else {
      pen.fillText(columnLabels.ends[i], 0, lay.text / 2);
    }
    pen.restore();
  }
  pen.fillStyle = css('--quiet');
  pen.textAlign = 'center';
  pen.fillText(shown.columnWord, (lay.left + lay.right) / 2, lay.titleAt);
  pen.save();
  pen.translate(lay.text * .6, (lay.top + lay.bottom) / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(shown.rowWord, 0, 0);
  pen.restore();
}

function drawBar(pen, shown, lay, dpr) {
  const {scale} = shown, tall = 12 * dpr, wide = lay.barWidth;

  for (let x = 0; x < wide; x++) {
    const share = x / (wide - 1);
    const colour = blend(scale.difference ? twoSided : palette, share);

    pen.fillStyle = `rgb(${colour})`;
    pen.fillRect(lay.left + x, lay.bar, 1, tall);
  }
  pen.fillStyle = css('--ink');
  pen.textBaseline = 'top';
  const below = lay.bar + tall + 3 * dpr;
  const low = roundText(scale.low), high = roundText(scale.high);
  pen.textAlign = 'left';
  pen.fillText(scale.difference ? '-' + high : low, lay.left, below);
  pen.textAlign = 'right';
  pen.fillText(high, lay.left + wide, below);
  pen.textAlign = 'center';
  pen.fillText(scale.difference ? '0' : scale.logarithmic ? 'logarithmic' : 'linear',
               lay.left + wide / 2, below);
}

/* The colour of a cell as [red, green, blue]; null = it is blank. */
function cellColour(shown, lay, i) {
  const {map, plane, scale} = shown;

  if (map.cells[i] === HIDDEN)
    return null;
  if (map.cells[i] & LEAK && lay.cell < RINGED)
    return rgbOf(data.leak);
  if (!Number.isFinite(plane[i]))
    return rgbOf(data.nonfinite);
  return colourOf(scale, plane[i]);
}

function drawCells(pen, shown, lay, dpr) {
  const {map} = shown, {cell} = lay;

  pen.fillStyle = css('--blank');
  pen.fillRect(lay.left, lay.top, cell * map.columns, cell * map.rows);
  for (let i = 0; i < map.cells.length; i++) {
    const colour = cellColour(shown, lay, i);

    if (!colour)
      continue;
    pen.fillStyle = `rgb(${colour})`;
    pen.fillRect(lay.left + i % map.columns * cell,
                 lay.top + Math.floor(i / map.columns) * cell, cell, cell);
  }
  pen.strokeStyle = css('--line');
  pen.lineWidth = dpr;
  pen.strokeRect(lay.left - dpr / 2, lay.top - dpr / 2, cell * map.columns + dpr,
                 cell * map.rows + dpr);
  pen.strokeStyle = data.leak;
  pen.lineWidth = Math.max(1, Math.min(2 * dpr, cell / 5));
  for (let i = 0; i < map.cells.length && cell >= RINGED; i++)
    if (map.cells[i] & LEAK)
      ring(pen, lay, i, map.columns, -pen.lineWidth / 2);
}

function ring(pen, lay, i, columns, out) {
  pen.strokeRect(lay.left + i % columns * lay.cell - out,
                 lay.top + Math.floor(i / columns) * lay.cell - out,
                 lay.cell + 2 * out, lay.cell + 2 * out);
}

/* A frame around the cell at hand, which hides nothing of it. */
function drawCursor(pen, shown, lay, cursor, dpr) {
  const i = cursor.row * shown.map.columns + cursor.column;

  pen.lineWidth = 2 * dpr;
  pen.strokeStyle = '#fff';
  ring(pen, lay, i, shown.map.columns, 3 * dpr);
  pen.strokeStyle = '#000';
  ring(pen, lay, i, shown.map.columns, dpr);
}

/* Draws what is on show and returns where it lies. */
function draw(shown, cursor) {
  const dpr = window.devicePixelRatio || 1, pen = canvas.getContext('2d');
  const width = Math.floor(canvas.clientWidth * dpr);
  const lay = layOut(pen, shown, width, dpr);

  canvas.width = width;
  canvas.height = lay.height;
  canvas.style.height = lay.height / dpr + 'px';
  pen.font = lay.text + FONT;
  drawCells(pen, shown, lay, dpr);
  drawLabels(pen, shown, lay);
  drawBar(pen, shown, lay, dpr);
  if (cursor)
    drawCursor(pen, shown, lay, cursor, dpr);
  return Object.assign(lay, {dpr});
}
