"""Recording of sessions: a run of an agent with its live tools, or what production does, becomes a ledger."""
