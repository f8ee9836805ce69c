"""A run as Markdown, for people and for coding agents."""
