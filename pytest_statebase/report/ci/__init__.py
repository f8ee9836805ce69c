"""What services that run tests read: annotations, logs, JUnit."""
