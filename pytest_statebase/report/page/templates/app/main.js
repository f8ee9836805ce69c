// The page begins: unpack the index, draw the bar, then the view that the address names, again whenever it changes.

const VIEWS = new Map([["overview", overviewView], ["session", sessionView], ["traces", tracesView]]);

// How each entry of the history was left: going back leads to the same place on the page and to the same link.
const visits = new Map();
let entry = null;
let draws = 0;

function remember() {
  if (entry === null || history.state?.entry !== entry) return;
  const list = document.querySelector("#app .virtual");
  const link = focused().closest("#app a[href]");
  visits.set(entry, { top: window.scrollY, list: list ? list.scrollTop : 0, link: link && link.getAttribute("href") });
}

async function draw() {
  const mine = ++draws;
  const now = place.now();
  const made = await drawn(now);
  if (mine !== draws) return;
  const main = byId("app");
  const isFirst = entry === null;
  const left = visits.get(history.state?.entry);
  entry = left ? history.state.entry : performance.timeOrigin + performance.now();
  if (!left) history.replaceState({ entry }, "");
  document.documentElement.dataset.view = now.view;
  main.replaceChildren(made);
  showCurrent(now);
  const title = made.dataset.title || main.querySelector("h1")?.textContent || store.index.verdict;
  document.title = visible(title) + " · pytest-statebase";
  if (!left) arrive(now, main, isFirst);
  if (made.arrived) made.arrived(now);
  if (left) comeBack(left, main);
}

const nowhere = () => h("div", { data: { title: "No such session" } }, h("h1", "No such session"), h("p", "This report has no session or view at this address. ", h("a", { href: "#" }, "Overview")));

// A session that a view cannot show is told in its place; the others can still be seen.
async function drawn(now) {
  try {
    return await (VIEWS.get(now.view) || nowhere)(now);
  } catch (error) {
    console.error(error);
    return h("div.broken", h("h1", "This cannot be shown"),
      h("p", "The page’s script failed: ", code(String(error)), ". The results file holds everything."), h("p", h("a", { href: "#" }, "Overview")));
  }
}

// To what the address names, which gets the focus: without that, people who do not see the page would not know that it changed.
function arrive(now, main, isFirst) {
  const named = now.turn && byId(location.hash.slice(1).split("?")[0]);
  for (let up = named; up; up = up.parentElement) if (up.localName === "details") up.open = true;
  if (!named) window.scrollTo(0, 0);
  if (named || !isFirst) focusOn(named || main.querySelector("h1") || main);
  if (named) named.scrollIntoView();
}

function comeBack(left, main) {
  window.scrollTo(0, left.top);
  const list = main.querySelector(".virtual");
  if (list) list.to(left.list);
  findAgain(left.link, main, 6);
}

// Lists draw what is seen some frames after the page was scrolled.
function findAgain(href, main, frames) {
  const link = href && [...main.querySelectorAll("a[href]")].find((one) => one.getAttribute("href") === href);
  if (link || !href || !frames) focusOn(link || main.querySelector("h1") || main);
  else requestAnimationFrame(() => findAgain(href, main, frames - 1));
}

function focusOn(element) {
  if (element.tabIndex < 0) element.tabIndex = -1;
  focusQuietly(element);
}

// ---- the bar ----

function bar() {
  const { facts = [], groups } = store.index;
  return [
    h("a.brand", { href: "#", id: "home" }, logo(), h("span", "statebase"), " replay"),
    h("nav", { label: "Report" }, h("a", { href: "#", data: { view: "overview" } }, "Overview"), h("a", { href: "#traces", data: { view: "traces" } }, "Traces")),
    h("span.tallies", groups.filter((one) => one.count).map((one) => chip([number(one.count), sr(" ", one.name)], one.slug))),
    facts.length > 0 && h("details.run", h("summary", h("span", runWords(Object.fromEntries(facts)))),
      factList(facts)),
    button([h("kbd", { mute: true }, "?"), sr("Keys and signs")], showHelp, { class: "quiet keys", "aria-haspopup": "dialog", title: "Keys and signs" }),
  ];
}

const runWords = (facts) => [facts.agent, (facts.started || "").replace(/T(\d\d:\d\d).*(?:Z|\+00:00)$/, " $1 UTC")].filter(Boolean).join(" · ") || "This run";

function logo() {
  return svg("svg", { viewBox: "0 0 16 16", mute: true, class: "logo" },
    svg("path", { d: "M4 2v11M4 10c0-4 8-2 8-6" }), svg("circle", { cx: 4, cy: 13, r: 2 }), svg("circle", { cx: 12, cy: 3, r: 2 }));
}

// The overview is where it was left, with all that is chosen on it.
function showCurrent(now) {
  for (const link of document.querySelectorAll("#top a")) {
    if (link.dataset.view !== "traces") link.setAttribute("href", place.home);
    if (link.dataset.view === now.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function onHashChange(event) {
  const old = new URL(event.oldURL).hash;
  if (place.parse(old).view === "overview") place.home = old || "#";
  draw();
}

function onEscape(event) {
  const run = document.querySelector(".run[open]");
  if (run) run.open = false;
  else if (event.target.closest("input, textarea, select")) event.target.blur();
  else if (place.now().view !== "overview") place.go(place.home);
}

// ---- print: what is folded is shown; the overview prints as the plain page, which has every failure on it ----

function watchPrint(plain) {
  const folded = () => document.querySelectorAll("#app details:not([open])");
  let opened = [];
  listen(window, "beforeprint", () => {
    if (place.now().view === "overview") document.body.append(plain);
    opened = [...folded()];
    for (const one of opened) one.open = true;
  });
  listen(window, "afterprint", () => {
    plain.remove();
    for (const one of opened) one.open = false;
  });
}

function watch() {
  history.scrollRestoration = "manual";
  listen(window, "hashchange", onHashChange);
  listen(window, "scroll", remember, { capture: true, passive: true });
  listen(document, "focusin", remember);
  listen(document, "keydown", (event) => keys.press(event));
  listen(document, "click", (event) => {
    const run = document.querySelector(".run[open]");
    if (run && !run.contains(event.target)) run.open = false;
  });
  listen(byId("skip"), "click", (event) => {
    event.preventDefault();
    byId("app").focus();
  });
  keys.add("Escape", "leave a field; back to the overview", onEscape);
  keys.add("?", "keys and signs", showHelp);
  keys.add("o", "overview", () => place.go(place.home));
  keys.add("t", "traces", () => place.go("#traces"));
}

async function begin() {
  if (!document.documentElement.classList.contains("scripted")) return;
  document.documentElement.dataset.begun = "";
  try {
    await store.load();
    append(byId("top"), bar());
    watch();
    await draw();
  } catch (error) {
    // What is plain HTML still reads.
    document.documentElement.classList.remove("scripted");
    throw error;
  }
  const plain = byId("plain");
  plain.remove();
  watchPrint(plain);
}

begin();
