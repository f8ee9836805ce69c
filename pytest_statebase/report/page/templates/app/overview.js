// The overview: counts that filter, what was against the base, causes, numbers, and the list of sessions.

const GROUPED = {
  result: "Result", cassette: "Cassette", agent: "Agent", kind: "Kind of difference", path: "Path of difference", owner: "Owner",
};
const RANKS = { fail: 0, norun: 1, review: 2, ok: 3 };
const LETTERS = { f: "fail", n: "norun", r: "review", o: "ok", "-": "beyond" };
const isBadSession = (one) => RANKS[one.group] < 2;

// The list that is on the page, for its keys.
let listed = null;

// A name for a place that is no wider than a name; the session has it whole.
const elided = (text, most = 120) => (text.length > most ? text.slice(0, most) + "…" : text);

function overviewView(now) {
  const { index } = store;
  const chosen = { q: now.params.get("q") || "", by: GROUPED[now.params.get("by")] ? now.params.get("by") : "result" };
  const filters = [];
  const list = sessionList();
  const tools = searchBar(chosen, (change) => choose(change));
  function choose(change, from) {
    Object.assign(chosen, change);
    place.keep({ q: chosen.q, by: chosen.by === "result" ? "" : chosen.by });
    show();
    if (from) tools.reveal();
  }
  function show() {
    const found = index.sessions.filter(queryMatcher(chosen.q));
    list.fill(sectionsOf(found, chosen.by), chosen.q);
    tools.tell(found.length);
    for (const one of filters) one.setAttribute("aria-pressed", one.isOn());
  }
  // A button that filters the list, within a group where one is named. Held with Ctrl, Cmd or Shift it adds to what is chosen.
  const filter = (key, value, { group, ...props }, ...children) => {
    const terms = [["group", group], [key, value]].filter((term) => term[1]);
    const isOn = () => terms.every((term) => asksFor(chosen.q, ...term));
    const made = h("button", { "aria-pressed": String(isOn()), ...props, prop: { isOn }, on: { click: (event) => {
      const [was, more] = [isOn(), event.ctrlKey || event.metaKey || event.shiftKey];
      choose({ q: terms.reduce((q, term) => (asksFor(q, ...term) === was ? queryAfter(q, ...term, more) : q), chosen.q) }, made);
    } } }, children);
    filters.push(made);
    return made;
  };
  const view = h("div.ov", { data: { title: index.verdict } },
    h("h1", index.verdict), notices(index),
    h("section.tiles", { label: "Sessions by result" }, index.groups.map((group) => groupTile(group, filter))), shareBar(index.groups),
    index.against && againstBox(index.against, filter),
    h("div.ov-cols",
      h("div.ov-main", causesCard(index.causes, filter), h("section.ov-list", { label: "Sessions" }, h("h2.sr", "Sessions"), tools, list)),
      numbersBox(countsCard("Turns", index.differences), writesCard(index.writes, filter), countsCard("Calls", index.calls, ["stale", "repeated", "moved"]), reachCard(index),
        (index.metrics || index.trend) && trendPanel())));
  show();
  view.arrived = () => { listed = list; list.arrived(); };
  return view;
}

function notices(index) {
  const told = [...(index.stale ? [index.stale] : []), ...index.warnings].map((text) => h("p.warn", { dir: "auto" }, text));
  return told.length < 4 ? told : [told.slice(0, 2), onOpening(plural(told.length - 2, "more warning"), () => h("div", told.slice(2)))];
}

function groupTile(group, filter) {
  return h("div.tile", { class: group.slug + (group.count ? "" : " none") },
    filter("group", group.slug, { class: "tile-group", disabled: !group.count }, signOf(group.slug),
      h("b", number(group.count)), h("span", group.name, sr(group.count === 1 ? " session" : " sessions"))),
    h("div.tile-verdicts", group.verdicts.length ? group.verdicts.map(([name, turns]) =>
      filter("verdict", name, { class: "pill " + store.index.verdicts[name], group: group.slug }, h("b", number(turns)), " ", name, sr(turns === 1 ? " turn" : " turns")))
      : dim("no turn")));
}

function shareBar(groups) {
  let x = 0;
  const all = groups.reduce((sum, group) => sum + group.count, 0) || 1;
  return svg("svg", { class: "share", viewBox: "0 0 100 1", preserveAspectRatio: "none", mute: true }, groups.map((group) => {
    const width = 100 * group.count / all;
    x += width;
    return group.count ? svg("rect", { class: group.slug, x: x - width, y: 0, width, height: 1 }) : null;
  }));
}

const BASE_SLUGS = { "newly-failing": "fail", "newly-passing": "ok", "still-failing": "fail", new: "review", unfinished: "norun" };

function againstBox(against, filter) {
  const changes = against.counts.map(([name, count]) => filter("base", name, { class: "pill " + BASE_SLUGS[name], disabled: !count },
    h("b", number(count)), " ", name.replace("-", " ")));
  const removed = [h("b", number(against.removed.length)), " removed"];
  return h("section.against", { "aria-labelledby": "against" }, h("h2", { id: "against" }, "Against the base"), changes,
    against.removed.length
      ? h("details", h("summary.pill", removed), h("ul", against.removed.map((name) => h("li", code(elided(name))))))
      : h("span.pill.flat", removed),
    h("p.dim", code(elided(against.path, 200))));
}

// ---- causes ----

const CAUSES = 5;

function causesCard(causes, filter) {
  if (!causes.length) return null;
  const rest = causes.slice(CAUSES);
  return h("section.card.causes-card", { "aria-labelledby": "causes" }, h("h2", { id: "causes" }, "Causes ",
    dim("the first difference of each session that does not pass, equal ones together")),
    h("ul", causes.slice(0, CAUSES).map((cause) => causeItem(cause, filter))),
    moreOf(rest, (cause) => causeItem(cause, filter), 0, "ul", plural(rest.length, "more cause")));
}

// Further items of a list, of which `left` more are not on the page; drawn when they are opened.
function moreOf(items, draw, left = 0, list = "ul", words = number(items.length + left) + " more") {
  return items.length > 0 && onOpening(words, () => h(list, items.map(draw), left > 0 && h("li.dim", "and ", number(left), " more")));
}

// What is made when it is opened.
function onOpening(words, made) {
  const box = h("details.more", { on: { toggle: () => {
    if (box.open && box.childElementCount === 1) box.append(made());
  } } }, h("summary", words));
  return box;
}

function causeItem(cause, filter) {
  const [first, ...others] = cause.pairs;
  const sides = ("recorded" in first) + ("replayed" in first);
  return h("li.cause-item", { class: cause.slug },
    filter("cause", causeName(cause), { class: "cause-count" }, h("b", number(cause.sessions)), h("span", cause.sessions === 1 ? " session" : " sessions")),
    h("div", h("p", code(elided(cause.path, 300), { class: "path" }), " ", dim(elided(cause.words, 300)), cause.owners.map((owner) => [" ", h("span.owner", bdi(elided(owner, 60)))])),
      pairLine(first),
      moreOf(others, (pair) => h("li", pairLine(pair)), cause.more, "ul",
        plural(others.length + cause.more, ["other difference", "other value", "other pair"][sides]) + (sides > 1 ? " of values" : ""))));
}

function pairLine(pair) {
  const told = [];
  if ("recorded" in pair) told.push(dim(pair.side, " "), code(pair.recorded, { class: "old" }));
  if ("recorded" in pair && "replayed" in pair) told.push(dim(" → "));
  if ("replayed" in pair) told.push(dim("now "), code(pair.replayed, { class: "new" }));
  return h("div.pair", told.length > 0 && h("p", told), h("div.links", turnLinks(pair.turns)));
}

function turnLinks(turns, many = 3) {
  const rest = turns.slice(many);
  const link = ([id, turn]) => h("a", { href: `#${id}-${turn}` }, bdi(elided(store.summary(id).name)), ", turn " + turn);
  return [turns.slice(0, many).map((one, at) => [at ? " · " : null, link(one)]),
    moreOf(rest, (one) => h("li", link(one)))];
}

// ---- numbers ----

// Beside the list; where there is no room beside it, folded above it.
function numbersBox(...cards) {
  const alerts = store.index.metrics?.alerts.length;
  const box = h("details", { open: !oneColumn.matches }, h("summary", "Numbers", alerts > 0 && h("span.norun", " ▲ ", plural(alerts, "alert"))), h("div.ov-side", cards));
  return h("aside.numbers", { label: "Numbers" }, box);
}

const oneColumn = matchMedia("(max-width: 68rem)");
listen(oneColumn, "change", () => document.querySelector(".numbers > details")?.toggleAttribute("open", !oneColumn.matches));

function countsCard(title, rows, sub = []) {
  return h("section.card", h("h2", title), h("table.counts", h("tbody", rows.map(([name, count]) =>
    h("tr", { class: sub.includes(name) ? "sub" : null }, rowName(name),
      h("td.num", { class: count ? (name.endsWith("unrecorded") ? "hot" : null) : "zero" }, number(count)))))));
}

function writesCard(writes, filter) {
  if (!writes.rows.length) return null;
  const tools = new Set(store.index.sessions.flatMap((one) => one.tools));
  const name = (tool) => (tools.has(tool) ? filter("tool", tool, { class: "plain-button" }, code(elided(tool))) : code(elided(tool)));
  const told = (found) => writes.states.map((state, at) => [state, ...found[at]]).filter(([, count]) => count)
    .map(([state, count, hot], at) => [at ? ", " : null, h("span", { class: hot ? "hot" : null }, number(count), " ", state)]);
  return h("section.card", h("h2", "Writes"),
    h("ul.writes-by", writes.rows.map((row) => h("li", name(row.tool), h("span.num", told(row.counts))))),
    h("ul.write-items", writes.troubled.slice(0, 4).map(writeItem)),
    moreOf(writes.troubled.slice(4), writeItem, writes.troubled_more, "ul.write-items"),
    moreOf(writes.others, writeItem, writes.others_more, "ul.write-items", writes.others_words));
}

const writeItem = (item) => h("li", chip(item.mark.text, item.mark.slug), " ", code(elided(item.tool)), " ", code(item.arguments, { class: "dim" }), " ", pageLink(item.link));
const pageLink = (link) => h("a", { href: "#" + link.anchor }, bdi(elided(link.text)));

function reachCard(index) {
  const items = index.stopped.map((link) => h("li", { class: link.slug }, signOf(link.slug), " ", pageLink(link), " ", h("small", link.note)));
  const rest = items.slice(4);
  return h("section.card", h("h2", "How far replays got"), h("p", index.reached, "."), h("ul.stops", items.slice(0, 4)),
    moreOf(rest, (item) => item, index.stopped_more, "ul.stops"));
}

// ---- the list ----

function searchBar(chosen, choose) {
  const offers = h("datalist", { id: "offers" });
  const search = h("input.search", { type: "search", id: "search", list: "offers", autocomplete: "off", spellcheck: "false", "aria-describedby": "search-help",
    placeholder: "Search, or verdict:changed tool:refund -owner:…", prop: { value: chosen.q }, on: {
      input: () => choose({ q: search.value }),
      keydown: ({ key }) => { if (key === "Enter" || (key === "ArrowDown" && !search.value)) listed.step(1, true); },
      focus: () => offer(),
    } });
  const offer = () => offers.replaceChildren(...queryOffers(search.value).map((value) => h("option", { prop: { value } })));
  const by = h("select", { id: "by", on: { change: () => choose({ by: by.value }) } },
    Object.entries(GROUPED).map(([value, words]) => h("option", { value, selected: value === chosen.by }, words)));
  const found = h("output.found", { for: "search" });
  const clear = button("Clear", () => { choose({ q: "" }); search.focus(); });
  const made = h("div.ov-tools", { role: "search" }, h("label.sr", { for: "search" }, "Search sessions"), search, offers,
    h("label", { for: "by" }, "Group by "), by, found, clear,
    h("p.sr", { id: "search-help" }, "Words, and values of ", KEYS.map((key) => key + ": ").join(""), "; a minus before one excludes it."));
  made.tell = (count) => {
    if (search.value !== chosen.q) search.value = chosen.q;
    offer();
    clear.hidden = !chosen.q;
    const all = store.index.sessions.length;
    found.textContent = chosen.q ? `${number(count)} of ${plural(all, "session")}` : plural(all, "session");
  };
  made.reveal = () => {
    if (made.getBoundingClientRect().top > innerHeight - 160) made.scrollIntoView({ block: "center" });
  };
  return made;
}

// What a session is listed under; its name, and whether it is a text of a recording.
const GROUP_NAMES = {
  cassette: (one) => one.cassette,
  agent: (one) => one.agent || "no agent",
  owner: (one) => one.owner || "nobody",
  kind: (one) => ofCause(one, "kind"),
  path: (one) => ofCause(one, "path"),
};

// What the first cause of a session has; one that could not run may have none.
const ofCause = (one, key) => (one.causes ? store.index.causes[one.causes[0]][key] : one.group === "norun" ? groupName("norun") : "no cause");

// Sessions in groups, those with failures first: `[{name, slug, sessions}]`.
function sectionsOf(found, by) {
  if (by === "result") {
    return store.index.groups.map((group) => ({ name: group.name, slug: group.slug, sessions: found.filter((one) => one.group === group.slug) }))
      .filter((section) => section.sessions.length);
  }
  const groups = new Map();
  for (const one of found) {
    const name = GROUP_NAMES[by](one);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(one);
  }
  const made = [...groups].map(([name, sessions]) => {
    sessions.sort((left, right) => RANKS[left.group] - RANKS[right.group]);
    return { name, slug: sessions[0].group, sessions, failing: sessions.filter(isBadSession).length };
  });
  return made.sort((left, right) => RANKS[left.slug] - RANKS[right.slug] || right.failing - left.failing || right.sessions.length - left.sessions.length);
}

// Bars of a session, at most.
const BARS = 32;
// Heights of what is listed, as overview.css has them.
const HEIGHTS = { wide: { head: 42, ok: 34, bad: 56 }, narrow: { head: 42, ok: 56, bad: 96 } };

// The list scrolls with the page; only what is near the window is there.
function sessionList() {
  const list = h("ul.rows", { role: "list" });
  const longest = store.index.sessions.reduce((most, one) => Math.max(most, one.marks.length), 0);
  setStyle(list, "--strip", Math.min(longest, BARS) * 5 + "px");
  const empty = h("p.nothing", { hidden: true });
  const box = h("div", list, empty);
  let items = [];
  let tops = [0];
  let drawn = new Map();
  const measure = () => {
    const heights = HEIGHTS[NARROW.matches ? "narrow" : "wide"];
    tops = [0];
    for (const item of items) tops.push(tops.at(-1) + heights[item.section ? "head" : isBadSession(item.one) ? "bad" : "ok"]);
    setStyle(list, "height", tops.at(-1) + "px");
  };
  const at = (y) => {
    let [low, high] = [0, items.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (tops[middle + 1] <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const paint = () => {
    const y = -list.getBoundingClientRect().top;
    const [from, to] = [at(y - 600), Math.min(items.length, at(y + innerHeight + 600) + 1)];
    for (const [i, row] of drawn) {
      if ((i < from || i >= to) && !row.contains(focused())) {
        row.remove();
        drawn.delete(i);
      }
    }
    // In the order of the list, whichever way it is scrolled: what has the focus may stand apart.
    let after = [...drawn].find(([i]) => i >= to)?.[1] || null;
    for (let i = to - 1; i >= from; i--) {
      if (!drawn.has(i)) put(i, after);
      after = drawn.get(i);
    }
  };
  const put = (i, after) => {
    const row = items[i].section ? headRow(items[i].section) : sessionRow(items[i].one, items[i].position, items[i].of);
    row.dataset.row = i;
    setStyle(row, "top", tops[i] + "px");
    drawn.set(i, row);
    list.insertBefore(row, after);
  };
  const again = () => {
    drawn = new Map();
    list.replaceChildren();
    measure();
    paint();
  };
  box.fill = (found, query) => {
    const of = found.reduce((sum, section) => sum + section.sessions.length, 0);
    let position = 0;
    items = found.flatMap((section) => [{ section }, ...section.sessions.map((one) => ({ one, position: ++position, of }))]);
    empty.hidden = items.length > 0;
    empty.textContent = "No session is like that." + (of ? "" : visible(whyNothing(query)));
    again();
  };
  // Move the focus to the next session, or the one before; first: from the beginning.
  box.step = (by, first) => {
    const held = heldRow(list);
    let i = first ? 0 : held ? +held + by : at(-list.getBoundingClientRect().top);
    while (items[i]?.section) i += by;
    if (!items[i]) return;
    const top = list.getBoundingClientRect().top + tops[i];
    if (top < 160 || top > innerHeight - 120) window.scrollBy(0, top - innerHeight / 2);
    paint();
    focusQuietly(drawn.get(i).querySelector("a"));
  };
  box.arrived = () => {
    const until = new AbortController();
    const { signal } = until;
    const frame = () => requestAnimationFrame(() => (list.isConnected ? paint() : until.abort()));
    listen(window, "scroll", frame, { signal, passive: true });
    listen(window, "resize", frame, { signal });
    listen(NARROW, "change", again, { signal });
    // What is folded above moves the list.
    listen(document, "toggle", frame, { signal, capture: true });
    paint();
  };
  return box;
}

function headRow(section) {
  const failing = section.failing && section.failing < section.sessions.length ? `${number(section.failing)} not passing` : "";
  return h("li.row-head", { class: section.slug }, h("h3", signOf(section.slug), " ", bdi(elided(section.name)), " ",
    dim(number(section.sessions.length), failing ? " · " + failing : "")));
}

function sessionRow(one, position, of) {
  const turn = one.bad?.[0]?.[0];
  return h("li.row", { class: one.group + (isBadSession(one) ? " bad" : ""), "aria-setsize": of, "aria-posinset": position },
    signOf(one.group),
    h("a.name", { href: "#" + one.id }, sr(groupName(one.group), ": "), bdi(elided(one.name))),
    h("span.title", { dir: "auto" }, elided(one.title || "", 300)), badgesOf(one),
    h("span.tally", Object.entries(one.verdicts).sort(byWeight).map(([name, count]) => `${number(count)} ${name}`).join(", ") || "did not begin"),
    turnBars(one.marks),
    isBadSession(one) && h("a.because", { href: turn ? `#${one.id}-${turn}` : "#" + one.id, dir: "auto" }, elided(one.why, 600)));
}

const groupName = (slug) => store.index.groups.find((group) => group.slug === slug).name;
const verdictRank = (name) => RANKS[store.index.verdicts[name]] ?? 2;
const byWeight = ([left], [right]) => verdictRank(left) - verdictRank(right);

function badgesOf(one) {
  const told = [];
  if (one.base === "newly-failing" || one.base === "newly-passing") told.push(chip(one.base.replace("-", " "), BASE_SLUGS[one.base]));
  if (one.base === "new") told.push(h("span.badge", "new"));
  if (one.gate) told.push(h("span.badge", "does not block"));
  if (one.warned) told.push(h("span.badge", plural(one.warned, "warning")));
  return h("span.badges", told);
}

const TALL = { fail: 14, norun: 14, review: 9, ok: 5, beyond: 2 };

// One bar a turn, the taller the worse; of many turns each bar is the worst of some.
function turnBars(marks) {
  const step = Math.max(1, Math.ceil(marks.length / BARS));
  const bars = [];
  for (let i = 0; i < marks.length; i += step) {
    const slugs = [...marks.slice(i, i + step)].map((letter) => LETTERS[letter]);
    bars.push(slugs.reduce((worst, slug) => (TALL[slug] > TALL[worst] || slug === "fail" ? slug : worst)));
  }
  return svg("svg", { class: "strip-bars", width: bars.length * 5, height: 14, mute: true }, bars.map((slug, at) =>
    svg("rect", { class: slug, x: at * 5 + 0.5, y: 13.5 - TALL[slug], width: 3, height: TALL[slug] })));
}

keys.add("/", "search", () => { byId("search").focus(); }, "overview");
keys.add("j", "next session", () => listed.step(1), "overview");
keys.add("k", "session before", () => listed.step(-1), "overview");
