// The overview.
function overviewView() {
  return h("div", { data: { title: store.index.verdict } }, h("h1", null, store.index.verdict),
    h("ul", null, store.index.sessions.map((one) => h("li", null, h("a", { href: "#" + one.id }, bdi(one.name)), " ", chip(one.group, one.group)))));
}
