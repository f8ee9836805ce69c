// A session as steps, and its state at each of them.

// A state of which the report holds the beginning alone.
const LOST = Symbol("lost");

// The state at each version: the first is there in whole, of the others what changed.
function statesOf(row) {
  let state;
  return (row.versions || []).map((version) => {
    if (!version.patch) state = version.state;
    else for (const [path, ...value] of version.patch) state = patched(state, path, value);
    return state;
  });
}

// A value with what stands at a path exchanged, or taken out where there is no new value. What did not change is shared.
function patched(value, path, found) {
  if (!path.length) return found[0];
  if (value === LOST || value === null || typeof value !== "object" || isCut(value)) return LOST;
  const [key, ...rest] = path;
  const isList = Array.isArray(value);
  const made = new Map(isList ? value.entries() : pairsOf(value));
  if (rest.length || found.length) {
    const inner = patched(made.get(key), rest, found);
    if (inner === LOST) return LOST;
    made.set(key, inner);
  } else made.delete(key);
  return isList ? [...made.values()] : ofPairs([...made]);
}

// Whether the report has a state in whole.
const isWhole = (state) => state !== LOST && !isCut(state);

// What differs between two states: `[path, old, new]`, undefined for what is not there.
function changesBetween(old, now, path = "", found = []) {
  if (same(old, now)) return found;
  const inside = old !== undefined && now !== undefined && shapes([old, now]);
  if (inside) for (const [key, [was, is]] of children(inside)) changesBetween(was, is, childPath(path, key), found);
  else found.push([path, old, now]);
  return found;
}

const changeText = ([path, old, now]) => `${path ? path + ": " : ""}${old === undefined ? "" : oneLine(old) + " → "}${now === undefined ? "(gone)" : oneLine(now)}`;

// ---- steps ----

// Everything that happened, in order: `{key, kind, turn, part, version}`. kind: `start`, `turn`, `call`, `version`, `trace`, `end` (of a turn).
// turn: `{number, part, told, other}`, told as the row has it where it was to be replayed, else other. version: the position in `versions` of
// the one that holds after the step. A call has its number in `call`, a trace itself in `trace`.
function stepsOf(row) {
  const [first] = row.versions || [];
  // The state that the session began with holds from its start.
  let version = first && first.turn === null && first.after === undefined ? 0 : -1;
  const marks = marksOf(row, version + 1);
  const steps = [];
  const add = (step, turn) => steps.push({ ...step, turn, part: turn ? turn.part : "prefix", version });
  const pass = (list, calls, turn) => {
    while (list.length && !(list[0].calls > calls)) {
      const { at, trace } = list.shift();
      if (!trace) version = at;
      add(trace ? { kind: "trace", trace, key: "trace" + at } : { kind: "version", key: "v" + row.versions[at].v }, turn);
    }
  };
  add({ kind: "start", key: "start" }, null);
  pass(marks.get(0) || [], Infinity, null);
  for (const turn of turnsOf(row)) turnSteps(turn, marks.get(turn.number) || [], add, pass);
  // What results of strangers place in a turn that is not there.
  for (const list of marks.values()) pass(list, Infinity, null);
  return cutAtFork(row, steps);
}

function turnSteps(turn, marks, add, pass) {
  const calls = turn.told ? turn.told.calls : turn.other.calls;
  let recorded = 0;
  add({ kind: "turn", key: String(turn.number) }, turn);
  calls.forEach((call, at) => {
    pass(marks, recorded, turn);
    add({ kind: "call", key: `${turn.number}-c${at + 1}`, call: at + 1 }, turn);
    if (turn.other || call.recorded) recorded++;
  });
  pass(marks, Number.MAX_VALUE, turn);
  add({ kind: "end", key: turn.number + "-end" }, turn);
  pass(marks, Infinity, null);
}

// Versions, from the position `from`, and other traces by the turn in which they were made, or after which; 0 is before the first.
function marksOf(row, from) {
  const all = [
    ...(row.versions || []).map((one, at) => ({ at, turn: one.turn ?? one.after ?? 0, calls: one.turn === null ? Infinity : one.calls || 0 })).slice(from),
    ...(row.traces || []).map((trace, at) => ({ at, trace, turn: trace.turn ?? 0, calls: trace.calls ?? Infinity })).filter(({ trace }) => trace.action !== "session.created"),
  ];
  const marks = new Map(all.map((one) => [one.turn, []]));
  for (const one of all) marks.get(one.turn).push(one);
  for (const list of marks.values()) list.sort((a, b) => a.calls - b.calls);
  return marks;
}

function turnsOf(row) {
  const others = (row.others || []).map((other) => ({ number: other.turn, part: "prefix", other }));
  const told = row.turns.map((turn) => ({ number: turn.turn, part: turn.replayed ? "replayed" : turn.beyond_until ? "beyond" : "stopped", told: turn }));
  return [...others, ...told].sort((a, b) => a.number - b.number);
}

// What a fork in the middle of a turn leaves out of it is neither its past nor replayed.
function cutAtFork(row, steps) {
  const fork = forkAt(row, steps);
  const cut = steps[fork - 1].turn;
  steps.forEach((step, at) => {
    if (at < fork) return;
    if (!step.turn) step.part = steps[at - 1].part;
    else if (step.turn === cut && cut.other) step.part = "cut";
  });
  return steps;
}

// The position of the first step after the fork, and after the greetings that follow it; after the start where the fork is not there.
function forkAt(row, steps) {
  const [kind, number] = String(row.fork).split(" ");
  if (kind === "turn") return pastGreetings(steps, Math.max(1, steps.findIndex((step) => step.key === number)));
  const isThere = (step) => (step.kind === "version" || step.kind === "start") && step.version >= 0 && row.versions[step.version].v === +number;
  return pastGreetings(steps, Math.max(0, steps.findLastIndex(isThere)) + 1);
}

// A turn for which nothing asked is taken over from the recording.
const isGreeting = (turn) => Boolean(turn.other && turn.other.greeting);
const isReplayable = (step) => step.kind === "turn" && !isGreeting(step.turn);

function pastGreetings(steps, at) {
  const next = steps.findIndex((step, i) => i >= at && isReplayable(step));
  const last = next < 0 ? undefined : steps.slice(at, next).findLast((step) => step.kind === "turn");
  return last ? steps.findLastIndex((step) => step.turn === last.turn) + 1 : at;
}

// The first turn that a fork at a step replays, null where none is left.
function turnAfter(steps, at) {
  const next = steps.find((step, i) => isReplayable(step) && i > at);
  return next ? next.turn.number : null;
}
