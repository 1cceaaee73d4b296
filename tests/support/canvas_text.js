// SPDX-License-Identifier: MIT
//
// Keeps what a page writes on its canvases, for layout.js: each canvas gets a list
// `writtenTexts` of {text, left, top, right, bottom}, in its pixels, of the ink. It is
// emptied when the canvas is, by setting its width. Runs before any script of the page.
(() => {
  const canvas = HTMLCanvasElement.prototype, pen = CanvasRenderingContext2D.prototype;
  const width = Object.getOwnPropertyDescriptor(canvas, "width");
  const fillText = pen.fillText;

  Object.defineProperty(canvas, "width", {...width, set(value) {
    this.writtenTexts = [];
    width.set.call(this, value);
  }});
  pen.fillText = function (text, x, y, ...more) {
    const ink = this.measureText(text), turn = this.getTransform();
    const sides = [x - ink.actualBoundingBoxLeft, x + ink.actualBoundingBoxRight];
    const ends = [y - ink.actualBoundingBoxAscent, y + ink.actualBoundingBoxDescent];
    const corners = sides.flatMap((a) => ends.map(
        (b) => turn.transformPoint({x: a, y: b})));
    const xs = corners.map((one) => one.x), ys = corners.map((one) => one.y);

    (this.canvas.writtenTexts ||= []).push({text: String(text),
        left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys),
        bottom: Math.max(...ys)});
    return fillText.call(this, text, x, y, ...more);
  };
})();
