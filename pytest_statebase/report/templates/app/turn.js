// A turn: what production did, what was accepted, what the agent does now, and how they differ.

const NARROW = window.matchMedia("(max-width: 46rem)");

// How values are set beside each other: as chosen in the address, else as the window has room.
function isUnified() {
  const chosen = place.now().params.get("sides");
  return chosen ? chosen === "one" : NARROW.matches;
}

// The turn of a row as an element; `now` is the place that is shown. `.arrived()` brings the call or difference of the address into view.
function turnPanel(row, turn, now) {
  const told = { row, turn, id: `${now.id}-${turn.turn}`, names: sideNames(turn) };
  const panel = h("section.panel", { id: told.id, "aria-label": "Turn " + turn.turn, tabindex: "-1" });
  const paint = () => panel.replaceChildren(...panelParts(told, paint));
  NARROW.addEventListener("change", () => { if (panel.isConnected) paint(); });
  paint();
  panel.arrived = () => arriveAt(panel, now);
  return panel;
}

function panelParts(told, paint) {
  const { turn } = told;
  return [panelHead(told, paint), turn.reason ? h("pre.vt.reason", { dir: "auto" }, String(turn.reason).trim()) : null, differences(told), inputPart(told),
    callsPart(told), requestsPart(told), ...["output", "error", "state", "memory", "reasoning"].map((key) => sidesPart(told, key))].filter((part) => part);
}

function arriveAt(panel, now) {
  const id = now.print ? `${panel.id}-d-${now.print}` : now.call ? `${panel.id}-c${now.call}` : null;
  const found = id && document.getElementById(id);
  if (!found) return;
  for (let up = found.querySelector(":scope > details") || found; up !== panel; up = up.parentElement) if (up.localName === "details") up.open = true;
  found.classList.add("here");
  found.scrollIntoView({ block: "center" });
  found.focus({ preventScroll: true });
}

// ---- the head ----

const GROUP_OF = { unchanged: "ok", accepted: "ok", fixed: "ok", reworded: "review", "off-script": "review", stale: "norun", inconclusive: "norun", "not-replayed": "norun",
  "still-failing": "fail", unproven: "fail", changed: "fail", broken: "fail", unrecorded: "fail", error: "fail" };

const groupOfTurn = (turn) => (turn.excused ? "review" : GROUP_OF[turn.verdict] || "review");
const isKept = (turn) => Boolean(turn.replayed && turn.replayed.same);

function panelHead(told, paint) {
  const { turn, id } = told;
  const known = (entry, words) => chip(`known until ${entry.until}${entry.ticket ? ` (${entry.ticket})` : ""}${words}`, words ? "fail" : "review");
  return h("header.panel-head", null,
    h("h2", null, h("a", { href: "#" + id }, "Turn " + turn.turn)),
    turn.beyond_until ? chip("beyond until", "norun") : chip(turn.verdict, groupOfTurn(turn)),
    (turn.known || []).map((entry) => known(entry, "")), (turn.expired || []).map((entry) => known(entry, ", expired")),
    h("span.dim.facts-line", null, turnFacts(turn).join(" · ")),
    h("div.tools", null, isKept(turn) || !turn.replayed ? null : sidesChoice(paint), isBad(turn) ? copyButton("Copy for a coding agent", () => briefText(told)) : null));
}

const isBad = (turn) => ["fail", "norun"].includes(groupOfTurn(turn)) && !turn.beyond_until;

function turnFacts(turn) {
  const [before, after] = [turn.version_before, turn.version_after];
  const version = before === undefined || before === null ? null : before === after ? `state version ${after}` : `state version ${before} → ${after}`;
  return [turn.at, version, turn.actor && "by " + turn.actor, turn.duration_ms !== undefined && `${number(turn.duration_ms)} ms`].filter(Boolean);
}

function sidesChoice(paint) {
  const pick = (value, words) => h("button", { type: "button", "aria-pressed": String(isUnified() === (value === "one")), on: { click: (event) => {
    const place_of = [...event.target.parentElement.children].indexOf(event.target);
    const panel = event.target.closest(".panel");
    place.keep({ sides: value });
    paint();
    panel.querySelectorAll(".choice button")[place_of].focus();
  } } }, words);
  return h("div.choice", { role: "group", "aria-label": "How the sides are shown" }, pick("two", "Side by side"), pick("one", "Unified"));
}

// ---- differences ----

const KINDS = { arguments: "another argument", added: "only in the replay", removed: "only in the recording", type: "another type", text: "other words", value: "another value",
  replaced: "another tool in its place", missing: "recorded call not made", extra: "call that the recording does not have", moved: "call made in another turn than recorded",
  reordered: "call made in another order", raised: "raised", expect: "expect does not hold", reverted: "as recorded again, not as accepted" };
const FROM_BASELINE = { removed: "only in the accepted turn", missing: "accepted call not made", extra: "call that was not accepted" };

const sentence = (found) => found.detail || (found.baseline && FROM_BASELINE[found.kind]) || KINDS[found.kind] || found.kind;

function differences(told) {
  const { turn } = told;
  const all = turn.divergences;
  if (!all.length) return null;
  const firsts = all.filter((found) => !found.follows);
  const rest = all.filter((found) => found.follows && !firsts.some((first) => first.fingerprint === found.follows));
  const cause = isBad(turn) && firsts.find((found) => !found.note && found.kind !== "text");
  return h("section.part", null, h("h3", null, plural(all.length, "difference")),
    h("ol.diff-list", null, firsts.map((found) => difference(told, found, found === cause ? "cause" : "", all.filter((one) => one.follows === found.fingerprint)))),
    rest.length ? followers(told, rest, followWords(told, rest[0])) : null);
}

function followers(told, found, words) {
  return h("details.more", { open: found.length < 4 }, h("summary", null, `${found.length} ${found.length === 1 ? "follows" : "follow"} from `, words),
    h("ol.diff-list", null, found.map((one) => difference(told, one, "follows", []))));
}

// Where the cause of what follows stands: in another turn, if not in this one.
function followWords(told, found) {
  const turn = told.row.turns.find((one) => one.divergences.some((other) => other.fingerprint === found.follows));
  const name = told.id.replace(/-\d+$/, "");
  return turn ? h("a", { href: `#${name}-${turn.turn}-d-${found.follows}` }, `a difference of turn ${turn.turn}`) : "an earlier difference";
}

function difference(told, found, role, after) {
  const word = found.note ? "note" : found.kind === "expect" ? "expect" : role;
  return h("li", { id: `${told.id}-d-${found.fingerprint}`, class: word || null, tabindex: "-1" },
    h("div.what", null, word ? h("span.role", null, word) : null, h("a.path", { href: `#${told.id}-d-${found.fingerprint}` }, code(found.path)),
      h("span.words", { dir: "auto" }, sentence(found)), differenceTools(found)),
    differingValues(told, found), after.length ? followers(told, after, "it") : null);
}

// Both values, but where the words say it all or the text stands below.
function differingValues(told, found) {
  if (found.kind === "text" || (["moved", "reordered"].includes(found.kind) && found.detail)) return null;
  const sides = [["recorded", found.baseline && found.facet !== "http" ? "accepted" : "production", "old"], ["replayed", "now", "new"]];
  const there = sides.filter(([side]) => side in found).map(([side, name, cls]) => ({ name, cls, value: found[side] }));
  return there.length ? valueTable(there, { unified: isUnified(), path: found.path }) : null;
}

function differenceTools(found) {
  const entry = () => `- {fingerprint: ${found.fingerprint}, until: ${inAMonth()}, ticket: ""}`;
  return h("div.tools", null,
    found.kind === "expect" ? null : copyButton("Copy as ignore rule", ignoreRule(found.path), { title: "An item for `ignore` of the plan" }),
    found.note ? null : copyButton("Copy as known", entry, { title: "An entry for `known` of the plan" }));
}

const inAMonth = () => new Date(Date.now() + 30 * 86400000).toISOString().slice(0, 10);

// A path as an item of a list in YAML, in either style.
function ignoreRule(path) {
  if (/^[A-Za-z_][\w.-]*(#\d+[\w.-]*)*$/.test(path)) return path;
  return JSON.stringify(path).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, (one) => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));
}

// ---- the sides ----

// `[key, name, class]` of the sides that the turn has.
function sideNames(turn) {
  const names = [["recorded", "production", "old"]];
  if (turn.accepted) names.push(["accepted", "accepted", "old"]);
  if (turn.replayed) names.push(["replayed", "now", "new"]);
  return names;
}

function sidesOf(told, key) {
  if (isKept(told.turn)) return [{ name: "production and now", value: told.turn.recorded[key], cls: null }];
  return told.names.map(([side, name, cls]) => ({ name, cls, value: told.turn[side][key], none: side === "recorded" ? "not recorded" : "none" }));
}

const TITLES = { output: "Output", error: "Error", state: "State at the turn’s end", memory: "Added to memory", reasoning: "Reasoning" };

function sidesPart(told, key) {
  let sides = sidesOf(told, key);
  if (key === "reasoning") sides = sides.filter((side) => side.name !== "accepted");
  if (sides.every((side) => side.value === undefined)) return null;
  const equal = allSame(sides.map((side) => side.value));
  if (equal) sides = [{ ...sides[0], name: sides.map((side) => side.name).join(" and "), cls: null }];
  const shown = valuesBeside(sides, { unified: isUnified(), path: key, at: pathLink(told) });
  if (key === "output" || key === "error") return h("section.part", null, h("h3", null, TITLES[key]), shown);
  const judged = told.turn.divergences.some((found) => found.facet === key && !found.note);
  const words = !told.turn.replayed ? "" : equal ? "the same" : judged ? "differs" : "differs, which does not count";
  return h("details.part", { open: judged }, h("summary", null, h("h3", null, TITLES[key]), " ", h("span.dim", null, words)), shown);
}

// A link from a row of a tree to the difference that speaks of it.
function pathLink(told) {
  const prints = new Map(told.turn.divergences.map((found) => [found.path, found.fingerprint]));
  return (path) => (prints.has(path) ? h("a.mark", { href: `#${told.id}-d-${prints.get(path)}`, "aria-label": "to this difference" }, "≠") : null);
}

function inputPart({ turn }) {
  if (turn.input === null || turn.input === undefined) return null;
  return h("section.part", null, h("h3", null, "Input", turn.authored ? [" ", chip("authored", "review")] : null), h("div.texts", null, textSide({ name: "user", value: turn.input }, null)));
}

// ---- calls ----

const ANSWERS = { record: "the recording", accepted: "the accepted baseline", authored: "the plan’s answers", sibling: "a recording of another session", simulated: "the simulator",
  live: "the tool itself, which ran", none: "nothing" };
const FLAGS = { moved: "recorded in another turn", repeated: "by a recording that had answered before", stale: "by a recording made after other writes",
  renamed: "matched but for ids or times of its own making", unrecorded: "no recording fits" };

function callsPart(told) {
  const { turn } = told;
  if (!turn.calls.length) return null;
  return h("section.part", null, h("h3", null, plural(turn.calls.length, "call")), h("ol.call-list", null, turn.calls.map((call, at) => callItem(told, call, at + 1))));
}

const callPath = (call) => {
  const name = call.recorded?.tool || call.tool;
  return "tools." + pathKey(name) + call.label.slice(name.length);
};

// What became of a call: `[sign, words, slug]`.
function callState(told, call) {
  const { turn } = told;
  const path = callPath(call);
  const said = (...kinds) => turn.divergences.find((one) => kinds.includes(one.kind) && !one.note && (one.path === path || one.path.startsWith(path + ".")));
  if (!turn.replayed) return ["·", "not replayed", "norun"];
  if (!call.replayed) {
    if (said("replaced")) return ["⇄", "another tool was called in its place", "fail"];
    if (said("missing")) return ["−", said("missing").baseline ? "missing: accepted, not made now" : "missing: recorded, not made now", "fail"];
    return ["·", !call.recorded ? "accepted, not made now" : turn.calls.some((one) => one.flags?.includes("unrecorded")) || turn.verdict === "error" ? "not reached" : "not made here", "norun"];
  }
  if (call.flags?.includes("unrecorded")) return ["✕", "unrecorded: no answer", "fail"];
  if (!call.recorded) return call.flags?.includes("moved") ? ["↷", `moved: recorded in turn ${call.from_turn}`, "review"] : call.accepted ? ["✓", "as accepted", "ok"] : ["+", "extra: not recorded here", "fail"];
  if (call.recorded.tool) return ["⇄", "another tool in its place", "fail"];
  if (said("reordered")) return ["↕", "made in another order", "fail"];
  if (said("arguments", "type", "added", "removed", "value")) return ["≠", "other arguments", "fail"];
  return ["✓", call.replayed.same ? "as recorded" : "as recorded, but for what does not count", "ok"];
}

function callItem(told, call, position) {
  const [sign, words, slug] = callState(told, call);
  const id = `${told.id}-c${position}`;
  const agent = (call.replayed && call.replayed.agent) || (call.recorded && call.recorded.agent);
  const head = [h("span.sign", { class: slug, "aria-hidden": "true" }, sign), code(callName(call), { class: "label" }), agent ? h("span.dim", null, "by ", bdi(agent)) : null,
    h("span.state", { class: slug }, words), answerWords(call), h("span.dim", null, call.reads ? "read" : "write")];
  return h("li.call-item", { id, class: slug, tabindex: "-1" }, h("details", { open: slug === "fail" || slug === "review" }, h("summary", null, head), callBody(told, call)),
    h("a.anchor", { href: "#" + id, "aria-label": `Link to call ${position}` }, "#"));
}

// A call with another tool in its place is named by both.
const callName = (call) => (call.recorded?.tool && call.replayed ? `${call.recorded.tool} → ${call.tool}` : call.label);

function answerWords(call) {
  if (!call.replayed) return null;
  const flags = call.flags || [];
  const from = call.sibling ? ` (${call.sibling})` : call.from_turn !== undefined ? `, turn ${call.from_turn}` : "";
  const exact = call.source === "record" && !flags.length ? "exact" : call.source === "none" ? "unrecorded" : call.source === "record" ? null : call.source;
  return h("span.answer", null, exact ? h("b", null, exact) : flags.map((flag) => h("b", { title: FLAGS[flag] || null }, flag)), " answered by ", ANSWERS[call.source] || call.source, bdi(from));
}

function callBody(told, call) {
  const sides = told.names.filter(([side]) => call[side]).map(([side, name, cls]) => ({ name, cls, ...callSide(call, side) }));
  const path = callPath(call);
  const options = { unified: isUnified(), at: pathLink(told) };
  const part = (title, key) => {
    const values = sides.map((side) => ({ name: side.name, cls: side.cls, value: side[key] }));
    if (values.every((one) => one.value === undefined)) return null;
    const equal = allSame(values.map((one) => one.value));
    const who = equal && told.turn.replayed ? h("span.dim", null, values.map((one) => one.name).join(" and ")) : null;
    return h("div.call-part", null, h("h4", null, title, " ", who), valueTable(equal ? [{ ...values[0], cls: null }] : values, { ...options, path: `${path}.${key}` }));
  };
  return [part("Arguments", "arguments"), part("Result", "result"), part("Raised", "error"), call.explanation ? h("pre.vt.explain", { dir: "auto" }, call.explanation.trim()) : null];
}

// A side of a call; one that is the same as another is that one.
function callSide(call, side) {
  if (!call[side].same) return call[side];
  return side === "replayed" ? call.recorded : callSide(call, "replayed");
}

// ---- requests ----

function requestsPart(told) {
  const requests = told.turn.requests || [];
  if (!requests.length) return null;
  return h("section.part", null, h("h3", null, plural(requests.length, "request")), h("ol.call-list", null, requests.map((one) => requestItem(told, one))));
}

function requestItem(told, request) {
  const flags = (request.flags || []).filter((flag) => flag !== "model");
  const bad = flags.includes("unrecorded");
  const explanation = [request.explanation, request.hint].filter(Boolean).join("\n");
  const from = request.from_turn !== undefined ? `, turn ${request.from_turn}` : "";
  const head = [h("span.sign", { class: bad ? "fail" : "ok", "aria-hidden": "true" }, bad ? "✕" : "✓"), code(`${request.method} ${request.address.replace(/^https:\/\//, "")}`, { class: "label" }),
    h("span.dim", null, [request.flags?.includes("model") ? "model call" : "request", request.asked?.model].filter(Boolean).join(" · ")),
    h("span.answer", null, flags.map((flag) => h("b", null, flag)), " answered by ", request.source === "live" ? "its server, live" : ANSWERS[request.source] || request.source, from)];
  const body = [explanation ? h("pre.vt.explain", { dir: "auto" }, explanation.trim()) : null, askedPart(told, request), answerPart(told, request)].filter(Boolean);
  return h("li.call-item", { class: bad ? "fail" : "ok" }, body.length ? h("details", { open: bad }, h("summary", null, head), body) : h("div.summary", null, head));
}

// What was asked; beside it what the recorded request had asked, where that was something else.
function askedPart(told, { asked, recorded, flags }) {
  if (!asked) return null;
  const name = flags?.includes("unrecorded") ? "nearest recorded" : "recorded";
  const sides = [...(recorded ? [{ name, cls: "old", said: recorded }] : []), { name: recorded ? "now" : "asked", cls: recorded ? "new" : null, said: asked }];
  const part = (key, title, fold) => {
    const values = sides.map(({ name, cls, said }) => ({ name, cls, value: said[key] }));
    if (values.every((side) => side.value === undefined)) return null;
    const equal = allSame(values.map((side) => side.value));
    const shown = valuesBeside(equal ? values.slice(-1) : values, { unified: isUnified(), path: "http." + key });
    return fold && equal ? h("details.more", null, h("summary", null, title), shown) : h("div.call-part", null, h("h4", null, title), shown);
  };
  return [part("query", "Query"), part("body", "Body"), part("model", "Model", true), part("system", "System text", true), part("tools", "Tools", true), part("parameters", "Parameters", true), messagesPart(sides)];
}

function messagesPart(sides) {
  if (sides.every((side) => !side.said.messages)) return null;
  const rows = sides.reduce((made, side, at) => alongside(made, (side.said.messages || []).map(asMessage), at), []).map((row) => sides.map((_, at) => row[at]));
  const earlier = sides.at(-1).said.earlier || sides.at(-1).said.left;
  const hidden = earlier ? h("p.dim", null, sides.at(-1).said.earlier ? `after ${plural(earlier, "message")} of the call before` : `${plural(earlier, "earlier message")} not kept`) : null;
  return h("div.call-part", null, h("h4", null, "Messages"), hidden, h("ol.messages", null, foldedMessages(rows, sides)));
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
  const item = h("li", null, h("button.quiet", { type: "button", "aria-expanded": "false", on: { click: () => {
    const drawn = rows.map((row) => messageItem(row, sides));
    item.replaceWith(...drawn);
    drawn[0].focus();
  } } }, "▸ " + plural(rows.length, sides.length > 1 ? "equal message" : "earlier message")));
  return item;
}

function messageItem(row, sides) {
  const equal = allSame(row);
  const there = sides.map((side, at) => ({ name: side.name, cls: side.cls, message: row[at] })).slice(equal ? -1 : 0);
  const role = there.find((side) => side.message).message.role;
  const part = (key) => {
    const values = there.map((side) => ({ name: side.name, cls: side.cls, value: side.message?.[key] }));
    return values.every((side) => side.value === undefined) ? null : valuesBeside(values, { unified: isUnified(), path: `messages.${key}` });
  };
  return h("li.said", { class: equal ? null : "differs", tabindex: "-1" }, h("span.who", null, role), part("content"), part("tool_calls"), part("media"));
}

const asMessage = (message) => (isCut(message) ? { role: "message", content: message } : message);

function answerPart(told, { answer, flags }) {
  if (!answer) return null;
  const title = flags?.includes("unrecorded") ? "What the nearest recorded one got" : "Answer";
  const status = answer.failed ? `failed (${answer.failed}): ${answer.message}` : "status " + answer.status + (answer.cut ? `, cut: ${answer.cut}` : "");
  return h("div.call-part", null, h("h4", null, title, " ", h("span.dim", null, status)),
    answer.body === undefined ? null : valuesBeside([{ name: "body", cls: null, value: answer.body }], { path: "answer" }),
    answer.message && !answer.failed ? h("ol.messages", null, messageItem([asMessage(answer.message)], [{ name: "answer", cls: null }])) : null);
}

// ---- for a coding agent ----

// What an agent that mends code is told of the turn.
function briefText({ row, turn, id }) {
  if (turn.brief) return turn.brief;
  const told = turn.divergences.map((found) => `- ${found.facet} ${found.path}: ${sentence(found)}`);
  return [`${row.nodeid || row.cassette}, turn ${turn.turn}: ${turn.verdict}`, turn.reason, ...told, `In the report: #${id}`].filter(Boolean).join("\n");
}
