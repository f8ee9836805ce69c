"""Which of many recorded sessions become tests."""
