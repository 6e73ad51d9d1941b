"""Experiments: cells computed once and kept, set side by side, tested and reported.

- `compare`: which of several methods is better, and how sure that is; for your own scores too.
- `values`: what an experiment is, as a value; `specs` holds the papers' tables and figures.
- `run` and `store`: cells to rows, stopped and resumed at will.
- `report`, `render` and `figures`: ours beside theirs, as a table, a page or a picture.
"""
