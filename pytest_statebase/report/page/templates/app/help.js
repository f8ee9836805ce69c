// The overlay that lists the keys, and what the signs mean.

const KEY_SIGNS = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc", PageUp: "PgUp", PageDown: "PgDn" };
const KEY_PLACES = [[null, "Everywhere"], ["overview", "Overview"], ["session", "Session"], ["traces", "Traces"]];

function showHelp() {
  openDialog("help", "Keys and signs", h("div.columns", KEY_PLACES.map(keyList), signList()));
}

function keyList([view, name]) {
  const found = keys.all.filter((one) => one.view === view);
  if (!found.length) return null;
  return h("section", h("h3", name), h("dl", found.map((one) => h("div",
    h("dt", one.combination.split(" ").map((key) => h("kbd", KEY_SIGNS[key] || key))), h("dd", one.words)))));
}

function signList() {
  return h("section", h("h3", "Signs"), h("dl",
    store.index.groups.map((one) => h("div", h("dt", chip("", one.slug)), h("dd", SIGN_WORDS[one.slug] || one.name))),
    [["recorded, production", "what was recorded"], ["accepted", "what was accepted as right since"], ["now", "what the agent under test did in the replay"]].map(
      ([name, words]) => h("div", h("dt", name), h("dd", words)))));
}

const SIGN_WORDS = {
  fail: "fails: a turn is not as it should be",
  norun: "could not run: nothing can be said of it",
  review: "to review: passes, and differs",
  ok: "ok: as recorded, accepted or fixed",
};
