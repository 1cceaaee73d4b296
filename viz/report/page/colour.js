/* SPDX-License-Identifier: MIT
 *
 * From numbers to colours, as the still pictures do it (viz/draw/map.c), and to words.
 */
const palette = (data.palette || []).map(rgbOf);
/* Of differences: blue is less, brown is more, and both darken away from 0. */
const twoSided = ['#08306b', '#2171b5', '#9ecae1', '#f7f7f7', '#fdae6b', '#b35806',
                  '#5c2a02'].map(rgbOf);

function rgbOf(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function blend(stops, share) {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const from = Math.min(Math.floor(at), stops.length - 2);

  return stops[from].map((c, i) => Math.round(c + (stops[from + 1][i] - c) *
                                                     (at - from)));
}

/* The range of colours: six decades at most where it is logarithmic, so that the colours
 * of large values stay apart. */
function scaleOf(values, logarithmic, difference) {
  let low = Infinity, least = Infinity, high = -Infinity;

  for (const value of values) {
    const size = difference ? Math.abs(value) : value;

    if (!Number.isFinite(size))
      continue;
    low = Math.min(low, size);
    high = Math.max(high, size);
    if (size > 0)
      least = Math.min(least, size);
  }
  if (low > high)
    low = 0, high = 1;
  const scale = {difference, refused: logarithmic && low < 0,
                 logarithmic: logarithmic && low >= 0};
  if (scale.logarithmic) {
    scale.high = Number.isFinite(least) ? Math.max(high, 1e-300) : 1;
    scale.low = Math.min(Math.max(Number.isFinite(least) ? least : 1e-6,
                                  scale.high * 1e-6), scale.high * .1);
  } else {
    scale.low = Math.min(low, 0);
    scale.high = high > scale.low ? high : scale.low + Math.max(1, -scale.low);
  }
  return scale;
}

/* From 0 to 1, of any finite numbers: neither a range nor a quotient overflows. */
function shareOf(scale, value) {
  const size = Math.min(Math.max(value, scale.low), scale.high);
  const unit = scale.logarithmic ? scale.low : Math.max(scale.high, -scale.low);

  return scale.logarithmic ? Math.log(size / unit) / Math.log(scale.high / unit)
                           : (size / unit - scale.low / unit) /
                                 (scale.high / unit - scale.low / unit);
}

function colourOf(scale, value) {
  if (!scale.difference)
    return blend(palette, shareOf(scale, value));
  const share = shareOf(scale, Math.abs(value)) / 2;

  return blend(twoSided, value < 0 ? .5 - share : .5 + share);
}

/* A number as it was recorded: the fewest digits that name its float32 or float64. */
function numberText(value, width) {
  if (!Number.isFinite(value))
    return Number.isNaN(value) ? 'NaN' : value > 0 ? 'infinity' : '-infinity';
  if (width === 8)
    return String(value);
  if (width === 2)
    return (Math.abs(value) === LARGEST_SHORT ? 'at least ' : '') +
           String(Number(value.toPrecision(3)));
  for (let digits = 1; digits < 9; digits++)
    if (Math.fround(Number(value.toPrecision(digits))) === value)
      return String(Number(value.toPrecision(digits)));
  return String(Number(value.toPrecision(9)));
}

function roundText(value) {
  return String(Number(value.toPrecision(3)));
}
