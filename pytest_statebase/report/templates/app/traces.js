// The trace explorer.
async function tracesView() {
  return h("div", null, h("h1", null, "Traces"));
}
