// The trace explorer: who did what, when and why, in the recordings of all sessions or of one.

const TRACES_READ = new Map(); // the traces of each session that was unpacked for them
const NOBODY = "~none"; // in the address, for traces that name no actor
const ACTION_BUTTONS = 24;
const REASONED_ACTIONS = new Set(["turn.added", "state.updated", "state.rolled_back"]);
let tracesNow = null;

keys.add("/", "search", () => tracesNow.search.focus(), "traces");
keys.add("j ArrowDown", "next trace", () => pickTrace(tracesNow, tracesNow.at + 1), "traces");
keys.add("k ArrowUp", "trace before", () => pickTrace(tracesNow, tracesNow.at - 1), "traces");
keys.add("Home", "first trace", () => pickTrace(tracesNow, 0), "traces");
keys.add("End", "last trace", () => pickTrace(tracesNow, tracesNow.shown.length - 1), "traces");
keys.add("Enter", "open the trace’s place in its session", () => tracesNow.at >= 0 && place.go(tracesNow.shown[tracesNow.at].href), "traces");

function tracesView(now) {
  const asked = now.params.get("session");
  const view = { asked, session: store.summary(asked) || null, actions: new Set(chosenActions(now.params)), actor: now.params.get("actor"),
    text: now.params.get("q") || "", newest: now.params.get("order") === "desc", all: [], shown: [], unread: [], at: -1 };
  view.status = h("p.dim.trace-count", { role: "status" }, "Reading…");
  view.progress = h("progress", { max: 1, value: 0, label: "Sessions that were read", hidden: true });
  view.search = h("input", { type: "search", placeholder: "Search reasoning and content", label: "Search reasoning and content",
    on: { input: () => chooseTraces(view, { text: view.search.value }) }, prop: { value: view.text } });
  view.actorBox = h("select", { label: "Actor", on: { change: () => chooseTraces(view, { actor: view.actorBox.value }) } });
  view.actionBox = h("div.trace-actions", { role: "group", label: "Actions" });
  view.detail = h("section.card.trace-detail", { label: "The chosen trace" });
  view.body = h("div.trace-body", view.detail);
  const parts = [h("div.toolbar", view.search, view.actorBox, orderButton(view), button("Export CSV", () => download(csvName(view), csvOf(view.shown)))),
    view.actionBox, view.status, view.progress, view.body];
  view.root = h("div.traces", { data: { title: "Traces" } }, h("h1", "Traces"), asked ? tracedSession(view.session) : null, asked && !view.session ? null : parts);
  tracesNow = view;
  addTraceList(view);
  listen(NARROW, "change", () => view.root.isConnected && addTraceList(view));
  view.root.arrived = () => readTraces(view);
  return view.root;
}

function tracedSession(summary) {
  return h("p.trace-session", summary ? ["Session ", h("a", { href: "#" + summary.id }, bdi(summary.name))] : "This report has no such session.", " ", h("a.button", { href: "#traces" }, "All sessions"));
}

function orderButton(view) {
  const words = () => (view.newest ? "Newest first" : "Oldest first");
  const made = button(words(), () => {
    chooseTraces(view, { newest: !view.newest });
    made.textContent = words();
  }, { title: "Turn the order around" });
  return made;
}

// ---- reading ----

// The sessions whose traces are told: each recording once, however many plans and replays it has, by the one that tells most of its turns.
function tracedSessions(view) {
  if (view.asked) return view.session ? [view.session] : [];
  const found = new Map();
  for (const one of store.index.sessions) if (!(found.get(one.recording)?.turns >= one.turns)) found.set(one.recording, one);
  return [...found.values()];
}

// Unpack the sessions one by one while the page stays usable; what was read is shown as it comes.
async function readTraces(view) {
  const sessions = tracedSessions(view);
  const show = () => {
    view.all.sort((a, b) => a.time - b.time || a.order - b.order);
    refreshTraces(view);
  };
  let painted = performance.now();
  const rest = breather();
  view.progress.hidden = sessions.every((one) => TRACES_READ.has(one.id));
  for (const [done, summary] of sessions.entries()) {
    if (!TRACES_READ.has(summary.id)) TRACES_READ.set(summary.id, await readTracesOf(summary, rest).catch(() => null));
    if (!view.root.isConnected) return;
    const found = TRACES_READ.get(summary.id);
    if (found) view.all.push(...found);
    else view.unread.push(visible(summary.name));
    await rest();
    if (performance.now() - painted > 400) {
      view.progress.value = (done + 1) / sessions.length;
      show();
      painted = performance.now();
    }
  }
  view.progress.hidden = true;
  view.done = true;
  show();
}

// Gives way to the page after every few milliseconds of work.
function breather() {
  let began = performance.now();
  return async () => {
    if (performance.now() - began < 12) return;
    await new Promise((run) => setTimeout(run));
    began = performance.now();
  };
}

async function readTracesOf(summary, rest) {
  const row = await store.session(summary.id);
  const made = [];
  let time = -Infinity;
  for (const one of tracesOf(row, summary.id)) {
    // What happened later stands later, whatever its clock says.
    time = Math.max(time, Date.parse(one.at) || -Infinity);
    made.push({ ...one, time, summary, order: store.places.get(summary.id) * 2 ** 24 + made.length });
    await rest();
  }
  return made;
}

// ---- what a recording tells ----

const traceText = (value) => (value === undefined || value === null ? "" : typeof value === "string" ? value : oneLine(value));

// The traces of a row in the order in which they were recorded: `{action, turn, at, actor, why, what, href, bad}`. One that tells no time has
// that of the last one before it which does.
function* tracesOf(row, id) {
  const states = statesOf(row);
  const created = (row.traces || []).find((one) => one.action === "session.created");
  let at = created && created.at;
  if (created) yield { ...created, what: states.length ? "state " + traceText(states[0]) : "", href: `#${id}?at=start` };
  for (const step of stepsOf(row)) {
    if (step.kind === "turn") at = (step.turn.told || step.turn.other).at || at;
    for (const one of stepTraces(row, states, step, id)) yield { ...one, at: (at = one.at || at) };
  }
}

function* stepTraces(row, states, step, id) {
  const href = `#${id}?at=${step.key}`;
  if (step.kind === "version") yield versionTrace(row.versions[step.version], states[step.version - 1], states[step.version], href);
  else if (step.kind === "trace") yield { ...step.trace, what: step.trace.about, href };
  else if (step.kind === "call") yield* callTrace(step, id, href);
  else if (step.kind === "end") yield turnTrace(step.turn, id, href);
}

function versionTrace(version, before, after, href) {
  const changes = changesBetween(before, after).map(changeText).join(", ");
  const back = version.back === undefined ? "" : `back to version ${version.back}: `;
  return { action: back ? "state.rolled_back" : "state.updated", turn: version.turn ?? version.after, at: version.at, actor: version.actor, why: version.why,
    what: `version ${version.v}: ${back}${changes || "as before"}`, href };
}

function* callTrace(step, id, href) {
  const { told, other, number } = step.turn;
  const call = (told || other).calls[step.call - 1];
  if (other) yield { action: "tool.called", turn: number, actor: null, what: call, href };
  if (other || !call.recorded) return;
  const { tool, arguments: given, result, error, agent } = call.recorded;
  const after = error !== undefined ? " raised " + traceText(error) : result !== undefined ? " → " + traceText(result) : "";
  yield { action: "tool.called", turn: number, actor: agent, what: `${tool || call.tool} ${traceText(given)}${after}`, href: `#${id}-${number}-c${step.call}`, bad: error !== undefined };
}

function turnTrace({ told, other, number }, id, href) {
  const side = told ? told.recorded : other;
  const error = told && side.error !== undefined;
  return { action: "turn.added", turn: number, actor: (told || other).actor, why: told ? traceText(side.reasoning) : other.why,
    what: `${traceText((told || other).input)} → ${error ? "raised " + traceText(side.error) : traceText(side.output)}`, href: told ? `#${id}-${number}` : href, bad: error };
}

// ---- choosing ----

function chosenActions(params) {
  return (params.get("action") || "").split(" ").filter(Boolean);
}

function chooseTraces(view, chosen) {
  Object.assign(view, chosen, { at: -1 });
  place.keep({ action: [...view.actions].join(" "), actor: view.actor, q: view.text, order: view.newest ? "desc" : "" });
  refreshTraces(view);
}

// The traces that fit, in order, and how many there would be of each action and actor.
function refreshTraces(view) {
  const kept = view.shown[view.at];
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  view.pattern = words.length ? anyOf(words) : null;
  const counts = { actions: new Map(), actors: new Map() };
  view.shown = view.all.filter((one) => {
    if (words.length) one.text ??= `${one.why || ""}\n${one.what || ""}`.toLowerCase();
    if (!words.every((word) => one.text.includes(word))) return false;
    const [action, actor] = [one.action, one.actor || NOBODY];
    const fits = [!view.actions.size || view.actions.has(action), !view.actor || view.actor === actor];
    counts.actions.set(action, (counts.actions.get(action) || 0) + fits[1]);
    counts.actors.set(actor, (counts.actors.get(actor) || 0) + fits[0]);
    return fits[0] && fits[1];
  });
  if (view.newest) view.shown.reverse();
  view.at = view.shown.indexOf(kept);
  view.root.classList.toggle("timeless", !view.all.some((one) => one.at));
  showTraceCounts(view, counts);
  view.list.redraw(view.shown.length);
  showTrace(view);
}

const mostFirst = (counts) => [...counts].sort((a, b) => b[1] - a[1]);

function showTraceCounts(view, counts) {
  for (const action of view.actions) if (!counts.actions.has(action)) counts.actions.set(action, 0);
  const held = view.actionBox.contains(focused()) && focused().dataset.action;
  view.actionBox.replaceChildren(...mostFirst(counts.actions).slice(0, ACTION_BUTTONS).map(([action, count]) => button([action, " ", h("span.n", number(count))], () => {
    if (!view.actions.delete(action)) view.actions.add(action);
    chooseTraces(view, {});
  }, { data: { action }, "aria-pressed": String(view.actions.has(action)) })));
  for (const one of view.actionBox.children) if (one.dataset.action === held) one.focus();
  if (view.actor && !counts.actors.has(view.actor)) counts.actors.set(view.actor, 0);
  view.actorBox.replaceChildren(h("option", { value: "" }, "Any actor"), ...mostFirst(counts.actors).map(([actor, count]) =>
    h("option", { prop: { value: actor, selected: actor === view.actor } }, `${actor === NOBODY ? "no actor named" : visible(actor).slice(0, 60)} (${number(count)})`)));
  view.status.textContent = `${number(view.shown.length)} of ${plural(view.all.length, "trace")}` + (view.done ? "" : " so far") +
    (view.unread.length ? `; ${plural(view.unread.length, "session")} cannot be read: ${view.unread.slice(0, 3).join(", ")}` : "");
}

// ---- the list ----

function addTraceList(view) {
  const list = virtualList(0, NARROW.matches ? 84 : 46, (i) => traceRow(view, i), { role: "list", label: "Traces", tabindex: "0" });
  if (view.list) view.list.replaceWith(list);
  else view.body.prepend(list);
  view.list = list;
  list.redraw(view.shown.length);
}

function traceRow(view, i) {
  const one = view.shown[i];
  return h("div", { role: "listitem", "aria-posinset": i + 1, "aria-setsize": view.shown.length }, h("button.trace", {
    tabindex: "-1", class: one.bad ? "fail" : one.action === "state.rolled_back" ? "norun" : null, "aria-current": i === view.at ? "true" : null,
    on: { click: (event) => (event.detail || i !== view.at ? pickTrace(view, i) : place.go(one.href)) } },
  h("span.when", traceTime(one.at)), h("span.action", one.bad ? "✕ " : one.action === "state.rolled_back" ? "↩ " : "", one.action),
  h("span.where", bdi(tracePlace(view, one))), h("span.at", bdi(one.actor ? "by " + one.actor : "")),
  h("span.what", { dir: "auto" }, foundWords(view, flatText(one.what))), becauseOf(view, one)));
}

function tracePlace(view, one) {
  const turn = one.turn ? "turn " + one.turn : "";
  return view.session ? turn || "start" : [one.summary.name.split("::")[0], turn].filter(Boolean).join(", ");
}

// What is to say why, and does not, is told.
function becauseOf(view, one) {
  if (one.why) return h("span.because", { dir: "auto" }, foundWords(view, flatText(one.why)));
  return REASONED_ACTIONS.has(one.action) ? h("span.because.none", "no reasoning") : null;
}

// A text in parts, what was searched marked.
function foundWords(view, text) {
  if (!view.pattern) return text;
  return String(text).split(view.pattern).map((part, i) => (i % 2 ? h("mark", part) : part));
}

const anyOf = (words) => new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "i");
const flatText = (text) => String(text || "").slice(0, 300).replace(/[ \n\r\t]+/g, " ");

// `2026-11-30 02:30:31`, of a time that reads so.
function traceTime(at) {
  const found = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)/.exec(at || "");
  return found ? `${found[1]} ${found[2]}` : at ? flatText(at).slice(0, 24) : "–";
}

function pickTrace(view, i) {
  if (!view.shown.length) return;
  view.at = Math.min(Math.max(i, 0), view.shown.length - 1);
  view.list.show(view.at);
  view.list.redraw(view.shown.length);
  showTrace(view);
  focusQuietly(view.list.querySelector('[aria-current="true"]'));
  if (NARROW.matches) view.detail.scrollIntoView({ block: "nearest" });
}

function showTrace(view) {
  const one = view.shown[view.at];
  view.detail.hidden = !one && NARROW.matches;
  if (!one) {
    view.detail.replaceChildren(h("p.empty", view.shown.length ? "Choose a trace to read it whole." : view.done ? "No trace fits." : "Reading…"));
    return;
  }
  const facts = [["when", one.at || "not recorded"], ["who", one.actor || "not recorded"], ["session", one.summary.name], ["turn", one.turn || "none"]];
  view.detail.replaceChildren();
  append(view.detail, [h("h2", one.action), factList(facts),
    one.what ? [h("h3", "What"), h("pre.v", { dir: "auto", tabindex: "0" }, foundWords(view, one.what))] : null, h("h3", "Why"),
    one.why ? h("pre.v", { dir: "auto", tabindex: "0" }, foundWords(view, one.why)) : h("p.void", "No reasoning was recorded."),
    h("p.links", h("a", { href: one.href }, "Open in its session"))]);
}

// ---- CSV ----

const csvName = (view) => (view.session ? `traces-${view.session.id}.csv` : "traces.csv");

// Spreadsheets run what begins like a formula: an apostrophe in front makes it text to them.
function csvCell(value) {
  const text = visible(value ?? "");
  const safe = /^\s*[=+\-@]/.test(text) ? "'" + text : text;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function csvOf(traces) {
  const rows = traces.map((one) => [one.summary.session, one.turn, one.action, one.actor, one.at, one.why, one.what]);
  return [["session", "turn", "action", "actor", "timestamp", "reasoning", "details"], ...rows].map((cells) => cells.map(csvCell).join(",") + "\n").join("");
}
