"""Labelled pairs of a recorded and a replayed turn, and how well the comparison tells what a reviewer wants told.

`python -m tests.corpus` prints precision and recall by facet and kind, and every miss and false alarm.
"""
