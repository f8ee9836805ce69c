// A turn: production, accepted, now.
function turnPanel(row, turn) {
  return h("section", { id: "turn" }, h("h2", null, "Turn " + turn.turn));
}
