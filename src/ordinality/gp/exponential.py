"""Exponentials of many numbers that are not positive, as kernels need them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ordinality._compile import loop
from ordinality.gp.arrays import Array

__all__ = ["exponentials"]

# exp(x) = 2**k exp(r), |r| <= log(2) / 2. Adding 1.5 * 2**52 rounds x / log(2) to a whole k and
# leaves k in the lowest bits; log(2) is split in two so that k times the first part is exact.
_LOG2_E = math.log2(math.e)
_ROUND = 1.5 * 2.0**52
_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
_BIAS = 1023 << 52  # of the exponent
_LEAST = -708.0  # the exponential of anything less is taken to be 3e-308
# The next term of the series is below 5e-18.
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1.0 / math.factorial(k) for k in range(2, 14)
)


def exponentials(t: Array, K: Array, start: int, scale: float, lower: bool) -> None:
    """`scale` times the exponentials of a band of exponents, into K from row `start`.

    Exact to the last digit but one. Exponents above zero are taken for zero; those at or above
    the diagonal of K are left out if `lower`. `t` is overwritten.

    NumPy takes entries one by one where the processor has no AVX-512, in 5 ns each; these
    loops are vectorised by the compiler for whatever there is, in 2 ns with AVX2.
    """
    _exponentials(t, K, np.empty(t.shape[1]), start, scale, lower)


@loop
def _exponentials(t: Any, K: Any, power: Any, start: Any, scale: Any, lower: Any) -> None:
    bits = power.view(np.int64)
    for i in range(len(t)):
        columns = start + i if lower else t.shape[1]
        for j in range(columns):
            x = min(max(t[i, j], _LEAST), 0.0)
            shifted = x * _LOG2_E + _ROUND
            power[j] = shifted
            k = shifted - _ROUND
            r = (x - k * _LN2_HIGH) - k * _LN2_LOW
            r2 = r * r
            r4 = r2 * r2
            a = (_C2 + _C3 * r) + (_C4 + _C5 * r) * r2
            b = (_C6 + _C7 * r) + (_C8 + _C9 * r) * r2
            c = (_C10 + _C11 * r) + (_C12 + _C13 * r) * r2
            t[i, j] = 1.0 + (r + r2 * (a + r4 * (b + r4 * c)))
        for j in range(columns):
            bits[j] = (bits[j] << 52) + _BIAS
        for j in range(columns):
            K[start + i, j] = scale * (t[i, j] * power[j])
