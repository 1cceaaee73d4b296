// SPDX-License-Identifier: MIT
//
// Judges of the layout of a page, as one function that browser.py evaluates in it. Its
// argument selects what lies over the page on purpose (hover texts). It returns a list
// of {judge, text}; judges:
//   cut       text or a picture that a box without scroll bars, or the page, cuts off;
//             text on a canvas that leaves it
//   overlap   two texts, or a text and a picture, that lie over each other
//   sideways  the page is wider than its window
//   faint     text whose contrast to its background is below that of WCAG 2.1 AA
// On paper nothing scrolls: what a scroll box hides is cut.
(above) => {
  const SLACK = 1, SHOWN = 12;
  const PICTURES = "img,canvas,svg,video,iframe,input,select,textarea,meter,progress";
  const root = document.documentElement;
  const paper = matchMedia("print").matches;
  const found = [];

  const round = (box) => `x ${Math.round(box.left)}..${Math.round(box.right)} ` +
      `y ${Math.round(box.top)}..${Math.round(box.bottom)}`;
  const short = (text) => {
    const words = text.replace(/\s+/g, " ").trim();
    return JSON.stringify(words.length > 60 ? words.slice(0, 57) + "..." : words);
  };
  const name = (element) => {
    const parts = [];
    for (let at = element; at && at !== root && parts.length < 4;
         at = at.parentElement) {
      const classes = [...at.classList].map((one) => "." + one).join("");
      parts.unshift(at.localName + (at.id ? "#" + at.id : "") + classes);
    }
    return parts.join(" > ") || "html";
  };
  const fault = (judge, text) => found.push({judge, text});
  const empty = (box) => box.right - box.left <= 0 || box.bottom - box.top <= 0;

  const styles = new Map();
  const styleOf = (element) => {
    if (!styles.has(element)) styles.set(element, getComputedStyle(element));
    return styles.get(element);
  };
  const shown = (element) => element.checkVisibility(
      {visibilityProperty: true, opacityProperty: true, contentVisibilityAuto: true});
  // Text for screen readers alone: a box of a pixel, or one that is clipped away.
  const unseen = (element) => {
    for (let at = element; at && at !== root; at = at.parentElement) {
      const style = styleOf(at);
      if (style.position === "absolute" && style.overflow !== "visible" &&
          (at.offsetWidth <= 1 || at.offsetHeight <= 1)) return true;
    }
    return false;
  };

  const moved = (style) => style.transform !== "none" || style.filter !== "none";
  const inside = (element) => {
    const box = element.getBoundingClientRect();
    const left = box.left + element.clientLeft, top = box.top + element.clientTop;
    return {left, top, right: left + element.clientWidth,
            bottom: top + element.clientHeight};
  };
  const AXES = [["overflowX", "left", "right", "scrollLeft"],
                ["overflowY", "top", "bottom", "scrollTop"]];

  // What of a box is seen, and what cuts it: {seen, cut: [name, box] or null}.
  const clip = (element, box) => {
    const seen = {left: box.left, top: box.top, right: box.right, bottom: box.bottom};
    let cut = null, escaped = "";
    for (let at = element; at && at !== root && at !== document.body;
         at = at.parentElement) {
      const style = styleOf(at);
      const holds = escaped === "" || moved(style) ||
          (escaped === "absolute" && style.position !== "static");
      if (holds) {
        escaped = "";
        for (const [overflow, low, high, scrolled] of AXES) {
          if (style[overflow] === "visible" || style.display === "inline" ||
              at.matches(PICTURES)) continue;
          const frame = inside(at);
          const scrolls = !paper && /auto|scroll/.test(style[overflow]);
          const lost = scrolls ? seen[low] + at[scrolled] < frame[low] - SLACK :
              seen[low] < frame[low] - SLACK || seen[high] > frame[high] + SLACK;
          if (lost && !cut) cut = [name(at), frame];
          seen[low] = Math.max(seen[low], frame[low]);
          seen[high] = Math.min(seen[high], frame[high]);
        }
        if (empty(seen)) return {seen, cut};
      }
      if (/absolute|fixed/.test(style.position)) escaped = style.position;
    }
    const page = escaped === "fixed" ?
        {left: 0, top: 0, right: innerWidth, bottom: innerHeight} :
        {left: -scrollX, top: -scrollY, right: root.clientWidth - scrollX,
         bottom: Infinity};
    if (!cut && (seen.left < page.left - SLACK || seen.right > page.right + SLACK ||
                 seen.top < page.top - SLACK || seen.bottom > page.bottom + SLACK)) {
      cut = [escaped === "fixed" ? "the window" : "the page", page];
    }
    return {seen, cut};
  };

  // --- every text, line by line, and every picture
  const boxes = [];
  const LINE = "line", INK = "ink", PICTURE = "picture"; // kinds of boxes
  const add = (element, what, box, kind) => {
    if (empty(box)) return;
    const {seen, cut} = clip(element, box);
    if (cut) {
      fault("cut", `${name(element)} ${what} at ${round(box)} by ${cut[0]} ` +
          `at ${round(cut[1])}`);
    }
    if (empty(seen)) return;
    // Lines may be set tight: ink does not fill the height of its box.
    const trim = kind === LINE ? 0.15 * (box.bottom - box.top) : SLACK;
    boxes.push({element, what, kind, box, seen, left: seen.left + SLACK,
                right: seen.right - SLACK, top: seen.top + trim,
                bottom: seen.bottom - trim,
                layer: above ? element.closest(above) : null});
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const parents = new Map();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    const unread = /^(script|style|noscript|option)$/.test(parent.localName);
    if (!node.data.trim() || unread) continue;
    if (!parents.has(parent)) parents.set(parent, shown(parent) && !unseen(parent));
    if (!parents.get(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) add(parent, short(node.data), box, LINE);
  }
  for (const element of document.body.querySelectorAll(PICTURES)) {
    if (!shown(element) || unseen(element)) continue;
    const words = element.getAttribute("alt") || element.getAttribute("aria-label") ||
        element.value || "";
    add(element, short(String(words)), element.getBoundingClientRect(), PICTURE);
    if (/^(input|textarea)$/.test(element.localName) &&
        element.scrollWidth > element.clientWidth + SLACK) {
      fault("cut", `${name(element)} ${short(element.value)} of ` +
          `${element.scrollWidth} in ${element.clientWidth} pixels`);
    }
    if (element.localName === "select" && element.selectedOptions.length) {
      const style = styleOf(element);
      const pen = document.createElement("canvas").getContext("2d");
      pen.font = style.font;
      const label = element.selectedOptions[0].label;
      const needed = Math.round(pen.measureText(label).width);
      const room = element.clientWidth - parseFloat(style.paddingLeft) -
          parseFloat(style.paddingRight) - (style.appearance === "none" ? 0 : 16);
      if (needed > room + SLACK) {
        fault("cut", `${name(element)} ${short(label)} of ${needed} in ${room} pixels`);
      }
    }
  }

  for (const element of document.body.querySelectorAll("canvas")) {
    if (!shown(element)) continue;
    const frame = element.getBoundingClientRect();
    const across = frame.width / element.width, down = frame.height / element.height;
    for (const one of element.writtenTexts || []) { // see canvas_text.js
      const box = {left: frame.left + one.left * across,
                   right: frame.left + one.right * across,
                   top: frame.top + one.top * down,
                   bottom: frame.top + one.bottom * down};
      if (one.left < -SLACK || one.right > element.width + SLACK ||
          one.top < -SLACK || one.bottom > element.height + SLACK) {
        fault("cut", `${name(element)} ${short(one.text)} at ${round(box)} by its ` +
            `canvas at ${round(frame)}`);
      }
      add(element, short(one.text), box, INK);
    }
  }

  // --- overlap: from top to bottom, each with those that begin before it ends
  boxes.sort((a, b) => a.top - b.top);
  for (let i = 0; i < boxes.length; i++) {
    const a = boxes[i];
    for (let j = i + 1; j < boxes.length && boxes[j].top < a.bottom; j++) {
      const b = boxes[j];
      if (a.left >= b.right || b.left >= a.right || a.layer !== b.layer) continue;
      if (b.top >= b.bottom || a.top >= a.bottom) continue;
      if (a.element === b.element ? a.kind === PICTURE || b.kind === PICTURE :
          (a.element.matches(PICTURES) && a.element.contains(b.element) ||
           b.element.matches(PICTURES) && b.element.contains(a.element))) continue;
      fault("overlap", `${name(a.element)} ${a.what} at ${round(a.box)} and ` +
          `${name(b.element)} ${b.what} at ${round(b.box)}`);
    }
  }

  // --- sideways
  if (root.scrollWidth > root.clientWidth + SLACK) {
    const wide = [...document.body.querySelectorAll("*")].filter((element) =>
      shown(element) && !element.children.length &&
      clip(element, element.getBoundingClientRect()).seen.right + scrollX >
          root.clientWidth + SLACK);
    fault("sideways", `the page needs ${root.scrollWidth} of ${root.clientWidth} ` +
        "pixels: " + wide.slice(0, 4).map((element) => `${name(element)} ` +
            `${short(element.textContent)} at ` +
            round(element.getBoundingClientRect())).join("; "));
  }

  // --- faint: colours as they are drawn, backgrounds from the outermost in
  const pen = document.createElement("canvas").getContext("2d",
      {willReadFrequently: true});
  pen.canvas.width = pen.canvas.height = 1;
  const drawn = new Map();
  const paint = (colours) => {
    const key = colours.join(";");
    if (!drawn.has(key)) {
      pen.clearRect(0, 0, 1, 1);
      for (const colour of colours) {
        pen.fillStyle = colour;
        pen.fillRect(0, 0, 1, 1);
      }
      const light = [...pen.getImageData(0, 0, 1, 1).data].map((byte) => byte / 255)
          .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      drawn.set(key, 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]);
    }
    return drawn.get(key);
  };
  const dark = matchMedia("(prefers-color-scheme: dark)").matches &&
      styleOf(root).colorScheme.includes("dark");
  for (const [element, seen] of parents) {
    const style = styleOf(element);
    const layers = [];
    let pictured = !seen || element.closest("svg,:disabled") !== null;
    for (let at = element; at; at = at.parentElement) {
      const ground = styleOf(at);
      layers.unshift(ground.backgroundColor);
      pictured ||= ground.backgroundImage !== "none";
    }
    if (pictured) continue;
    layers.unshift(dark && !paper ? "#121212" : "#fff");
    const lights = [paint(layers), paint([...layers, style.color])];
    const ratio = (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || size >= 18.66 && style.fontWeight >= 600;
    if (ratio < (large ? 3 : 4.5)) {
      fault("faint", `${name(element)} ${short(element.textContent)} ${style.color} ` +
          `on ${layers.at(-1)}: ${ratio.toFixed(2)} to 1`);
    }
  }

  const rest = found.length - SHOWN;
  return rest > 0 ? [...found.slice(0, SHOWN),
                     {judge: "and", text: `${rest} more`}] : found;
}
