// Recorded values as text and trees, and what differs between two of them.
