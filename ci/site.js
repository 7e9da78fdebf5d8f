// Looks at every page of the site at the width of a phone, of a desktop, and of a large screen. ci/site puts this into a page beside them, with
// `pages`, a list of their paths. A window of Chromium is at least 500 wide, so each page is loaded into a frame. In the end the element "site"
// says "ok N", or what is wrong: something is wider than the window, a name in a table is torn inside a word, a picture is cut off, or a text
// is hard to read in the light or the dark theme.
const widths = [390, 1280, 1920];
const frame = document.createElement("iframe");
frame.style = "border:0;height:800px";
document.body.append(frame);

function load(page, width) {
  return new Promise((loaded) => {
    frame.onload = loaded;
    frame.style.width = width + "px";
    frame.src = page;
  });
}

const text = (element) => element.textContent.trim().slice(0, 40);

// A word of letters and digits, with the underscore behind it, stays on one line.
function isTorn(element) {
  const nodes = element.ownerDocument.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node; (node = nodes.nextNode()); )
    for (const word of node.data.matchAll(/[A-Za-z0-9]+_?/g)) {
      const range = element.ownerDocument.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (range.getClientRects().length > 1) return true;
    }
  return false;
}

function isCut(label) {
  const inner = label.getBoundingClientRect(), outer = label.ownerSVGElement.getBoundingClientRect();
  return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1;
}

// The contrast of two colours, as WCAG defines it: 4.5 is its lower bound for text.
function light(colour) {
  const [r, g, b] = colour.match(/[\d.]+/g).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(one, other) {
  const [less, more] = [light(one), light(other)].sort((a, b) => a - b);
  return (more + 0.05) / (less + 0.05);
}

// Labels of pictures and paragraphs that cannot be read on the page's background.
function pale(page, theme) {
  page.body.dataset.theme = theme;
  const style = (element) => frame.contentWindow.getComputedStyle(element), ground = style(page.body).backgroundColor, found = [];
  for (const element of page.querySelectorAll(".picture svg text, article p")) {
    const colour = element.closest("svg") ? style(element).fill : style(element).color;
    if (contrast(colour, ground) < 4.5) found.push("pale when " + theme + ": " + text(element) + " " + colour + " on " + ground);
  }
  return found;
}

function faults(width) {
  const page = frame.contentDocument, all = (what) => [...page.querySelectorAll(what)];
  const found = [];
  if (page.documentElement.scrollWidth > width) found.push("the page is " + page.documentElement.scrollWidth + " wide");
  for (const element of all("article *"))
    if (element.getBoundingClientRect().right > width + 1 && !element.closest("pre, table")) found.push("too wide: " + element.tagName + " " + text(element));
  for (const element of all("article td code, article td a")) if (isTorn(element)) found.push("torn: " + text(element));
  for (const label of all(".picture svg text")) if (isCut(label)) found.push("cut off: " + text(label));
  if (!all("article h1").length) found.push("there is no heading");
  if (width === 1280) for (const theme of ["dark", "light"]) found.push(...pale(page, theme));
  return found;
}

(async () => {
  const out = document.createElement("pre"), wrong = [];
  for (const page of pages)
    for (const width of widths) {
      await load(page, width);
      const found = faults(width);
      if (found.length) wrong.push(page + " at " + width + ": " + found.slice(0, 3).join(", "));
    }
  out.id = "site";
  out.textContent = wrong.length ? wrong.join(";") : "ok " + pages.length * widths.length;
  document.body.append(out);
})();
