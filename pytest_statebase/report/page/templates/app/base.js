// What every view is made of: elements, texts, the packed data, the address, keys and announcements.
// Nothing recorded becomes markup: texts are text nodes, attributes are set one by one, links lead into the page alone.

const SVG = "http://www.w3.org/2000/svg";

// Everything that has no shape of its own, written out: control characters, changes of direction, lone surrogates.
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e007f}]/gu;

function escaped(character) {
  const code = character.codePointAt(0);
  const short = { 9: "\\t", 10: "\\n", 13: "\\r" }[code];
  if (short) return short;
  if (code < 256) return "\\x" + code.toString(16).padStart(2, "0");
  if (code < 65536) return "\\u" + code.toString(16).padStart(4, "0");
  return "\\U" + code.toString(16).padStart(8, "0");
}

// A text as it may be shown. lines: keep line breaks and tabs.
function visible(text, lines = false) {
  const whole = String(text);
  if (!lines) return whole.replace(UNSEEN, escaped);
  return whole.replace(/\r\n/g, "\n").replace(UNSEEN, (one) => (one === "\n" || one === "\t" ? one : escaped(one)));
}

// An element. props: `class`, `on: {event: function}`, `data: {…}`, `prop: {…}` for properties, `label` and `mute` for what a screen
// reader says and passes over; everything else is an attribute. null and false leave one out, true sets it empty. props may be missing.
// children: elements, texts (made visible), lists of them; null and false are left out.
function h(tag, props, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name || "div");
  const given = props && props.constructor === Object;
  return filled(made, classes, given ? props : null, given ? children : [props, ...children]);
}

function svg(tag, props, ...children) {
  return filled(document.createElementNS(SVG, tag), [], props, children);
}

function filled(made, classes, props, children) {
  if (made.localName === "button") made.type = "button";
  if (classes.length) made.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(props || {})) {
    if (key === "on") for (const [event, run] of Object.entries(value)) made.addEventListener(event, run);
    else if (key === "data") Object.assign(made.dataset, value);
    else if (key === "prop") Object.assign(made, value);
    else if (value === null || value === undefined || value === false) continue;
    else if (key === "class") made.setAttribute("class", [...classes, value].join(" "));
    else if (key === "href" && !String(value).startsWith("#")) throw new Error("links lead into the page alone");
    else if (key === "label") made.setAttribute("aria-label", value);
    else if (key === "mute") made.setAttribute("aria-hidden", value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  append(made, children);
  return made;
}

function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(parent, child);
    else if (child instanceof Node) parent.append(child);
    else parent.append(visible(child, true));
  }
  return parent;
}

const byId = (id) => document.getElementById(id);
const listen = (target, event, run, options) => target.addEventListener(event, run, options);
// As style sheets have it.
const NARROW = matchMedia("(max-width: 46rem)");
const focused = () => document.activeElement;
// Without moving the page.
const focusQuietly = (element) => element?.focus({ preventScroll: true });
const setStyle = (element, name, value) => element.style.setProperty(name, value);

const dim = (...inner) => h("span.dim", ...inner);
const sr = (...inner) => h("span.sr", ...inner); // for those who hear the page
const button = (words, click, props) => h("button", { ...props, on: { click } }, words);
// What unfolds: its words, and what stands below them.
const more = (words, open, ...inner) => h("details.more", { open }, h("summary", words), inner);
// Names of columns and of a row, in a table.
const columns = (...names) => h("thead", h("tr", names.map((name) => h("th", { scope: "col" }, name))));
const rowName = (...inner) => h("th", { scope: "row" }, ...inner);
const factList = (facts) => h("dl.facts", facts.map(([name, value]) => h("div", h("dt", name), h("dd", bdi(value)))));

// Recorded text keeps its own direction and changes nobody else's.
const bdi = (text) => h("bdi", text);
const code = (text, props) => h("code", { dir: "auto", ...props }, text);
const number = (value) => (typeof value === "number" ? value.toLocaleString("en") : "");
const plural = (count, word) => number(count) + " " + word + (count === 1 ? "" : "s");

// How groups and verdicts look and read: always a word and a sign, never a colour alone.
const SIGNS = { fail: "✕", norun: "⊘", review: "◆", ok: "✓" };

const signOf = (slug, sign = SIGNS[slug] || "•") => h("span.sign", { class: slug, mute: true }, sign);

function chip(text, slug) {
  return h("span.chip", { class: slug }, signOf(slug), " ", text);
}

// ---- data ----

async function unpack(text) {
  const raw = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

const store = {
  index: null,
  places: new Map(),
  chunks: new Map(),
  async load() {
    this.index = await unpack(byId("index").textContent);
    this.index.sessions.forEach((one, position) => this.places.set(one.id, position));
  },
  summary(id) {
    return this.index.sessions[this.places.get(id)];
  },
  // The row of a session, unpacked when it is first asked for; the last chunks are kept.
  async session(id) {
    const summary = this.summary(id);
    if (!summary) return null;
    let chunk = this.chunks.get(summary.chunk);
    if (chunk) this.chunks.delete(summary.chunk);
    else chunk = unpack(byId("chunk-" + summary.chunk).textContent);
    this.chunks.set(summary.chunk, chunk);
    if (this.chunks.size > 12) this.chunks.delete(this.chunks.keys().next().value);
    return (await chunk)[id];
  },
};

// ---- the address ----
// `#` the overview, `#s-1234` a session, `#s-1234-3` its turn 3, `#s-1234-3-c2` the second call there, `#s-1234-3-d-PRINT` a
// difference there, `#s-1234-3-r2` the second request there, `#traces` the explorer; each with `?key=value` for what is chosen on it.

const place = {
  home: "#", // the overview as it was left
  parse(hash) {
    const [path, query] = hash.replace(/^#/, "").split("?");
    const params = new URLSearchParams(query || "");
    // A turn is as JavaScript writes its number: results of strangers may have any.
    const found = /^(s-[0-9a-f]+(?:-x\d+)?)(?:-(-?(?:[\d.e+]+|Infinity)))?(?:-c(\d+)|-r(\d+)|-d-([\w]+))?$/.exec(path);
    if (!found) return { view: path || "overview", params };
    const [, id, turn, call, request, print] = found;
    return { view: "session", id, turn: turn ? +turn : null, call: call ? +call : null, request: request ? +request : null, print: print || null, params };
  },
  now() {
    return this.parse(location.hash);
  },
  // The address with some parameters set, or taken out where the value is empty.
  with(params, path) {
    const [old, query] = location.hash.replace(/^#/, "").split("?");
    const made = new URLSearchParams(path === undefined ? query || "" : "");
    for (const [key, value] of Object.entries(params)) {
      if (value === null || value === undefined || value === "") made.delete(key);
      else made.set(key, value);
    }
    const text = made.toString();
    return "#" + (path === undefined ? old : path) + (text ? "?" + text : "");
  },
  // What is chosen within a view: no entry of its own in the history, and the view is not drawn again.
  keep(params) {
    history.replaceState(history.state, "", this.with(params));
  },
  go(hash) {
    location.hash = hash;
  },
};

// ---- keys ----

const keys = {
  all: [],
  // combination: as KeyboardEvent.key has it (`j`, `ArrowLeft`, `?`), several with blanks between; view: null for every view.
  // run: gets the event; false leaves it to the browser. What is added again takes the place of the first.
  add(combination, words, run, view = null) {
    const old = this.all.findIndex((one) => one.combination === combination && one.view === view);
    this.all.splice(old < 0 ? this.all.length : old, 1, { combination, words, run, view });
  },
  press(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || this.belongsTo(event)) return;
    const view = place.now().view;
    const fits = (one) => (one.view === null || one.view === view) && one.combination.split(" ").includes(event.key);
    // A view's own keys before everybody's.
    const found = this.all.filter(fits).sort((a, b) => (a.view === null) - (b.view === null));
    if (found.some((one) => one.run(event) !== false)) event.preventDefault();
  },
  // Whether the key is the element's own: a letter typed into a field, Enter on a link, anything in a dialog.
  belongsTo(event) {
    if (document.querySelector("dialog[open]")) return true;
    if (event.key === "Escape") return false;
    if (event.target.closest("input, textarea, select")) return true;
    return (event.key === "Enter" || event.key === " ") && event.target.closest("a, button, summary") !== null;
  },
};

// ---- what people take with them ----

// Tell a screen reader.
function say(text) {
  const live = byId("live");
  live.textContent = "";
  requestAnimationFrame(() => { live.textContent = visible(text); });
}

// A button that copies; words: what it says. text: a string, or a function that makes it when it is pressed.
function copyButton(words, text, props) {
  const made = button(words, async () => {
    await copied(typeof text === "function" ? await text() : text);
    made.textContent = "Copied";
    say("Copied");
    setTimeout(() => { made.textContent = words; }, 1500);
  }, props);
  return made;
}

// The same, or a word where a name in the text was cut for the page: the beginning of one names something else.
function copyWhole(names, ...button) {
  return names.some((name) => name && name.length > 2000) ? dim("too long to copy") : copyButton(...button);
}

// From disk the page is no secure context in every browser: there the old way is left.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = h("textarea.away", { mute: true, tabindex: "-1", prop: { value: text } });
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
}

function download(name, text, type = "text/plain;charset=utf-8") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// ---- long lists ----

// A list of which only what is seen is there. rows: how many; height: of one, in pixels; draw(i): the element of row i.
// Returns the element, with `.show(i)` to bring a row into view, `.to(top)` to scroll, and `.redraw(rows)`.
function virtualList(rows, height, draw, props) {
  const inner = h("div.tall", { role: "presentation" });
  const box = h("div.virtual", { tabindex: "-1", ...props }, inner);
  let count = rows;
  let first = -1;
  let last = -1;
  const paint = () => {
    const from = Math.max(0, Math.floor(box.scrollTop / height) - 8);
    const to = Math.min(count, Math.ceil((box.scrollTop + (box.clientHeight || 800)) / height) + 8);
    if (from === first && to === last) return;
    first = from;
    last = to;
    const held = heldRow(inner);
    const drawn = [];
    for (let i = from; i < to; i++) {
      const row = draw(i);
      row.dataset.row = i;
      setStyle(row, "top", i * height + "px");
      setStyle(row, "height", height + "px");
      drawn.push(row);
    }
    inner.replaceChildren(...drawn);
    if (held) focusRow(inner.querySelector(`[data-row="${held}"]`));
  };
  listen(box, "scroll", () => requestAnimationFrame(paint), { passive: true });
  new ResizeObserver(paint).observe(box);
  box.redraw = (rows) => {
    count = rows;
    first = last = -1;
    setStyle(inner, "height", count * height + "px");
    setStyle(box, "--rows", count * height + 2 + "px");
    paint();
  };
  box.to = (top) => {
    box.scrollTop = top;
    paint();
  };
  box.show = (i) => {
    const top = i * height;
    if (top < box.scrollTop) box.to(top);
    else if (top + height > box.scrollTop + box.clientHeight) box.to(top + height - box.clientHeight);
  };
  box.redraw(count);
  return box;
}

// The position of the row of a list that has the focus, as a text; nothing where none has.
const heldRow = (list) => (list.contains(focused()) ? focused().closest("[data-row]")?.dataset.row : null);

function focusRow(row) {
  const own = "a, button, [tabindex]";
  focusQuietly(row?.matches(own) ? row : row?.querySelector(own));
}

// ---- dialogs ----

// Opens a dialog; inner: what stands below its title. Returns what closes it.
function openDialog(cls, title, ...inner) {
  const close = () => made.close();
  const made = h("dialog", { class: cls, "aria-labelledby": "title", on: { close: () => made.remove(), click: (event) => event.target === made && close() } },
    h("div", h("header", h("h2", { id: "title" }, title), button("✕", close, { class: "quiet", label: "Close" })), inner));
  document.body.append(made);
  made.showModal();
  return close;
}
