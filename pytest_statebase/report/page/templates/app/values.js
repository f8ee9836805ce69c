// Recorded values as texts and trees, and what differs between them. A value is JSON as rows have it; `undefined` is none at all.

const PLAIN_KEY = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
const BARE = { "!absent": () => "(absent)", "!unreadable": (inner) => `<unreadable: ${inner}>`, "!repr": String, "!int": String,
  "!float": (inner) => ({ nan: ".nan", inf: ".inf", "-inf": "-.inf" })[inner] || String(inner) };

// The tag of a mapping that stands for a value of another type, null for any other value.
function tagOf(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return null;
  const names = Object.keys(value);
  if (names.length !== 1 || !/^![A-Za-z_]\w*$/.test(names[0])) return null;
  const inner = value[names[0]];
  if (names[0] === "!map" && !(Array.isArray(inner) && inner.every((pair) => Array.isArray(pair) && pair.length === 2))) return null;
  if (names[0] === "!cut" && !(typeof inner?.head === "string" && "size" in inner)) return null;
  return names[0];
}

// Mappings with a key that JavaScript would put first come as pairs, and are mappings with texts as keys all the same.
const hasIndex = (pairs) => pairs.some(([key]) => /^\d+$/.test(key));
const isOrdered = (value) => tagOf(value) === "!map" && hasIndex(value["!map"]) && value["!map"].every(([key]) => typeof key === "string");
const ofPairs = (pairs) => (hasIndex(pairs) ? { "!map": pairs } : Object.fromEntries(pairs));
const pairsOf = (value) => (isOrdered(value) ? value["!map"] : Object.entries(value));

const isCut = (value) => tagOf(value) === "!cut";
const sizeText = (size) => (typeof size === "number" ? number(size) + " characters" : "an unknown size");
const quoted = (text) => '"' + visible(text.replace(/[\\"]/g, "\\$&")) + '"';
const keyText = (key) => (PLAIN_KEY.test(key) ? key : quoted(key));

// A value on one line, whole: `{status: "open", total: !decimal "1.10"}`.
function oneLine(value, depth = 0) {
  if (depth > 200) return "…";
  if (typeof value === "string") return quoted(value);
  if (value === undefined) return "(absent)";
  if (value === null || typeof value !== "object") return String(value);
  const inside = (item) => oneLine(item, depth + 1);
  if (Array.isArray(value)) return "[" + value.map(inside).join(", ") + "]";
  const tag = tagOf(value);
  if (!tag) return "{" + Object.entries(value).map(([key, item]) => keyText(key) + ": " + inside(item)).join(", ") + "}";
  const inner = value[tag];
  if (tag === "!cut") return `${visible(inner.head)}… (${sizeText(inner.size)} in all)`;
  if (tag === "!map") return "{" + inner.map(([key, item]) => (isOrdered(value) ? keyText : inside)(key) + ": " + inside(item)).join(", ") + "}";
  if (BARE[tag]) return visible(BARE[tag](inner));
  if (isTyped(inner)) return `${tag} ${visible(inner.type)} ${inside(inner.fields)}`;
  return tag + " " + inside(inner);
}

const isTyped = (inner) => inner !== null && typeof inner === "object" && Object.keys(inner).sort().join() === "fields,type";

// Strings, blanks and numbers of JSON.
const JSON_PARTS = /"[^"\\]*(?:\\.[^"\\]*)*"|\s+|-?\d[\d.eE+-]*/g;

// The value of a text that is the JSON of a mapping or a list, else undefined: also where it would lose something (a key that is there
// twice, an order) or be taken for a tag. Numbers that JavaScript writes in another way are tags.
function structure(text) {
  if (typeof text !== "string" || !/^[[{]/.test(text) || text.length > 200000) return undefined;
  try {
    if (JSON.stringify(JSON.parse(text)).includes('{"!')) return undefined;
    const exact = text.replace(JSON_PARTS, (part) => {
      if (part[0] === '"') return JSON.stringify(JSON.parse(part));
      if (!part.trim() || String(+part) === part) return part.trim();
      return JSON.stringify({ [/[.e]/i.test(part) ? "!float" : "!int"]: part });
    });
    const value = JSON.parse(exact);
    return JSON.stringify(value) === exact ? value : undefined;
  } catch {
    return undefined;
  }
}

function same(left, right) {
  if (left === right) return true;
  if (left === null || right === null || typeof left !== "object" || typeof right !== "object") return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  if (isOrdered(left) || isOrdered(right)) [left, right] = [left, right].map((one) => Object.fromEntries(pairsOf(one)));
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((key) => Object.hasOwn(right, key) && same(left[key], right[key]));
}

// ---- sequences and words ----

// Pairs of positions that two lists have in common, in order. Long ones are compared at their ends alone.
function common(left, right, equal, most = 500) {
  let head = 0;
  while (head < left.length && head < right.length && equal(left[head], right[head])) head++;
  let tail = 0;
  while (tail < left.length - head && tail < right.length - head && equal(left.at(-1 - tail), right.at(-1 - tail))) tail++;
  const [rows, columns] = [left.length - head - tail, right.length - head - tail];
  const found = Array.from({ length: head }, (_, i) => [i, i]);
  if (rows && columns && rows <= most && columns <= most) found.push(...longest(left, right, equal, head, rows, columns));
  for (let i = tail; i > 0; i--) found.push([left.length - i, right.length - i]);
  return found;
}

function longest(left, right, equal, head, rows, columns) {
  const width = columns + 1;
  const lengths = new Uint16Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      const next = (i + 1) * width + j;
      lengths[i * width + j] = equal(left[head + i], right[head + j]) ? lengths[next + 1] + 1 : Math.max(lengths[next], lengths[i * width + j + 1]);
    }
  }
  const found = [];
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    if (equal(left[head + i], right[head + j])) found.push([head + i++, head + j++]);
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i++;
    else j++;
  }
  return found;
}

const WORDS = /\s+|\d+(?:[.,:]\d+)*|[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]/gu;

// The words of two texts with what they have in common; null where that is too little for marks to help.
function wordPairs(left, right) {
  const [old, fresh] = [left.match(WORDS) || [], right.match(WORDS) || []];
  const pairs = common(old, fresh, Object.is);
  const kept = pairs.reduce((size, [at]) => size + old[at].length, 0);
  return 3 * kept < Math.max(left.length, right.length) ? null : { old, fresh, pairs };
}

// Two texts in parts `[text, differs]`; null as above.
function wordDiff(left, right) {
  const found = wordPairs(left, right);
  return found && [found.old, found.fresh].map((tokens, side) => {
    const shared = new Set(found.pairs.map((pair) => pair[side]));
    return joined(tokens.map((text, at) => [text, !shared.has(at) || isGap(tokens, shared, at)]));
  });
}

// A blank between two changed words counts as changed.
function isGap(tokens, shared, at) {
  return !tokens[at].trim() && at > 0 && at < tokens.length - 1 && !shared.has(at - 1) && !shared.has(at + 1);
}

function joined(parts) {
  const made = [];
  for (const [text, kind] of parts) {
    if (!text) continue;
    if (made.length && made.at(-1)[1] === kind) made.at(-1)[0] += text;
    else made.push([text, kind]);
  }
  return made;
}

const marked = (parts, tag) => parts.map(([text, differs]) => (differs ? h(tag, null, text) : text));

// Both sides of a text in one: what went and what came, where it did.
function unified(left, right) {
  const found = wordPairs(left, right);
  if (!found) return [h("del", left), "\n", h("ins", right)];
  const parts = [];
  let [i, j] = [0, 0];
  for (const [at, to] of [...found.pairs, [found.old.length, found.fresh.length]]) {
    parts.push([found.old.slice(i, at).join(""), "del"], [found.fresh.slice(j, to).join(""), "ins"], [found.old[at] || "", null]);
    [i, j] = [at + 1, to + 1];
  }
  return joined(parts).map(([text, tag]) => (tag ? h(tag, null, text) : text));
}

// ---- texts ----

const LONG = 1200;

// A text that may be long: its beginning, a button that shows all of it and one that downloads it.
// parts: what to draw in its place once it is shown whole. size: of the whole, where only the beginning is here.
function longText(text, { tag = "pre", parts = null, name = "value", size = null } = {}) {
  const box = h(tag + ".vt", { dir: "auto" });
  if (text.length <= LONG && !size) return append(box, [parts || text]);
  const all = button(`Show all (${sizeText(text.length)})`, () => { box.replaceChildren(); append(box, [parts || text]); all.remove(); });
  const cut = size ? dim(`${sizeText(size)} in all; the report holds ${number(text.length)}, the recording the rest`) : null;
  append(box, [text.length > LONG ? text.slice(0, LONG) + "…" : parts || text]);
  const save = button("Download", () => download(fileName(name), text));
  return h("div.long", box, h("div.tools", text.length > LONG ? all : null, save, cut));
}

// A name for a file that no system takes for anything else.
const fileName = (name) => (name.replace(/[^\w.-]+/g, "-").replace(/^[.-]+/, "").slice(0, 80) || "value") + ".txt";

// ---- trees ----

// What a value consists of: `{sort, label, items: [[key, value]]}`, null for what has no inside.
function shape(value) {
  if (Array.isArray(value)) return { sort: "list", label: "", items: value.map((item, at) => [at, item]) };
  if (value === null || typeof value !== "object") return null;
  const tag = tagOf(value);
  if (!tag) return { sort: "map", label: "", items: Object.entries(value) };
  const inner = value[tag];
  if (tag === "!map") return { sort: "map", label: "", items: inner.map(([key, item]) => [typeof key === "string" ? key : oneLine(key), item]) };
  if (Array.isArray(inner)) return { sort: "list", label: tag + " ", items: inner.map((item, at) => [at, item]) };
  const fields = isTyped(inner) && shape(inner.fields);
  return fields ? { ...fields, label: `${tag} ${inner.type} ` } : null;
}

// The shapes of all sides that are there, if they are alike and one of them has an inside; else null.
function shapes(values) {
  let parsed = values.map((value) => structure(value) ?? value);
  const there = parsed.filter((value) => value !== undefined);
  if (there.length > 1 && there.every((value) => same(value, there[0])) && !allSame(values)) parsed = values;
  const found = parsed.map((value) => (value === undefined ? undefined : shape(value)));
  const known = found.filter((one) => one !== undefined);
  const alike = known.length && known.every((one) => one && one.sort === known[0].sort && one.label === known[0].label);
  return alike && known.some((one) => one.items.length) ? found : null;
}

function allSame(values) {
  return values.every((value) => (value === undefined) === (values[0] === undefined) && same(value, values[0]));
}

// The children of several values side by side: `[key, values]`.
function children(found) {
  const known = found.filter((one) => one);
  if (known[0].sort === "map") {
    const names = new Set(known.flatMap((one) => one.items.map(([key]) => key)));
    const maps = found.map((one) => new Map(one ? one.items : []));
    return [...names].map((key) => [key, maps.map((map) => map.get(key))]);
  }
  let rows = [];
  found.forEach((one, side) => { rows = alongside(rows, one ? one.items.map(([, item]) => item) : [], side); });
  return rows.map((row, at) => [at, Array.from(found, (_, side) => row[side])]);
}

// Rows of a list with one side more: equal items beside each other, then those between them in order.
function alongside(rows, items, side) {
  if (!rows.length) return items.map((item) => { const row = []; row[side] = item; return row; });
  const pairs = [...common(rows.map((row) => row.at(-1)), items, same, 200), [rows.length, items.length]];
  const made = [];
  let [i, j] = [0, 0];
  for (const [to, until] of pairs) {
    while (i < to || j < until) {
      const row = i < to ? rows[i++] : [];
      if (j < until) row[side] = items[j++];
      made.push(row);
    }
    if (to < rows.length) { rows[i][side] = items[j]; made.push(rows[i]); i++; j++; }
  }
  return made;
}

// The path of a child as divergences have it.
const pathKey = (key) => (/^[A-Za-z_][A-Za-z0-9_-]*$/.test(key) ? key : JSON.stringify(key));
const childPath = (path, key) => (typeof key === "number" ? `${path}[${key}]` : path ? `${path}.${pathKey(key)}` : pathKey(key));

// Values beside each other as a table of keys, what is equal folded.
// sides: `[{name, value, cls}]`, one or more; options: `path` of the whole, `unified`: all sides in one column, `at(path)`: what
// stands beside a row (a link, a button), `open`: show equal values unfolded.
function valueTable(sides, options = {}) {
  const body = h("tbody");
  const values = sides.map((side) => side.value);
  const told = { ...options, sides, columns: options.unified ? 1 : sides.length };
  const found = shapes(values);
  if (!found) return plainSides(values, told);
  append(body, childRows(found, told, 0, options.path || ""));
  const head = told.columns > 1 ? columns(sr("key"), ...sides.map((side) => side.name)) : null;
  return h("table.tree", { class: told.columns > 1 ? "wide" : null }, head, body);
}

// Values without an inside, a line each.
function plainSides(values, told) {
  return h("div.plain-sides", values.map((value, at) => value !== undefined && h("div", { class: told.sides[at].cls },
    h("span.who", told.sides[at].name), values.length > 1 ? sideLeaf(values, at, told.path) : leaf(value, told.path))));
}

// Equal children in a row are one row that unfolds; where nothing differs, all are shown.
function childRows(found, told, depth, path) {
  const kids = children(found);
  const folds = !told.open && kids.some(([, values]) => !allSame(values));
  const made = [];
  for (let at = 0; at < kids.length; ) {
    let end = at;
    while (folds && end < kids.length && allSame(kids[end][1])) end++;
    if (end - at > 1) {
      made.push(foldedRow(kids.slice(at, end), told, depth, path));
      at = end;
    } else {
      made.push(...keyRows(...kids[at], told, depth, path));
      at++;
    }
  }
  return made;
}

// A button in whose place comes what it unfolds.
const UNFOLDS = { class: "bare", "aria-expanded": "false" };

function foldedRow(kids, told, depth, path) {
  const names = kids.map(([key]) => (typeof key === "number" ? `[${key}]` : key)).join(", ");
  const row = h("tr.fold", h("td", { colspan: told.columns + 1 }, button(`${kids.length} equal: ${names.length > 80 ? names.slice(0, 80) + "…" : names}`, () => {
    const rows = kids.flatMap(([key, values]) => keyRows(key, values, told, depth, path));
    row.replaceWith(...rows);
    rows[0].querySelector("button, a")?.focus();
  }, UNFOLDS)));
  return indent(row, depth);
}

function indent(row, depth) {
  setStyle(row.firstChild, "padding-left", 0.5 + Math.min(depth, 12) * 1.1 + "rem");
  return row;
}

// A key with its values: on one row where they are short or other, else with rows of their own below.
function keyRows(key, values, told, depth, path) {
  const inner = childPath(path, key);
  const found = shapes(values);
  const whole = values.some((value) => value === undefined) || allSame(values);
  if (!found || (whole && values.every((value) => value === undefined || oneLine(value).length < 60)) || depth > 40) return [valueRow(key, values, told, depth, inner)];
  const head = h("tr.head", { data: { path: inner } }, keyCell(key, told, inner), h("td.dim", { colspan: told.columns }, countText(found)));
  return [indent(head, depth), ...childRows(found, told, depth + 1, inner)];
}

function countText(found) {
  const known = found.filter((one) => one);
  const sizes = [...new Set(known.map((one) => one.items.length))];
  return known[0].label + sizes.slice(0, -1).map((size) => number(size) + " → ").join("") + plural(sizes.at(-1), known[0].sort === "list" ? "item" : "key");
}

const differing = (values) => (values.length > 1 && !allSame(values) ? "differs" : null);

function keyCell(key, told, path) {
  const text = typeof key === "number" ? `[${key}]` : key;
  return rowName(bdi(text), told.at && told.at(path));
}

function valueRow(key, values, told, depth, path) {
  const differs = differing(values);
  const row = h("tr", { class: differs, data: { path } }, keyCell(key, told, path));
  if (!differs) row.append(h("td", { colspan: told.columns }, values[0] === undefined ? null : leaf(values[0], path)));
  else if (told.columns === 1) row.append(h("td", unifiedLeaf(values, told, path)));
  else append(row, values.map((_, at) => h("td", { class: told.sides[at].cls }, h("span.who", told.sides[at].name), sideLeaf(values, at, path))));
  return indent(row, depth);
}

function leaf(value, path, parts) {
  const text = leafText(value);
  return longText(text, { tag: "code", parts, name: path, size: isCut(value) ? value["!cut"].size : null });
}

const leafText = (value) => (isCut(value) ? value["!cut"].head : oneLine(value));

// The side that a side's words are set beside: the one before the last for the last, the last for all others.
const beside = (values, at) => values[at === values.length - 1 ? at - 1 : values.length - 1];

function sideLeaf(values, at, path) {
  const other = beside(values, at);
  if (values[at] === undefined) return h("span.void", "—", sr("none"));
  const tag = at === values.length - 1 ? "ins" : "del";
  if (other !== undefined && same(other, values[at])) return leaf(values[at], path);
  const parts = other === undefined ? null : wordDiff(leafText(values[at]), leafText(other));
  return leaf(values[at], path, parts ? marked(parts[0], tag) : [h(tag, null, leafText(values[at]))]);
}

function unifiedLeaf(values, told, path) {
  return values.map((value, at) => value !== undefined && h("div.line", { class: told.sides[at].cls },
    h("span.sign", at === values.length - 1 ? "+" : "−", sr(told.sides[at].name)), sideLeaf(values, at, path)));
}

// Texts beside each other, or in one with what went and what came. The last one is set beside the one before, or before that one where
// these two are equal.
function textSides(sides, options = {}) {
  if (allSame(valuesOf(sides))) return h("div.texts", textSide({ ...sides[0], name: sides.map((side) => side.name).join(" and ") }, null));
  const last = sides.length - 1;
  const base = last > 1 && same(sides[last - 1].value, sides[last].value) ? last - 2 : last - 1;
  const [old, fresh] = [sides[base], sides[last]];
  const both = old.value !== undefined && fresh.value !== undefined;
  if (options.unified && both) {
    const others = sides.filter((side, at) => at < base && side.value !== undefined);
    return h("div.texts.one", others.map((side) => textSide(side, null)), textSide({ ...fresh, cls: null, name: `${old.name} → ${fresh.name}` }, unified(textOf(old.value), textOf(fresh.value))));
  }
  const parts = both && wordDiff(textOf(old.value), textOf(fresh.value));
  const marks = (at) => parts && (at === base ? marked(parts[0], "del") : at === last ? marked(parts[1], "ins") : null);
  return h("div.texts", { class: options.unified ? null : "wide" }, sides.map((side, at) => textSide(side, marks(at))));
}

const textOf = (value) => (isCut(value) ? value["!cut"].head : typeof value === "string" ? value : oneLine(value));

function textSide(side, parts) {
  const shown = side.value === undefined ? h("p.void", side.none || "none")
    : longText(textOf(side.value), { parts, name: side.name, size: isCut(side.value) ? side.value["!cut"].size : null });
  return h("div.text", { class: side.cls }, h("span.who", side.name), shown);
}

// Values of any sort beside each other: texts as texts, all else as a tree.
function valuesBeside(sides, options = {}) {
  const isText = sides.every((side) => side.value === undefined || (typeof side.value === "string" && structure(side.value) === undefined) || isCut(side.value));
  return isText ? textSides(sides, options) : valueTable(sides, options);
}
