"""Secrets and personal data in places where sessions have them, and what looks like them and is none.

`python -m tests.corpus.secrets` prints how many are found by kind. No value is written down as a whole, so that no
scanner takes this directory for a leak: all are made with dice that always fall alike.
"""
