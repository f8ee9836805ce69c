"""Results of replays: as JSON Lines, in pytest's terminal and as one HTML page."""
