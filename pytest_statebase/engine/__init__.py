"""The replay itself: stubs, agents, the runner. Knows nothing of pytest."""
