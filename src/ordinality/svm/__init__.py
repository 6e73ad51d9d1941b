"""Support vector machines for ordered labels and for comparisons.

With a score ``f = K beta`` and thresholds b every machine here minimises

    beta' K beta / 2  +  sum_e upper_e [hinge - sign_e (f[row_e] - b[node_e])]_+  +  push' b,

the sum over hinge terms e, each of which keeps one row away from one threshold. The dual has
one multiplier per term, between 0 and upper_e. Each module holds one part:

- `terms`: which terms, signs and costs a formulation has (the sum, and push);
- `kernel_rows`: K, row by row within a bound of memory; also for comparisons, where a row is a
  pair and its score a difference;
- `smo`: the compiled steps of two multipliers that increase the dual;
- `solver`: the whole solution: steps, shrinking, Newton steps, and b from the multipliers;
- `linear`: the same problem for ``K = X X'`` and many rows, by an interior-point method.

Chu & Keerthi (2007), *Support vector ordinal regression*; Shashua & Levin (2003).
"""
