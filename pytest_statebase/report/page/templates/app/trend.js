// Performance: figures with healthy ranges, alerts, this week against last, and the runs of the history file.

const NO_FIGURE = "-";
const RUN_TIME = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" };
const runTime = (at) => new Date(at).toLocaleString("en-GB", RUN_TIME).replace(",", "");
const millis = (value) => value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 }) + " ms";

// The panel, or null where nothing was measured.
function trendPanel() {
  const { metrics, trend, groups } = store.index;
  if (!metrics?.tables.length) return null;
  return h("section.card.perf", { "aria-labelledby": "perf" }, h("h2", { id: "perf" }, "Performance"),
    metrics.alerts.length ? h("ul.alerts", { label: "Alerts" }, metrics.alerts.map((text) => h("li.norun", h("b", "▲ Alert"), " ", text))) : null,
    trend && trend.notes.map((text) => h("p.warn", { dir: "auto" }, text)),
    h("div.perf-parts", trend && runsChart(trend, groups), metrics.tables.map(figuresTable), metrics.both && bothSides(metrics.both)));
}

// ---- figures ----

// Each measure has a line for its name and one for its figures, so that they fit beside a list.
function figuresTable(table) {
  const weeks = table.rows.some((row) => row.values[2] !== NO_FIGURE || (row.values[1] !== NO_FIGURE && row.values[1] !== row.values[0]));
  const heads = [table.title === "Replays" ? "this run" : "all", ...(weeks ? ["this week", "last week"] : [])];
  return h("table.figures.measures", { class: weeks ? "weekly" : null }, h("caption", h("b", table.title), " ", dim(table.about)),
    heads.length > 1 ? columns(...heads) : null,
    table.rows.map((row) => figureRows(row, heads.length)));
}

function figureRows(row, columns) {
  const state = row.well === null ? null : row.well ? "ok" : "fail";
  const [value, thisWeek, lastWeek] = row.values;
  const sign = state && [signOf(state), sr(row.well ? "healthy" : "not healthy"), " "];
  const now = h("td", { class: columns > 1 ? null : "num" }, h("b", sign, value));
  const name = (scope, span) => h("th", { scope, colspan: span }, row.title, " ", row.healthy ? h("small", "healthy ", row.healthy) : null);
  if (columns === 1) return h("tbody", { class: state }, h("tr", name("row"), now));
  return h("tbody", { class: state }, h("tr", name("rowgroup", columns)), h("tr", now, h("td", thisWeek, weekChange(row)), h("td", lastWeek)));
}

function weekChange(row) {
  if (!row.change) return null;
  const text = (row.change.startsWith("-") ? "↓ " : "↑ ") + row.change.slice(1);
  return h("small", { class: row.way === "worse" ? "norun" : null }, text, row.way ? ", " + row.way : "");
}

// Response times of production beside those of the replay: tools are stubbed there.
function bothSides(both) {
  const longest = both.slowest[0][2] || 1;
  return more("Slowest turns in production", false,
    h("p.dim", plural(both.turns, "turn"), " timed on both sides: ", both.recorded, " in production, ", both.replayed, " replayed, on average"),
    h("table.figures", h("thead", h("tr", ["turn", "production", "replay"].map((head, at) => h("th", { scope: "col", class: at ? "num" : "" }, head)))),
      h("tbody", both.slowest.map(([id, turn, recorded, replayed]) => h("tr", null,
        rowName(h("a", { href: `#${id}-${turn}` }, bdi(store.summary(id).name.slice(0, 80)), ", turn " + turn), timeMeter(recorded / longest)),
        h("td.num", millis(recorded)), h("td.num", millis(replayed)))))));
}

const timeMeter = (share) => svg("svg", { class: "meter", viewBox: "0 0 100 3", preserveAspectRatio: "none", mute: true }, svg("rect", { width: 100 * share, height: 3 }));

// ---- runs ----

const RUN_WIDE = 10;
const RUN_BARS = 60;
const RUN_LINE = 30;

function runTold(run, groups) {
  const counts = groups.map(({ name }, at) => run.counts[at] && number(run.counts[at]) + " " + name).filter(Boolean);
  const time = run.ms !== null && millis(run.ms) + " a turn";
  return [runTime(run.at), counts.join(", ") || "no session", time, run.part && "a part of the sessions"].filter(Boolean).join(" · ");
}

// Bars of sessions by result with the mean time of a turn below. One run at a time is told in words: under the mouse, or by the arrow keys.
function runsChart(trend, groups) {
  const { runs } = trend;
  const told = h("p.told", null);
  const mark = svg("rect", { class: "chosen", width: RUN_WIDE, height: RUN_BARS + RUN_LINE + 6 });
  const chart = h("div.chart", { tabindex: 0, role: "slider", label: "Run", "aria-valuemin": 1, "aria-valuemax": runs.length },
    svg("svg", { viewBox: `0 0 ${runs.length * RUN_WIDE} ${RUN_BARS + RUN_LINE + 6}`, preserveAspectRatio: "none", mute: true }, mark, runBars(runs, groups), runLine(runs)));
  const show = (at) => {
    const now = Math.max(0, Math.min(runs.length - 1, at));
    told.replaceChildren(visible(runTold(runs[now], groups)), now === runs.length - 1 ? " · this run" : "");
    mark.setAttribute("x", now * RUN_WIDE);
    chart.setAttribute("aria-valuenow", now + 1);
    chart.setAttribute("aria-valuetext", visible(told.textContent));
  };
  const at = () => +chart.getAttribute("aria-valuenow") - 1;
  listen(chart, "pointermove", (event) => show(Math.floor(event.offsetX / chart.clientWidth * runs.length)));
  listen(chart, "pointerleave", () => show(runs.length - 1));
  listen(chart, "keydown", (event) => {
    const to = { ArrowLeft: at() - 1, ArrowDown: at() - 1, ArrowRight: at() + 1, ArrowUp: at() + 1, Home: 0, End: runs.length }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    show(to);
  });
  show(runs.length - 1);
  return h("div.runs", h("p.dim", plural(runs.length, "run"), trend.left ? ", " + number(trend.left) + " earlier ones not drawn" : "", ": sessions by result, and the mean time of a turn"),
    h("p.legend", groups.map(({ slug, name }) => h("span", { class: slug }, signOf(slug), " ", name))),
    chart, h("p.ends.dim", { mute: true }, h("span", runTime(runs[0].at)), h("span", runTime(runs.at(-1).at) + " UTC")), told, onOpening("Runs as a table", () => runsTable(runs, groups)));
}

function runBars(runs, groups) {
  const most = Math.max(1, ...runs.map((run) => run.counts.reduce((sum, count) => sum + count, 0)));
  return runs.map((run, at) => {
    let y = RUN_BARS;
    return svg("g", { class: run.part ? "part" : null }, groups.map(({ slug }, group) => {
      const height = RUN_BARS * run.counts[group] / most;
      y -= height;
      return height ? svg("rect", { class: slug, x: at * RUN_WIDE + 1, y, width: RUN_WIDE - 2, height }) : null;
    }));
  });
}

function runLine(runs) {
  const timed = runs.map((run, at) => [at, run.ms]).filter(([, ms]) => ms !== null);
  const most = Math.max(...timed.map(([, ms]) => ms), 0.001);
  const points = timed.map(([at, ms]) => `${(at + 0.5) * RUN_WIDE},${RUN_BARS + 4 + RUN_LINE * (1 - ms / most)}`);
  return svg("polyline", { class: "time", points: points.join(" ") });
}

function runsTable(runs, groups) {
  const head = (text, slug) => h("th", { scope: "col", class: slug === undefined ? null : "num" }, slug ? [signOf(slug), sr(text)] : text);
  return h("table.figures.list-of-runs", null,
    h("thead", h("tr", head("began, UTC"), groups.map(({ slug, name }) => head(name, slug)), head("a turn", ""))),
    h("tbody", [...runs].reverse().map((run) => h("tr", rowName(runTime(run.at), run.part ? h("small", "a part") : null),
      run.counts.map((count, at) => h("td.num", { class: count ? groups[at].slug : "zero" }, number(count))), h("td.num", run.ms === null ? NO_FIGURE : millis(run.ms))))));
}
