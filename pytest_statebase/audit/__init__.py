"""What an auditor asks of sessions: why a turn went as it did, where two part, what is missing, how they fare."""
