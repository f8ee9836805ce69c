// A session: what became of it, its timeline, the state and the turn at the step that is looked at, and where it can be forked.

async function sessionView(now) {
  const row = await store.session(now.id);
  if (!row) return nowhere();
  const page = { row, now, id: now.id, summary: store.summary(now.id), steps: stepsOf(row), states: statesOf(row) };
  page.fork = forkAt(row, page.steps);
  page.unknown = unknownPlace(page);
  const element = h("article.replay", { data: { title: page.summary.name } }, sessionHead(page), page.unknown, page.steps.length > 1 ? stage(page) : null);
  element.arrived = () => { if (page.arrived) page.arrived(); };
  return element;
}

// ---- the head ----

function sessionHead(page) {
  const { row, summary } = page;
  const group = store.index.groups.find((one) => one.slug === summary.group);
  return h("header.replay-head", null,
    h("div.replay-name", h("h1", bdi(summary.name)), chip(group ? group.name : summary.group, summary.group), failureLinks(page)),
    row.title ? h("p.replay-title", bdi(row.title)) : null,
    whyItFailed(page),
    row.gate === "warn" ? h("p.note", "gate: warn. What differs here is reported and does not fail the run.") : null,
    (row.warnings || []).map((text) => h("p.note", { dir: "auto" }, h("span.sign", "! "), String(text))),
    factList(sessionFacts(page)));
}

function whyItFailed({ row, summary }) {
  if (row.message) return h("pre.vt.why-box", { class: summary.group, dir: "auto" }, row.message);
  if (!summary.why) return null;
  return h("p.why-box", { class: summary.group, dir: "auto" }, summary.why);
}

function sessionFacts({ row, id }) {
  const until = row.until === null || row.until === undefined ? null : "turn " + row.until;
  const calls = Object.entries(row.calls || {}).filter(([, count]) => count).map(([name, count]) => `${number(count)} ${name}`).join(", ");
  const told = [["session", row.session], ["agent", row.agent], ["fork", row.fork], ["until", until], ["mode", row.mode], ["owner", row.owner], ["plan", row.cassette],
    ["pinned", (row.pinned || []).join(", ")], ["calls", calls],
    ["took", row.duration_ms ? number(row.duration_ms) + " ms" : null], ["traces", row.versions || row.traces ? h("a", { href: place.with({ session: id }, "traces") }, "all of this session") : null]];
  return told.filter(([, value]) => value);
}

// Every turn that fails or could not run, `[session, turn]`, in the order of the report; a session that did not begin has no turn.
function failingTurns() {
  return store.index.sessions.filter(isBadSession)
    .flatMap((one) => (one.bad && one.bad.length ? one.bad.map(([turn]) => [one.id, turn]) : [[one.id, null]]));
}

const failureAddress = ([id, turn]) => "#" + id + (turn === null ? "" : "-" + turn);

// The failure before (-1) or after (1) what is looked at; null where there is none.
function failureBeside(page, way) {
  const order = (one) => store.places.get(one[0]) * 1e6 + (one[1] || 0);
  const turn = page.at === undefined ? page.now.turn : page.steps[page.at].turn && page.steps[page.at].turn.number;
  const here = order([page.id, turn]);
  const found = failingTurns().filter((one) => (way > 0 ? order(one) > here : order(one) < here));
  return found.length ? found[way > 0 ? 0 : found.length - 1] : null;
}

function failureLinks(page) {
  const step = (way) => {
    const found = failureBeside(page, way);
    if (!found) say(way > 0 ? "No failure after this one" : "No failure before this one");
    else if (found[0] === page.id && page.goTo) page.goTo(String(found[1]));
    else place.go(failureAddress(found));
  };
  keys.add("j", "next failure", () => step(1), "session");
  keys.add("k", "failure before", () => step(-1), "session");
  const many = failingTurns().length;
  return h("div.replay-tools", many ? [button("↑ Previous failure", () => step(-1)), button("↓ Next failure", () => step(1))] : null,
    isBadSession(page.summary) && !page.row.turns.some(isBad) && briefButton(page), copyButton("Copy link", linkHere));
}

// What others can open, where the report is known to lie somewhere.
const linkHere = () => (store.index.url ? String(store.index.url).split("#")[0] + location.hash : location.href);

// ---- the stage: timeline, steps, state, turn ----

function stage(page) {
  page.parts = { rail: null, steps: null, state: h("section.state-here", { label: "State here" }), turn: h("div.turn-here") };
  page.go = (at) => goTo(page, at);
  page.peek = (at) => drawState(page, at === null ? page.at : at, at !== null);
  page.goTo = (key) => page.go(page.steps.findIndex((step) => step.key === key));
  page.at = firstStep(page);
  page.parts.rail = railOf(page);
  page.parts.steps = stepList(page);
  addSessionKeys(page);
  drawState(page, page.at, false);
  drawTurn(page);
  page.arrived = () => {
    page.parts.rail.show(page.at);
    page.parts.steps.show(page.at);
    const panel = page.parts.turn.firstElementChild;
    if (panel && panel.arrived) panel.arrived();
    markCall(page);
  };
  const { rail, steps, state, turn } = page.parts;
  return [rail, h("div.looking", { class: page.row.versions ? null : "stateless" }, h("nav.steps", { label: "Steps" }, steps), state), turn, stateHistory(page)];
}

// What the address names, `[key of the step, in words]`, the narrowest first.
const namedSteps = ({ params, turn, call }) => [[params.get("at"), "step at this address"], [call !== null && `${turn}-c${call}`, `call ${call} in turn ${turn}`], [turn !== null && String(turn), "turn " + turn]].filter(([key]) => key);

// Says that the session has not what the address names; null where it has.
function unknownPlace({ now, row, steps }) {
  const missing = namedSteps(now).findLast(([key]) => !steps.some((step) => step.key === key));
  const turn = row.turns.find((one) => one.turn === now.turn);
  const words = missing ? missing[1]
    : now.request && !turn?.requests?.[now.request - 1] ? `request ${now.request} in turn ${now.turn}`
    : now.print && !turn?.divergences.some((found) => found.fingerprint === now.print) ? `such difference in turn ${now.turn}` : null;
  return words && h("p.note.unknown", `In this report, the session has no ${words}.`);
}

// What the address names; else the first turn that fails, else the first that is replayed.
function firstStep({ now, row, steps, fork }) {
  const find = (key) => steps.findIndex((step) => step.key === key);
  const named = namedSteps(now).map(([key]) => find(key)).find((at) => at >= 0);
  if (named !== undefined) return named;
  const bad = row.turns.find(isBad);
  return Math.max(0, bad ? find(String(bad.turn)) : steps.findIndex((step, at) => at >= fork && step.kind === "turn"));
}

const isShown = (page) => page.parts.rail.isConnected;

function goTo(page, wanted) {
  if (!isShown(page)) return;
  const at = Math.min(page.steps.length - 1, Math.max(0, wanted));
  const [old, step] = [page.steps[page.at], page.steps[at]];
  const { rail, steps, turn } = page.parts;
  page.at = at;
  page.unknown?.remove();
  rail.show(at);
  steps.redraw(page.steps.length);
  steps.show(at);
  if (steps.contains(focused())) focusQuietly(steps.querySelector(`[data-row="${at}"]`));
  drawState(page, at, false);
  if (old.turn !== step.turn || !step.turn) {
    const held = turn.contains(focused());
    drawTurn(page);
    if (held) focusQuietly(rail.querySelector(".track"));
  }
  markCall(page);
  history.replaceState(history.state, "", stepAddress(page, step));
}

// The address of a step: that of its call or turn, where it has one.
function stepAddress(page, step) {
  const path = page.id + (step.turn ? "-" + step.turn.number : "") + (step.call ? "-c" + step.call : "");
  const kept = Object.fromEntries(place.now().params);
  return place.with({ ...kept, at: step.kind === "turn" || step.kind === "call" ? null : step.key }, path);
}

function addSessionKeys(page) {
  const scrubs = (event) => event.target.closest(".track, .steps");
  const isFree = (event) => scrubs(event) || !event.target.closest("pre, .virtual, [role=group]");
  const move = (may, to) => (event) => {
    if (!isShown(page) || !may(event)) return false;
    page.go(to());
    if (!scrubs(event)) say(stepTitle(page, page.steps[page.at]));
    return true;
  };
  const turn = (way) => () => page.steps.findIndex((step) => step.kind === "turn" && step.turn.number === turnBeside(page, way));
  keys.add("ArrowLeft", "step before", move(isFree, () => page.at - 1), "session");
  keys.add("ArrowRight", "next step", move(isFree, () => page.at + 1), "session");
  keys.add("ArrowUp", "step before, on the timeline or in the list", move(scrubs, () => page.at - 1), "session");
  keys.add("ArrowDown", "next step, on the timeline or in the list", move(scrubs, () => page.at + 1), "session");
  keys.add("PageUp", "turn before, there", move(scrubs, turn(-1)), "session");
  keys.add("PageDown", "next turn, there", move(scrubs, turn(1)), "session");
  keys.add("Home", "first step, there", move(scrubs, () => 0), "session");
  keys.add("End", "last step, there", move(scrubs, () => page.steps.length - 1), "session");
  keys.add("f", "fork here", () => isShown(page) && forkDialog(page, page.at), "session");
}

// The number of the turn before or after the one that is looked at; at an end, that one.
function turnBeside({ steps, at }, way) {
  const turns = steps.filter((step) => step.kind === "turn");
  const here = steps[at].turn;
  const found = way > 0 ? turns.find((step) => steps.indexOf(step) > at) : turns.findLast((step) => steps.indexOf(step) < at && (step.turn !== here));
  return (found || turns.at(way > 0 ? -1 : 0)).turn.number;
}

// ---- what a step is in words ----

const oneRow = (value) => (value === undefined || value === null ? "" : textOf(value).slice(0, 300).replace(/\s+/g, " "));
const turnSide = (turn) => (turn.told ? { input: turn.told.input, ...turn.told.recorded } : turn.other);

// `[sign, title, text, slug, arguments]`
function stepWords(page, step) {
  const { row } = page;
  const side = step.turn && turnSide(step.turn);
  if (step.kind === "turn") return ["▸", "User", oneRow(side.input), ""];
  if (step.kind === "end") return ["◂", "Agent", oneRow(side.error !== undefined ? side.error : side.output), ""];
  if (step.kind === "trace") return ["◇", step.trace.action, oneRow(step.trace.about ?? step.trace.why), ""];
  if (step.kind === "version") return versionWords(page, step.version);
  if (step.kind === "start") return ["◇", "Start", step.version < 0 ? "no state was recorded" : `version ${row.versions[step.version].v}, the initial state`, ""];
  if (step.turn.other) return ["•", step.turn.other.calls[step.call - 1], "", ""];
  const call = step.turn.told.calls[step.call - 1];
  const [sign, words, slug] = callState({ row, turn: step.turn.told }, call);
  return [sign, call.label, slug === "ok" ? "" : words, slug, oneRow(shape(argumentsOf(call))?.items.map(([, item]) => textOf(item)).join(", ") ?? argumentsOf(call))];
}

function versionWords({ row, states }, at) {
  const version = row.versions[at];
  const what = at && isWhole(states[at]) && isWhole(states[at - 1]) ? changesBetween(states[at - 1], states[at]).map(changeText).join(", ") : "";
  return version.back === undefined ? ["◆", "State v" + version.v, oneRow(what), "state"] : ["↶", `State v${version.v}, back to v${version.back}`, oneRow(what), "state"];
}

const SAID = 110;

// For people who hear it, and above the state.
function stepTitle(page, step) {
  const [, title, text] = stepWords(page, step);
  const turn = step.turn ? `Turn ${step.turn.number} · ` : "";
  const calls = step.kind === "call" ? `call ${step.call} of ${(step.turn.told || step.turn.other).calls.length} · ` : "";
  const said = text.length > SAID ? text.slice(0, SAID) + "…" : text;
  return turn + calls + title + (said ? `: ${said}` : "");
}

// ---- the list of steps ----

function stepList(page) {
  const draw = (at) => {
    const step = page.steps[at];
    const here = at === page.at;
    const [sign, title, text, slug, given] = stepWords(page, step);
    const [, name, nth] = /^(.*?)(#\d+)?$/s.exec(title);
    const row = h("a.step", { class: `k-${step.kind} ${step.part}`, href: stepAddress(page, step), tabindex: here ? "0" : "-1", "aria-current": here ? "step" : null },
      h("span.number", step.kind === "turn" ? [sr("Turn "), step.turn.number] : null), signOf(slug, sign), h("b", bdi(name), nth), h("span.gist", { dir: "auto" }, [text, given].filter(Boolean).join(" · ")));
    listen(row, "click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      page.go(at);
    });
    listen(row, "pointerenter", () => page.peek(at));
    return row;
  };
  const list = virtualList(page.steps.length, 26, draw);
  listen(list, "pointerleave", () => page.peek(null));
  return list;
}

// ---- the state at a step ----

function drawState(page, at, isPeek) {
  const { row, states, steps, parts } = page;
  const step = steps[at];
  const version = row.versions && row.versions[step.version];
  parts.state.classList.toggle("peek", isPeek);
  parts.state.replaceChildren();
  append(parts.state, [
    h("header", dim(`${isPeek ? "Looking at step" : "Step"} ${at + 1} of ${steps.length}`), h("h2", bdi(stepTitle(page, step))),
      button("Fork here", () => forkDialog(page, at))),
    version ? h("p.dim", versionFacts(page, step.version), version.why ? [": ", h("q", { dir: "auto" }, version.why)] : null) : null,
    stateBody(page, step),
    replayedState(page, step)]);
}

function versionFacts({ row }, at) {
  const version = row.versions[at];
  const where = version.turn !== null ? `made in turn ${version.turn}` : version.after !== undefined ? `made after turn ${version.after}` : "the initial state";
  const back = version.back === undefined ? null : `rolled back to version ${version.back}`;
  return [[h("b", "Version " + version.v), where, back, version.at, version.actor && ["by ", bdi(version.actor)]].filter(Boolean).map((part, i) => (i ? [" · ", part] : part))];
}

function stateBody({ row, states }, { version }) {
  if (version < 0) return h("p.void", row.versions ? "No state is known here." : row.traces ? "The recording has no state." : "These results do not tell the states of the session.");
  const [old, now] = [version ? states[version - 1] : LOST, states[version]];
  if (now === LOST) return h("p.void", "This state is too long for the report; the cassette has it in full.");
  const name = (at) => "version " + row.versions[at].v;
  const isTold = isWhole(old) && isWhole(now);
  const differs = isTold && !same(old, now);
  const sides = differs ? [{ name: name(version - 1), value: old, cls: "old" }, { name: name(version), value: now, cls: "new" }] : [{ name: name(version), value: now }];
  return h("div", isTold ? h("p.dim", differs ? `with what differs from ${name(version - 1)}` : `the same as ${name(version - 1)}`) : null,
    valueTable(sides, { unified: true, path: "state", open: !differs || oneLine(now).length < 500 }));
}

// At the end of a turn the replay's own state is known as well.
function replayedState(page, step) {
  const turn = step.kind === "end" && step.turn.told;
  if (!turn || !turn.replayed) return null;
  if (turn.replayed.same || (turn.replayed.state !== undefined && same(turn.replayed.state, turn.recorded.state))) return h("p.dim", "The replay ends this turn with the same state.");
  if (turn.replayed.state === undefined || turn.recorded.state === undefined) return null;
  return h("div", h("p.dim", "The replay ends this turn with another state:"),
    valueTable([{ name: "recorded", value: turn.recorded.state, cls: "old" }, { name: "now", value: turn.replayed.state, cls: "new" }], { unified: true, path: "state" }));
}

// ---- the turn at a step ----

function drawTurn(page) {
  const step = page.steps[page.at];
  const { turn } = page.parts;
  if (!step.turn) turn.replaceChildren(eventPanel(page, step));
  else if (step.turn.told) turn.replaceChildren(turnPanel(page.row, step.turn.told, { ...page.now, turn: step.turn.number, call: step.call || null }));
  else turn.replaceChildren(otherPanel(page, step.turn));
}

// The call of the step is marked in the panel of its turn.
function markCall(page) {
  const step = page.steps[page.at];
  for (const old of page.parts.turn.querySelectorAll(".at-step")) old.classList.remove("at-step");
  if (step.kind === "call") byId(`${page.id}-${step.turn.number}-c${step.call}`)?.classList.add("at-step");
}

function eventPanel(page, step) {
  return h("section.panel", { label: "Between turns" }, h("h2", bdi(stepTitle(page, step))),
    h("p.dim", step.kind === "start" ? "Nothing was said yet." : "It happened between turns: no input asked for it."));
}

// A turn that was not replayed: what was recorded, in short.
function otherPanel(page, { number: turn, other, part }) {
  const id = `${page.id}-${turn}`;
  const side = (name, value) => (value === undefined ? null : h("section.part", h("h3", name), h("div.texts", textSide({ name: name === "Input" ? "user" : "recorded", value }, null))));
  return h("section.panel", { id, label: "Turn " + turn, tabindex: "-1" },
    h("header.panel-head", h("h2", h("a", { href: "#" + id }, "Turn " + turn)), h("span.chip.past", part === "cut" ? "partly before the fork" : "recorded, not replayed"),
      h("span.dim.facts-line", [other.at, other.actor && "by " + other.actor].filter(Boolean).join(" · "))),
    side("Input", other.input),
    other.calls.length ? h("section.part", h("h3", plural(other.calls.length, "call")), h("ol.call-list", other.calls.map((tool, at) => h("li.call-item.named", { id: `${id}-c${at + 1}`, tabindex: "-1" }, code(tool))))) : null,
    side("Output", other.output), side("Reasoning", other.why));
}

// ---- state history ----

const HISTORY = 200;

function stateHistory(page) {
  const versions = page.row.versions || [];
  if (!versions.length) return null;
  const body = h("tbody", versions.slice(0, HISTORY).map((_, at) => versionRow(page, at)));
  const all = versions.length > HISTORY && button(`Show all ${number(versions.length)} versions`, () => { append(body, versions.slice(HISTORY).map((_, at) => versionRow(page, HISTORY + at))); all.remove(); });
  const table = h("table.grid.history", columns("Version", "Made", "Why", "What changed", "Fork"), body);
  return h("details.state-history", { open: versions.length < 6 }, h("summary", h("h2", "State history"), dim(" " + plural(versions.length, "version"))), table, all);
}

function versionRow(page, at) {
  const version = page.row.versions[at];
  const step = page.steps.findIndex((one) => one.version === at);
  const turn = version.turn ?? version.after;
  const made = turn === undefined || turn === null ? "at the start" : [version.turn === null ? "after " : "in ", h("a", { href: `#${page.id}-${turn}` }, "turn " + turn)];
  const go = h("a", { href: stepAddress(page, page.steps[step]), on: { click: (event) => { event.preventDefault(); page.go(step); } } }, "Version " + version.v);
  return h("tr", rowName(go, version.back === undefined ? null : dim(` ↶ back to ${version.back}`)),
    h("td", made, version.actor ? [" by ", bdi(version.actor)] : null, version.at ? h("small", " " + version.at) : null), h("td", { dir: "auto" }, version.why || ""),
    h("td", whatChanged(page, at)), h("td", button("Fork here", () => forkDialog(page, step), { label: `Fork here, at version ${version.v}` })));
}

function whatChanged({ states }, at) {
  if (!at) return dim("the first state");
  if (!isWhole(states[at]) || !isWhole(states[at - 1])) return dim("too long for the report");
  const found = changesBetween(states[at - 1], states[at]);
  const told = found.slice(0, 3).map((one) => h("div", code(changeText(one).slice(0, 200))));
  return found.length ? [told, found.length > 3 ? dim(`and ${found.length - 3} more`) : null] : dim("nothing");
}
