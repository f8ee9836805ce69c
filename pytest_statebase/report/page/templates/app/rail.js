// The timeline of a session: turns, calls and state versions in lanes, scrubbed by mouse and keys.

const PARTS = { prefix: "recorded", cut: "left out", replayed: "replayed", stopped: "not replayed", beyond: "beyond until" };

// Cells from column `from` up to before column `to`, in the lane of their class.
function railCell(from, to, cls, ...children) {
  const made = h("span", { class: cls }, ...children);
  columnTo(made, from, to);
  return made;
}

// Steps in a row of which `of` says the same: `{from, to, value}`.
function runsOf(steps, of) {
  const runs = [];
  steps.forEach((step, at) => {
    const value = of(step);
    if (runs.length && runs.at(-1).value === value) runs.at(-1).to = at + 1;
    else runs.push({ from: at, to: at + 1, value });
  });
  return runs;
}

const partCells = ({ steps }) => runsOf(steps, (step) => step.part).map(({ from, to, value }) => railCell(from, to, "zone " + value, h("span", PARTS[value])));

function turnCells({ steps }) {
  return runsOf(steps, (step) => step.turn).filter((run) => run.value).map(({ from, to, value: turn }) => {
    const slug = turn.told && turn.part === "replayed" ? groupOfTurn(turn.told) : "past";
    return railCell(from, to, `seg ${slug} ${turn.part}`, h("b", turn.number), SIGNS[slug] ? " " + SIGNS[slug] : null);
  });
}

function callCells({ row, steps }) {
  return steps.map((step, at) => {
    if (step.kind === "trace") return railCell(at, at + 1, "tick past", "◇");
    if (step.kind !== "call") return null;
    const [sign, , slug] = step.turn.told ? callState({ row, turn: step.turn.told }, step.turn.told.calls[step.call - 1]) : ["•", "", "past"];
    return railCell(at, at + 1, `tick ${slug} ${step.part}`, sign === "·" ? "•" : sign);
  });
}

function versionCells({ row, steps }) {
  return runsOf(steps, (step) => step.version).filter((run) => run.value >= 0).map(({ from, to, value }) => {
    const version = row.versions[value];
    const back = version.back !== undefined;
    return railCell(from, to, `ver${value % 2 ? " odd" : ""}${back ? " back" : ""}`, "v" + version.v, back ? ` ↶ v${version.back}` : null);
  });
}

// The whole: a slider over all steps. go(i): to step i; peek(i): look at it, at none with null.
function railOf(page) {
  const { steps } = page;
  const head = h("span.playhead");
  const glance = h("span.glance", { hidden: true });
  const track = h("div.track", { role: "slider", tabindex: "0", label: "Step of the session", "aria-valuemin": 1, "aria-valuemax": steps.length },
    partCells(page), turnCells(page), callCells(page), versionCells(page), railCell(page.fork, page.fork + 1, "fork"), glance, head);
  setStyle(track, "--n", steps.length);
  listenToPointer(track, page, glance);
  const box = h("div.rail", { class: page.row.versions ? null : "stateless" }, h("div.lanes", { mute: true }, h("span"), h("span", "Turns"), h("span", "Calls"), page.row.versions ? h("span", "State") : null),
    h("div.rail-box", track));
  box.show = (at) => {
    track.setAttribute("aria-valuenow", at + 1);
    track.setAttribute("aria-valuetext", visible(stepTitle(page, steps[at])));
    columnTo(head, at);
    intoView(track.parentElement, head);
  };
  return box;
}

function columnTo(mark, from, to = from + 1) {
  setStyle(mark, "grid-column", `${from + 1} / ${to + 1}`);
}

// Where the timeline is wider than its box, the box follows.
function intoView(box, mark) {
  const middle = mark.offsetLeft + mark.offsetWidth / 2;
  if (middle < box.scrollLeft + 24 || middle > box.scrollLeft + box.clientWidth - 24) box.scrollLeft = middle - box.clientWidth / 2;
}

function listenToPointer(track, page, glance) {
  let frame = 0;
  let last = null;
  const at = (event) => {
    const { left, width } = track.getBoundingClientRect();
    return Math.min(page.steps.length - 1, Math.max(0, Math.floor((event.clientX - left) / width * page.steps.length)));
  };
  const look = (step) => {
    glance.hidden = step === null;
    if (step !== null) columnTo(glance, step);
    page.peek(step);
  };
  listen(track, "pointerdown", (event) => {
    if (event.button) return;
    track.setPointerCapture(event.pointerId);
    look(null);
    page.go(at(event));
  });
  listen(track, "pointermove", (event) => {
    last = event;
    // Of many moves within one frame the last one counts.
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      if (last) (track.hasPointerCapture(last.pointerId) ? page.go : look)(at(last));
    });
  });
  listen(track, "pointerleave", () => { last = null; look(null); });
}
