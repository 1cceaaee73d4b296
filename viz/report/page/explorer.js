/* SPDX-License-Identifier: MIT
 *
 * The explorer: pickers, the cell under the pointer or the arrow keys, and what it
 * holds in words. Without it the page is complete but still.
 */
const section = document.getElementById('explorer');
const readout = document.getElementById('readout');
const picks = {};
let shown = null, lay = null, cursor = null;

const names = ['kind', 'view', 'step', 'batch', 'layer', 'head', 'scale', 'pool'];

function kindNow() {
  return data.kinds[Number(picks.kind.value)];
}

/* Gives a picker its choices, [value, words]; the one before stays if it is there. */
function offer(name, choices, preferred) {
  const pick = picks[name], before = preferred === undefined ? pick.value : preferred;

  pick.replaceChildren(...choices.map(([value, words]) => {
    const option = document.createElement('option');

    option.value = value;
    option.textContent = words;
    return option;
  }));
  if (choices.some(([value]) => String(value) === String(before)))
    pick.value = before;
  pick.disabled = choices.length < 2;
}

function unique(values) {
  return Array.from(new Set(values));
}

function offerAll() {
  const kind = kindNow(), count = kind.rows > LABELS || kind.columns > LABELS;

  offer('view', data.recordings.length < 2
                    ? [[0, 'recorded']]
                    : [[0, 'A: ' + data.recordings[0]], [1, 'B: ' + data.recordings[1]],
                       [2, 'B - A']]);
  offer('step', unique(kind.frames.map((f) => f.step))
                    .map((s) => [s, kind.frames.find((f) => f.step === s).name]));
  offer('batch', unique(kind.frames.map((f) => f.batch)).map((b) => [b, b]));
  offer('layer', recorded(kind, 'layer').map((i) => [kind.layers[i], kind.layers[i]]));
  offer('head', recorded(kind, 'head').map((h) => [h, h]));
  offer('scale', [['linear', 'linear'], ['log', 'logarithmic']],
        picks.scale.value || (count ? 'log' : 'linear'));
  offer('pool', !pooled(kind) ? [['max', 'exact']]
              : kind.mean     ? [['max', 'largest'], ['mean', 'mean']]
                              : [['max', 'largest']]);
  document.getElementById('held').textContent = kind.notes.join(' ');
}

/* Whether a cell stands for more than one query and key. */
function pooled(kind) {
  return kind.side > 1 ||
         kind.frames.some((f) => f.rows < f.queries || f.columns < f.keys);
}

/* The tokens [first, end) of a row or column of cells. */
function rangeOf(kind, frame, cell, ofKeys) {
  const places = ofKeys ? frame.columns : frame.rows;
  const tokens = ofKeys ? frame.keys : frame.queries;
  const from = cell * kind.side, end = Math.min(from + kind.side, places);

  return [Math.floor(from * tokens / places), Math.floor(end * tokens / places)];
}

function piece(frame, place, ofKeys, memory) {
  const list = data.tokens[ofKeys && memory ? frame.memory : frame.tokens];
  const text = list && list[place];

  return text ? ' ' + text : '';
}

/* Isolated, so that Hebrew turns no number beside it around. */
function isolate(text) {
  return text && ' \u2068' + text.slice(1) + '\u2069';
}

function placeText(kind, frame, cell, ofKeys) {
  const [first, end] = rangeOf(kind, frame, cell, ofKeys);
  const word = ofKeys ? kind.column : kind.row, memory = kind.memory;

  if (end - first < 2)
    return `${word} ${first}${isolate(piece(frame, first, ofKeys, memory))}`;
  return `${word} ${first} to ${end - 1}` +
         (end - first > 4 ? '' : ':' + Array.from({length: end - first}, (_, i) =>
             isolate(piece(frame, first + i, ofKeys, memory))).join(''));
}

function labelsOf(kind, frame, count, ofKeys) {
  const ends = [], named = [], list = data.tokens[ofKeys && kind.memory ? frame.memory
                                                                        : frame.tokens];

  for (let i = 0; i < count; i++) {
    const [first] = rangeOf(kind, frame, i, ofKeys);

    ends.push(String(first));
    named.push(first + piece(frame, first, ofKeys, kind.memory));
  }
  return {ends, named: list && !pooled(kind) && count <= LABELS ? named : null};
}

/* What a cell holds, in words. */
function textOf(row, column) {
  const {kind, frame, map} = shown, i = row * map.columns + column;
  const place = placeText(kind, frame, row, false) + ' \u2192 ' +
                placeText(kind, frame, column, true);
  const [q, qEnd] = rangeOf(kind, frame, row, false);
  const [k, kEnd] = rangeOf(kind, frame, column, true);
  const count = (qEnd - q) * (kEnd - k), say = (v) => numberText(v, kind.width);
  const leak = map.leaks[i], exact = shown.view === 2 ? roundText : say;

  if (map.cells[i] === HIDDEN)
    return `${place}\nblank: hidden by the claimed mask, padding, or not computed`;
  if (shown.view === 2)
    return `${place}\n${count > 1 ? 'difference of the largest' : 'difference'}: ` +
           exact(map.values[i]) +
           (map.means ? `; of the means: ${exact(map.means[i])}` : '');
  let words = count > 1 ? `largest of ${count} cells: ${say(map.values[i])}`
                        : `weight ${say(map.values[i])}`;
  if (map.means && map.cells[i] & SEEN)
    words += `; mean ${say(map.means[i])}`;
  if (map.cells[i] & LEAK)
    words = (map.cells[i] & SEEN ? words + '; ' : '') +
            `leak: ${count > 1 ? 'a key' : 'this key'} is hidden by the claimed mask, ` +
            `but has the weight ${numberText(leak, Math.max(4, kind.width))}`;
  return `${place}\n${words}`;
}

function titleText() {
  const {kind, frame, scale} = shown, site = kind.memory ? 'cross' : 'attn';
  const view = data.recordings.length < 2 ? '' : ', ' +
               (shown.view === 2 ? 'B - A' : 'recording ' + 'AB'[shown.view]);
  const colours = scale.refused ? 'linear (logarithmic needs values of 0 and more)'
                : scale.logarithmic ? 'logarithmic' : 'linear';
  const ends = scale.difference ? `0 to ${roundText(scale.high)} of either sign`
                                : `${roundText(scale.low)} to ${roundText(scale.high)}`;

  return `layers.${kind.layers[shown.layer]}.${site}.weights, head ${shown.head}, ` +
         `step ${frame.name}, batch ${frame.batch}${view}; colours ${colours}, ${ends}`;
}

/* Reads the pickers and draws what they say. */
function show() {
  const kind = kindNow(), view = Number(picks.view.value);
  const at = kind.frames.findIndex((f) => f.step === Number(picks.step.value) &&
                                          f.batch === Number(picks.batch.value));
  const frame = kind.frames[at], layer = kind.layers.indexOf(Number(picks.layer.value));
  const head = Number(picks.head.value), map = frame && mapAt(kind, view, at, layer, head);

  canvas.hidden = !map;
  if (!map) {
    shown = null;
    readout.textContent = 'This map was not recorded.';
    return;
  }
  const plane = picks.pool.value === 'mean' && map.means
                    ? map.means.map((m, i) => map.cells[i] & SEEN ? m : map.values[i])
                    : map.values;
  shown = {kind, frame, layer, head, view, map, plane, rowWord: kind.row,
           columnWord: kind.column,
           scale: scaleOf(plane, picks.scale.value === 'log', view === 2),
           rowLabels: labelsOf(kind, frame, map.rows, false),
           columnLabels: labelsOf(kind, frame, map.columns, true)};
  document.getElementById('map-title').textContent = titleText();
  canvas.setAttribute('aria-label', titleText());
  if (cursor && (cursor.row >= map.rows || cursor.column >= map.columns))
    cursor = null;
  redraw();
}

function redraw() {
  if (!shown || section.hidden)
    return;
  lay = draw(shown, cursor);
  readout.classList.toggle('idle', !cursor);
  readout.textContent = cursor ? textOf(cursor.row, cursor.column)
                               : 'Point at a cell, or press the arrow keys on the map.';
}

function moveTo(row, column) {
  const {map} = shown;

  cursor = {row: Math.min(Math.max(row, 0), map.rows - 1),
            column: Math.min(Math.max(column, 0), map.columns - 1)};
  redraw();
}

/* The cell at a place of the canvas, in CSS pixels from its corner. */
function cellAt(x, y) {
  const column = Math.floor((x * lay.dpr - lay.left) / lay.cell);
  const row = Math.floor((y * lay.dpr - lay.top) / lay.cell);

  return row < 0 || column < 0 || row >= shown.map.rows || column >= shown.map.columns
             ? null
             : {row, column};
}

function onPointer(event) {
  const cell = shown && cellAt(event.offsetX, event.offsetY);

  if (cell && !(cursor && cursor.row === cell.row && cursor.column === cell.column))
    moveTo(cell.row, cell.column);
}

function onKey(event) {
  const last = shown && shown.map.columns - 1, far = event.shiftKey ? 10 : 1;
  const at = cursor || {row: 0, column: 0};
  const moves = {ArrowUp: [-far, 0], ArrowDown: [far, 0], ArrowLeft: [0, -far],
                 ArrowRight: [0, far], PageUp: [-10, 0], PageDown: [10, 0],
                 Home: [0, -at.column], End: [0, last - at.column]};

  if (!shown || event.ctrlKey || event.altKey || event.metaKey)
    return;
  if (event.key === 'Escape') {
    cursor = null;
    redraw();
  } else if (moves[event.key]) {
    const [down, right] = cursor ? moves[event.key] : [0, 0];

    event.preventDefault();
    moveTo(at.row + down, at.column + right);
  }
}

/* Sets what is named, leaves the rest; draws. */
function select(wanted) {
  if (wanted.kind !== undefined) {
    picks.kind.value = wanted.kind;
    offerAll();
  }
  for (const name of names)
    if (wanted[name] !== undefined)
      picks[name].value = wanted[name];
  show();
}

/* The place of a finding, as `select` takes it; null = the page does not hold it. */
function placeOf(button) {
  const wanted = {}, kind = data.kinds.findIndex((k) => k.name === button.dataset.kind);

  for (const name of ['step', 'batch', 'layer', 'head', 'query', 'key'])
    wanted[name] = Number(button.dataset[name]);
  const held = data.kinds[kind];
  if (!held || !held.layers.includes(wanted.layer) || wanted.head >= held.heads ||
      !held.frames.some((f) => f.step === wanted.step && f.batch === wanted.batch))
    return null;
  return {...wanted, kind};
}

function go(place) {
  cursor = null;
  select({kind: place.kind, step: place.step, batch: place.batch, layer: place.layer,
          head: place.head, view: 0});
  if (shown && place.query >= 0 && place.key >= 0)
    moveTo(cellOf(place.query, false), cellOf(place.key, true));
}

/* A finding whose place the page holds leads to it. */
function wireFinding(button) {
  const place = placeOf(button);

  if (!place)
    return;
  button.hidden = false;
  button.addEventListener('click', () => {
    go(place);
    section.scrollIntoView();
    canvas.focus({preventScroll: true});
  });
}

/* The row or column of cells that holds a token. */
function cellOf(token, ofKeys) {
  const {kind, frame, map} = shown, count = ofKeys ? map.columns : map.rows;

  for (let cell = 0; cell < count; cell++)
    if (token < rangeOf(kind, frame, cell, ofKeys)[1])
      return cell;
  return count - 1;
}

function start() {
  for (const name of names) {
    picks[name] = document.getElementById('pick-' + name);
    picks[name].addEventListener('change', () => select(
        name === 'kind' ? {kind: picks.kind.value} : {}));
  }
  offer('kind', data.kinds.map((k, i) => [i, k.title]));
  for (const name of ['kind', 'view', 'batch'])
    picks[name].parentElement.hidden = name === 'kind'   ? data.kinds.length < 2
                                     : name === 'view' ? data.recordings.length < 2
                                                       : data.kinds.every((k) =>
                                       k.frames.every((f) => f.batch === 0));
  offerAll();
  section.hidden = false;
  canvas.addEventListener('pointermove', onPointer);
  canvas.addEventListener('pointerdown', onPointer);
  canvas.addEventListener('keydown', onKey);
  canvas.addEventListener('focus', () => cursor || !shown || moveTo(0, 0));
  const findings = [...document.querySelectorAll('button.show')];
  const first = findings.map(placeOf).find((place) => place);
  findings.forEach(wireFinding);
  const way = document.getElementById('to-explorer');
  way.hidden = false;
  way.addEventListener('click', () => section.scrollIntoView());
  window.addEventListener('resize', redraw);
  for (const query of ['print', '(prefers-color-scheme: dark)'])
    window.matchMedia(query).addEventListener('change', redraw);
  show();
  if (first)
    go(first);
}

if (section && data.kinds.length)
  start();

/* For scripts that look at the page: places in cells and in CSS pixels of the canvas. */
window.txdiagReport = {
  data,
  select,
  state: () => Object.assign({cursor}, ...names.map((n) => ({[n]: picks[n].value}))),
  grid: () => shown && {rows: shown.map.rows, columns: shown.map.columns},
  cellAt,
  centre: (row, column) => ({x: (lay.left + (column + .5) * lay.cell) / lay.dpr,
                             y: (lay.top + (row + .5) * lay.cell) / lay.dpr}),
  value: (row, column) => {
    const i = row * shown.map.columns + column;

    return shown.map.cells[i] === HIDDEN ? null : shown.plane[i];
  },
  colour: (row, column) => cellColour(shown, lay, row * shown.map.columns + column),
  blank: () => css('--blank'),
  text: textOf,
};
