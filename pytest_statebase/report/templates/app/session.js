// A session.
async function sessionView(now) {
  const row = await store.session(now.id);
  if (!row) return h("p", null, "There is no such session in this report.");
  return h("article", null, h("h1", null, bdi(store.summary(now.id).name)), row.turns.map((turn) => turnPanel(row, turn, now)));
}
