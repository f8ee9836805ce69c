// The page begins: unpack the index, then draw the view that the address names, again whenever it changes.

const VIEWS = { overview: overviewView, session: sessionView, traces: tracesView };

async function draw() {
  const now = place.now();
  const view = VIEWS[now.view] || VIEWS.overview;
  const main = document.getElementById("app");
  const made = await view(now);
  main.replaceChildren(made);
  if (now.view !== "session" || !(now.turn || now.call)) window.scrollTo(0, 0);
  if (made.arrived) made.arrived();
  document.title = made.dataset.title || document.title;
}

async function begin() {
  try {
    await store.load();
    keys.add("Escape", "back to the overview", () => { place.go("#"); }, "session");
    window.addEventListener("hashchange", draw);
    document.addEventListener("keydown", (event) => keys.press(event));
    await draw();
  } catch (error) {
    // What is plain HTML still reads.
    document.documentElement.classList.remove("scripted");
    throw error;
  }
}

begin();
