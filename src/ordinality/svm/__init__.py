"""Support vector machines for ordered labels and for comparisons, solved in the dual.

`terms` says which hinge terms a formulation has, `smo` holds the compiled steps, `face` moves
many multipliers at once where there are no thresholds, `rows` keeps kernel rows within a bound
of memory, `solver` puts them together, and `linear` is the fast path for linear kernels and
many rows.
"""
