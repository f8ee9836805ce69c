// Where a session can be forked: the command, and the test to paste.

// Where a step can be forked: before its turn, at its end before the next one, or at its version. `{point, first}`: as `--statebase-fork` takes
// it, and the first turn that is replayed then, null where none is left.
function forkPoint({ row, steps }, at) {
  const step = steps[at];
  const isVersion = (step.kind === "version" || step.kind === "start") && step.version >= 0;
  if (isVersion) return { point: "version " + row.versions[step.version].v, first: turnAfter(steps, at) };
  if (step.kind === "start") return { point: "version 0", first: turnAfter(steps, at) };
  if (step.turn && step.kind !== "end" && !isGreeting(step.turn)) return { point: "turn " + step.turn.number, first: step.turn.number };
  const first = turnAfter(steps, at);
  return { point: first === null ? null : "turn " + first, first };
}

function forkDialog(page, at) {
  const { point, first } = forkPoint(page, at);
  const isLast = first === null;
  const close = openDialog("fork-here", isLast ? "Nothing follows" : "Fork at " + point,
    isLast ? h("p", "No turn was recorded after this: there is nothing to replay from here. ", forkButton(page, page.steps.findLastIndex((step, i) => i <= at && isReplayable(step)), () => close()))
      : forkTexts(page, point, first, at, () => close()));
}

function forkTexts(page, point, first, at, close) {
  const { row } = page;
  const failing = row.failing || [];
  const missed = failing.find((turn) => turn < first);
  const isShort = row.until !== null && [first, ...failing].some((turn) => turn > row.until);
  const given = { point, until: isShort ? "end" : null, mode: row.mode === "isolated" ? row.mode : null, agent: row.agent_given ? row.agent : null };
  const last = given.until || row.until === null ? page.steps.findLast(isReplayable).turn.number : row.until;
  const text = (title, made) => h("section", h("header", h("h3", title), copyWhole([row.cassette, row.session, given.agent], "Copy", made, { label: `Copy ${title.toLowerCase()}` })), h("pre.vt", { tabindex: "0" }, h("code", made)));
  return [h("p", `The session as it stood ${point.startsWith("turn") ? "before" : "at"} ${point}; then the agent under test replays `, first === last ? `turn ${first}` : `turns ${first} to ${last}`, "."),
    isCutShort(page, at) ? h("p.note", `The turn went on after ${point}: what it did then is no part of the fork. Fork at its beginning to replay all of it.`) : null,
    missed ? missedFailing(page, missed, close) : null,
    text("Command", forkCommand(row, given)), text("Test", forkTest(row, given, missed))];
}

// A replay passes only where every turn in `failing` of the plan is replayed.
function missedFailing(page, turn, close) {
  const at = page.steps.findIndex((step) => isReplayable(step) && step.turn.number === turn);
  return h("p.note", `The plan has turn ${turn} in \`failing\`, and it is not replayed from here: the command fails whatever the agent does. The test judges the turns after it alone. `,
    forkButton(page, at, close));
}

// To the fork before a turn, where there is such a step.
const forkButton = (page, at, close) => at >= 0 && button("Fork at turn " + page.steps[at].turn.number, () => { close(); forkDialog(page, at); });

// Whether something happens in the turn after the step that later turns may need.
function isCutShort({ steps }, at) {
  const step = steps[at];
  return step.kind === "version" && step.turn !== null && steps.some((one, i) => i > at && one.turn === step.turn && one.kind !== "end");
}

function forkCommand(row, { point, until, mode, agent }) {
  const options = [["fork", point], ["until", until], ["mode", mode], ["agent", agent]].filter(([, value]) => value);
  return ["pytest", planWord(row), ...options.map(([name, value]) => `--statebase-${name}=${shellQuoted(value)}`)].join(" ");
}

const planWord = (row) => shellQuoted(row.cassette.replace(/^-/, "./-"));

// One word for a POSIX shell; what has no shape of its own is written out, so that nothing unseen is pasted.
function shellQuoted(text) {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (text.search(UNSEEN) < 0) return "'" + text.replaceAll("'", "'\\''") + "'";
  return "$'" + text.replace(/[\\']/g, "\\$&").replace(UNSEEN, shellBytes) + "'";
}

// The bytes of a character; those that a file name has which is no text are lone surrogates, as Python reads them.
function shellBytes(character) {
  const unit = character.codePointAt(0);
  const bytes = unit >= 0xdc80 && unit <= 0xdcff ? [unit - 0xdc00] : new TextEncoder().encode(character);
  return Array.from(bytes, (byte) => "\\x" + byte.toString(16).padStart(2, "0")).join("");
}

function forkTest(row, { point, until, mode, agent }, missed) {
  const name = row.cassette.split("/").at(-1).replace(/\.session\.yaml$/, "");
  const session = row.cassette.endsWith(".session.yaml") ? row.cassette : row.session;
  const marker = [pyQuoted(session), "fork=" + pyQuoted(point), until && "until=" + pyQuoted(until)].filter(Boolean).join(", ");
  const given = [agent && "agent=" + pyQuoted(agent), mode && "mode=" + pyQuoted(mode)].filter(Boolean).join(", ");
  const test = `${name}_from_${point}`.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_+|_+$/g, "");
  const passed = missed ? "all(turn.group.passes or turn.beyond_until for turn in result.turns)" : "result.passed";
  return `import pytest\n\n\n@pytest.mark.statebase(${marker})\ndef test_${test}(statebase_replay):\n    result = statebase_replay(${given})\n    assert ${passed}, result.failure\n`;
}

const pyQuoted = (text) => '"' + String(text).replace(/[\\"]/g, "\\$&").replace(UNSEEN, escaped) + '"';
