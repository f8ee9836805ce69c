"""One module a client library: what of it is replaced while requests are intercepted.

Each has `replacements(module, find)`, which yields owner, attribute and what takes its place.
"""
