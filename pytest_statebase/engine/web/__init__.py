"""HTTP in a replay: which recording answers a request, model calls, and what may go live."""
