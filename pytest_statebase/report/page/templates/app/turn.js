// A turn: what production did, what was accepted, what the agent does now, and how they differ.

let repaint = () => {};
listen(NARROW, "change", () => repaint());

// How values are set beside each other: as chosen in the address, else as the window has room.
function isUnified() {
  const chosen = place.now().params.get("sides");
  return chosen ? chosen === "one" : NARROW.matches;
}

// The turn of a row as an element; `now` is the place that is shown. `.arrived()` brings the call or difference of the address into view.
function turnPanel(row, turn, now) {
  const panel = { row, turn, session: now.id, id: `${now.id}-${turn.turn}`, sides: sidesOf(turn) };
  const prints = new Map(turn.divergences.map((found) => [found.path, found.fingerprint]));
  panel.at = (path) => prints.get(path) && h("a.mark", { href: `#${panel.id}-d-${prints.get(path)}`, label: "to this difference" }, "≠");
  const element = h("section.panel", { id: panel.id, label: "Turn " + turn.turn, tabindex: "-1" });
  const paint = () => { element.replaceChildren(); append(element, panelParts(panel, paint)); };
  repaint = () => { if (element.isConnected) paint(); };
  paint();
  element.arrived = () => arriveAt(element, now);
  return element;
}

function panelParts(panel, paint) {
  const { turn } = panel;
  return [panelHead(panel, paint), turn.reason && h("pre.vt.explain", { dir: "auto" }, String(turn.reason).trim()), differences(panel), inputPart(panel),
    listPart("call", turn.calls, (call, at) => callItem(panel, call, at + 1)), listPart("request", turn.requests, (request, at) => requestItem(panel, request, at + 1)), Object.keys(TITLES).map((key) => sidesPart(panel, key))];
}

function arriveAt(element, now) {
  const found = byId(element.id + (now.print ? "-d-" + now.print : now.request ? "-r" + now.request : "-c" + now.call));
  if (!found) return;
  const inner = found.querySelector(":scope > details");
  if (inner) inner.open = true;
  found.classList.add("here");
  found.scrollIntoView({ block: "center" });
}

// ---- the head ----

const groupOfTurn = (turn) => turn.slug;
const isBad = (turn) => ["fail", "norun"].includes(turn.slug) && !turn.beyond_until;

function panelHead({ row, turn, id, sides }, paint) {
  const known = (entry, words) => chip(`known until ${entry.until}${entry.ticket ? ` (${entry.ticket})` : ""}${words}`, words ? "fail" : "review");
  return h("header.panel-head", null,
    h("h2", h("a", { href: "#" + id }, "Turn " + turn.turn)),
    turn.beyond_until ? chip("beyond until", "past") : chip(turn.verdict, turn.slug),
    (turn.known || []).map((entry) => known(entry, "")), (turn.expired || []).map((entry) => known(entry, ", expired")),
    dim(turnFacts(turn).join(" · ")),
    h("div.tools", sides.length > 1 && sidesChoice(paint), isBad(turn) && briefButton({ row, turn, id })));
}

function turnFacts(turn) {
  const [before, after] = [turn.version_before, turn.version_after];
  const version = before === undefined || before === null ? null : before === after ? `state version ${after}` : `state version ${before} → ${after}`;
  return [turn.at, version, turn.actor && "by " + turn.actor, turn.duration_ms !== undefined && `${number(turn.duration_ms)} ms`].filter(Boolean);
}

function sidesChoice(paint) {
  const pick = (value, words) => button(words, (event) => {
    const panel = event.target.closest(".panel");
    place.keep({ sides: value });
    paint();
    panel.querySelector('.segments [aria-pressed="true"]').focus();
  }, { "aria-pressed": String(isUnified() === (value === "one")) });
  return h("div.segments", { role: "group", label: "How the sides are shown" }, pick("two", "Side by side"), pick("one", "Unified"));
}

// ---- differences ----

function differences(panel) {
  const all = panel.turn.divergences;
  if (!all.length) return null;
  const firsts = all.filter((found) => !found.follows);
  const rest = all.filter((found) => found.follows && !firsts.some((first) => first.fingerprint === found.follows));
  const cause = isBad(panel.turn) && firsts.find((found) => !found.note && found.kind !== "text");
  return part(plural(all.length, "difference"),
    h("ol.diff-list", firsts.map((found) => difference(panel, found, found === cause ? "cause" : "", all.filter((one) => one.follows === found.fingerprint)))),
    rest.length > 0 && followers(panel, rest, followWords(panel, rest[0])));
}

function followers(panel, found, words) {
  return more([`${found.length} ${found.length === 1 ? "follows" : "follow"} from `, words], found.length < 4,
    h("ol.diff-list", found.map((one) => difference(panel, one, "follows", []))));
}

// Where the cause of what follows stands: in another turn, if not in this one.
function followWords(panel, found) {
  const turn = panel.row.turns.find((one) => one.divergences.some((other) => other.fingerprint === found.follows));
  return turn ? h("a", { href: `#${panel.session}-${turn.turn}-d-${found.follows}` }, `a difference of turn ${turn.turn}`) : "an earlier difference";
}

function difference(panel, found, role, after) {
  const word = found.note ? "note" : found.kind === "expect" ? "expect" : role;
  const print = found.fingerprint; // results of strangers may lack it
  const id = print ? `${panel.id}-d-${print}` : null;
  return h("li", { id, class: word || null, tabindex: "-1" },
    h("div.what", word && h("span.role", word), h("a.path", { href: id && "#" + id }, code(found.path)), h("span.dim", { dir: "auto" }, found.words),
      h("div.tools", null,
        found.kind !== "expect" && copyWhole([found.path], "Copy as ignore rule", ignoreRule(found.path), { class: "bare", title: "An item for `ignore` of the plan" }),
        print && !found.note && copyButton("Copy as known", `- {fingerprint: "${print}", until: ${inAMonth()}}`, { class: "bare", title: "An entry for `known` of the plan" }))),
    differingValues(panel, found), after.length > 0 && followers(panel, after, "it"));
}

// Both values, but where the words say it all or the text stands below.
function differingValues({ turn }, found) {
  if (found.kind === "text" || (["moved", "reordered"].includes(found.kind) && found.detail)) return null;
  const names = [["recorded", found.baseline && found.facet !== "http" ? "accepted" : recordedName(turn), "old"], ["replayed", "now", "new"]];
  const sides = names.filter(([side]) => side in found).map(([side, name, cls]) => ({ name, cls, value: found[side] }));
  if (!sides.length) return null;
  const options = { unified: isUnified(), path: found.path, sides };
  return sides.every((side) => oneLine(side.value).length < 160) ? plainSides(valuesOf(sides), options) : valueTable(sides, options);
}

const inAMonth = () => new Date(Date.now() + 30 * 86400000).toISOString().slice(0, 10);

// A path as an item of a list in YAML, in either style.
function ignoreRule(path) {
  if (/^[A-Za-z_][\w.-]*(#\d+[\w.-]*)*$/.test(path)) return path;
  return JSON.stringify(path).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, (one) => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));
}

// ---- the sides ----

const part = (title, ...inner) => h("section.part", h("h3", title), inner);
const valuesOf = (sides) => sides.map((side) => side.value);

// Of two sides the first is what was recorded; beside what was accepted it is production.
const recordedName = (turn) => (turn.accepted ? "production" : "recorded");

// `{key, name, cls}` of the sides that the turn has.
function sidesOf(turn) {
  if (turn.replayed?.same) return [{ key: "recorded", name: "recorded and now", cls: null }];
  const all = [["recorded", recordedName(turn), "old"], ["accepted", "accepted", "old"], ["replayed", "now", "new"]];
  return all.filter(([key]) => turn[key]).map(([key, name, cls]) => ({ key, name, cls }));
}

// The sides with a value each, those that are all equal as one; null where none has any.
function sidesWith(sides, get) {
  const found = sides.map((side) => ({ ...side, value: get(side) }));
  if (found.every((side) => side.value === undefined)) return null;
  return found.length > 1 && allSame(valuesOf(found)) ? [{ ...found[0], name: found.map((side) => side.name).join(" and "), cls: null }] : found;
}

const TITLES = { output: "Output", error: "Error", state: "State at the turn’s end", memory: "Added to memory", reasoning: "Reasoning" };

function sidesPart(panel, key) {
  const { turn, sides, at } = panel;
  if (key === "error") return errorPart(panel);
  const found = sidesWith(key === "reasoning" ? sides.filter((side) => side.key !== "accepted") : sides, (side) => turn[side.key][key]);
  if (!found) return null;
  const shown = valuesBeside(found, { unified: isUnified(), path: key, at });
  if (key === "output") return part(TITLES[key], shown, cutShort(panel, turn.recorded.output));
  const judged = turn.divergences.some((one) => one.facet === key && !one.note);
  const words = !turn.replayed ? "" : found.length === 1 ? "the same" : judged ? "differs" : found.length > 2 && allSame(valuesOf(found.slice(1))) ? "as accepted" : found.some((side) => side.value === undefined) ? "of one side" : "differs, which does not count";
  return h("details.part", { open: judged }, h("summary", h("h3", TITLES[key]), " ", dim(words)), shown);
}

// What was raised as a line, the rest of it as a table. No recording has a trace, so it is set beside nothing.
function errorPart({ turn, sides, at }) {
  const get = (read) => sidesWith(sides, ({ key }) => turn[key].error && read(turn[key].error));
  const heads = get(raisedText);
  const rest = get(({ type, message, trace, ...more }) => (/:/.test(type) ? { type, ...more } : type && Object.keys(more).length ? more : undefined));
  const trace = turn.replayed?.error?.trace;
  const options = { unified: isUnified(), path: "error", at };
  return heads && part(TITLES.error, textSides(heads, options), rest && valueTable(rest, options), trace && explained(textOf(trace).replace(/^ {2}/gm, "")));
}

const raisedText = (error) => (error.type ? textOf(error.type).split(":").pop() + ": " + textOf(error.message ?? "") : textOf(error));

function inputPart(panel) {
  const { input, authored } = panel.turn;
  if (input === null || input === undefined) return null;
  return part(["Input ", authored ? chip("authored", "review") : null], h("div.texts", textSide({ name: "user", value: input }, null)), cutShort(panel, input));
}

// A report keeps short texts of turns that are as recorded: says so, with the command that prints all.
function keptShort({ row, turn }, words) {
  const command = `pytest-statebase show ${planWord(row)} --turn ${turn.turn} --full`;
  return turn.replayed?.same && h("p.explain", words, ": a report keeps short texts of turns that are as recorded. All of it: ", code(command), " ", copyWhole([row.cassette], "Copy", command, { class: "bare" }));
}

const cutShort = (panel, text) => /^.{160,}…$/su.test(text) && keptShort(panel, "The first 160 characters");

// ---- calls ----

const ANSWERS = { record: "the recording", accepted: "the accepted baseline", authored: "the plan’s answers", sibling: "a recording of another session", simulated: "the simulator",
  live: "the tool itself, which ran", none: "nothing" };
const FLAGS = { moved: "recorded in another turn", repeated: "by a recording that had answered before", stale: "by a recording made after other writes",
  renamed: "matched but for ids or times of its own making", unrecorded: "no recording fits" };

function listPart(word, items, draw) {
  return items?.length > 0 && part(plural(items.length, word), h("ol.call-list", items.map(draw)));
}

const callPath = (call) => {
  const name = call.recorded?.tool || call.tool;
  return "tools." + pathKey(name) + call.label.slice(name.length);
};

// Verdicts of turns that came to no end of their own.
const BROKE_OFF = new Set(["unrecorded", "error", "stale", "inconclusive"]);

// What became of a call: `[sign, words, slug]`.
function callState(panel, call) {
  const { turn } = panel;
  const path = callPath(call);
  const said = (...kinds) => turn.divergences.find((one) => kinds.includes(one.kind) && !one.note && (one.path === path || one.path.startsWith(path + ".")));
  if (!turn.replayed) return ["·", "not replayed", turn.beyond_until ? "past" : "norun"];
  if (!call.replayed) {
    if (said("replaced")) return ["⇄", "another tool was called in its place", "fail"];
    if (said("missing", "reverted")) return ["−", `missing: ${call.recorded ? "recorded" : "accepted"}, not made now`, "fail"];
    return ["·", !call.recorded ? "accepted, not made now" : BROKE_OFF.has(turn.verdict) ? "not reached" : "not made here", "norun"];
  }
  if (call.flags?.includes("unrecorded")) return ["✕", "unrecorded: no answer", "fail"];
  if (!call.recorded) return call.flags?.includes("moved") ? ["↷", `moved: recorded in turn ${call.from_turn}`, "review"] : call.accepted ? ["✓", "as accepted", "ok"] : ["+", "extra: not recorded here", "fail"];
  if (call.recorded.tool) return ["⇄", "another tool in its place", "fail"];
  if (said("reordered")) return ["↕", "made in another order", "fail"];
  if (said("arguments", "type", "added", "removed", "value")) return ["≠", "other arguments", "fail"];
  return ["✓", call.replayed.same ? "as recorded" : "as recorded, but for what does not count", "ok"];
}

function callItem(panel, call, position) {
  const [sign, words, slug] = callState(panel, call);
  const agent = call.replayed?.agent || call.recorded?.agent;
  const head = [signOf(slug, sign), code(callName(call), { class: "label" }), agent && dim("by ", bdi(agent)),
    h("span.state", { class: slug }, words), code(textOf(argumentsOf(call)).slice(0, 200), { class: "preview dim" }), call.replayed && answerWords(call), dim(call.reads ? "read" : "write")];
  // Of many calls those beyond the first are drawn as they are opened.
  const early = position <= 20;
  const draw = () => append(details, callBody(panel, call));
  const details = h("details", { open: early && (slug === "fail" || slug === "review") }, h("summary.call-head", head));
  if (early) draw();
  else listen(details, "toggle", draw, { once: true });
  return linkedItem(panel, "call", position, slug, details);
}

// A call or a request with the link to it.
function linkedItem(panel, word, position, slug, shown) {
  const id = `${panel.id}-${word[0]}${position}`;
  return h("li.call-item", { id, class: slug, tabindex: "-1" }, shown, h("a.anchor", { href: "#" + id, label: `Link to ${word} ${position}` }, "#"));
}

// The arguments of the side that matters most.
const argumentsOf = (call) => [call.replayed, call.recorded, call.accepted].find((one) => one && !one.same).arguments;

// A call with another tool in its place is named by both.
const callName = (call) => (call.recorded?.tool && call.replayed ? `${call.recorded.tool} → ${call.tool}` : call.label);

function answerWords({ source, flags = [], sibling, from_turn: turn }) {
  const from = sibling ? ` (${sibling})` : turn !== undefined ? `, turn ${turn}` : "";
  const words = source === "none" ? ["unrecorded"] : source !== "record" ? [source] : flags.length ? flags : ["exact"];
  return h("span.answer", words.map((word) => h("b", { title: FLAGS[word] }, word)), " answered by ", ANSWERS[source] || source, bdi(from));
}

function callBody(panel, call) {
  const path = callPath(call);
  const sides = panel.sides.filter(({ key }) => call[key]);
  const inner = (title, key) => {
    const found = sidesWith(sides, (side) => callSide(call, side.key)[key])?.filter((side) => side.value !== undefined);
    return found && h("div.call-part", h("h4", title, found.length === 1 && panel.turn.replayed ? " · " + found[0].name : ""),
      valueTable(found, { unified: isUnified(), at: panel.at, path: `${path}.${key}` }));
  };
  return [inner("Arguments", "arguments"), inner("Result", "result") || inner("Raised", "error") || keptShort(panel, "No result"), explained(call.explanation)];
}

const explained = (text) => text && h("pre.vt.explain", { dir: "auto" }, text.trim());

// A side of a call; one that is the same as another is that one.
function callSide(call, side) {
  if (!call[side].same) return call[side];
  return side === "replayed" ? call.recorded : callSide(call, "replayed");
}

// ---- requests ----

function requestItem(panel, request, position) {
  const flags = (request.flags || []).filter((flag) => flag !== "model");
  const isModel = request.flags?.includes("model");
  const slug = flags.includes("unrecorded") ? "fail" : "ok";
  const from = request.from_turn !== undefined ? `, turn ${request.from_turn}` : "";
  const head = [signOf(slug), code(`${request.method} ${request.address.replace(/^https:\/\//, "")}`, { class: "label" }),
    dim(isModel ? "model call" : "request", isModel && request.asked?.model ? " · " + request.asked.model : ""),
    h("span.answer", flags.map((flag) => h("b", flag)), " answered by ", request.source === "live" ? "its server, live" : ANSWERS[request.source] || request.source, from)];
  const body = [explained([request.explanation, request.hint].filter(Boolean).join("\n")), request.asked && askedPart(request), request.answer && answerPart(request)];
  return linkedItem(panel, "request", position, slug, body.some(Boolean) ? h("details", { open: slug === "fail" }, h("summary.call-head", head), body) : h("div.call-head", head));
}

// What was asked; beside it what the recorded request had asked, where that was something else.
function askedPart({ asked, recorded, flags }) {
  const sides = recorded
    ? [{ name: flags?.includes("unrecorded") ? "nearest recorded" : "recorded", cls: "old", said: recorded }, { name: "now", cls: "new", said: asked }]
    : [{ name: "asked", cls: null, said: asked }];
  const inner = ([key, title]) => {
    const found = sidesWith(sides, (side) => side.said[key]);
    const shown = found && valuesBeside(found, { unified: isUnified(), path: "http." + key });
    return found && (key in FOLDED && found.length === 1 ? more(title, false, shown) : h("div.call-part", h("h4", title), shown));
  };
  return [["query", "Query"], ["body", "Body"], ...Object.entries(FOLDED)].map(inner).concat(messagesPart(sides));
}

const FOLDED = { model: "Model", system: "System text", tools: "Tools", parameters: "Parameters" };

function messagesPart(sides) {
  const { messages, earlier, left } = sides.at(-1).said;
  if (!messages) return null;
  const rows = sides.reduce((made, side, at) => alongside(made, (side.said.messages || []).map(asMessage), at), []).map((row) => sides.map((_, at) => row[at]));
  const hidden = earlier ? `after ${plural(earlier, "message")} of the call before` : left ? `${plural(left, "earlier message")} not kept` : null;
  return h("div.call-part", h("h4", "Messages"), hidden && h("p.dim", hidden), h("ol", foldedMessages(rows, sides)));
}

// Equal messages between others are folded, and of one side all but the last.
function foldedMessages(rows, sides) {
  const items = [];
  const folds = (at) => (sides.length > 1 ? allSame(rows[at]) : at < rows.length - 4);
  for (let at = 0; at < rows.length; ) {
    let end = at;
    while (end < rows.length && folds(end)) end++;
    if (end - at < 2) items.push(messageItem(rows[at], sides, at++));
    else {
      items.push(moreMessages(rows.slice(at, end), sides));
      at = end;
    }
  }
  return items;
}

function moreMessages(rows, sides) {
  const item = h("li", button("▸ " + plural(rows.length, sides.length > 1 ? "equal message" : "earlier message"), () => {
    const drawn = rows.map((row) => messageItem(row, sides));
    item.replaceWith(...drawn);
    drawn[0].focus();
  }, UNFOLDS));
  return item;
}

function messageItem(row, sides) {
  const role = row.find((message) => message).role;
  const inner = (key) => {
    const found = sidesWith(sides.map((side, at) => ({ ...side, message: row[at] })), (side) => side.message?.[key]);
    return found && valuesBeside(found, { unified: isUnified(), path: "messages." + key });
  };
  return h("li.said", { class: allSame(row) ? null : "differs", tabindex: "-1" }, h("span.who", role), inner("content"), inner("tool_calls"), inner("media"));
}

const asMessage = (message) => (isCut(message) ? { role: "message", content: message } : message);

function answerPart({ answer, flags }) {
  const title = flags?.includes("unrecorded") ? "What the nearest recorded one got" : "Answer";
  const status = answer.failed ? `failed (${answer.failed}): ${answer.message}` : "status " + answer.status + (answer.cut ? `, cut: ${answer.cut}` : "");
  const side = { name: "answer", cls: null };
  return h("div.call-part", h("h4", title + " · " + status),
    answer.body !== undefined && valuesBeside([{ ...side, value: answer.body }], { path: "answer" }),
    answer.message && !answer.failed && h("ol", messageItem([asMessage(answer.message)], [side])));
}

// ---- for a coding agent ----

// Copies what an agent that mends code is told of a turn, or of a session in which no turn is to blame.
function briefButton({ row, turn, id }) {
  const name = row.nodeid || row.cassette;
  const [brief, ...said] = turn
    ? [turn.brief, `${name}, turn ${turn.turn}: ${turn.verdict}`, turn.reason, ...turn.divergences.map((found) => `- ${found.facet} ${found.path}: ${found.words}`)]
    : [row.brief, `${name}: ${row.outcome}`, row.message || row.failure];
  const short = () => [...said, `In the report: #${id}`].filter(Boolean).join("\n");
  return copyWhole(brief ? [] : [row.nodeid, row.cassette], "Copy for a coding agent", brief || short);
}
