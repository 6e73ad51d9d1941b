"""Factor, solve and selected inverse of ``M = I + A'WA`` for effects of groups.

Row i of A is nonzero only in the columns of the groups that the row belongs to. The term with
most effects is eliminated first: different groups of it share no row, so its part of M consists
of small diagonal blocks. What is left is a dense matrix S over the effects of all other terms
(the Schur complement). With one term there is no S; with two crossed ones the cost is the sum
over eliminated groups of the square of their partners, and a Cholesky factor of S.

Bates & DebRoy (2004), *Linear mixed models and penalized least squares*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from .._compile import loop

__all__ = ["MAX_REST", "GroupFactor", "Layout", "Term"]

#: Most effects that all terms but the largest may have together: S is dense, and one of this
#: order takes 288 MB and 7e10 operations to factorise.
MAX_REST = 6000


@dataclass(frozen=True, eq=False)
class Term:
    """Effects of one grouping factor: ``design_i @ b[groups_i]`` with b ~ N(0, L L')."""

    groups: np.ndarray  # (n,), whole numbers from 0
    design: np.ndarray  # (n, r); a column of ones for an intercept
    n_groups: int

    @property
    def width(self) -> int:
        return self.design.shape[1]

    @property
    def size(self) -> int:
        """Number of effects."""
        return self.n_groups * self.width

    def take(self, index: np.ndarray) -> Term:
        """Some rows, of the same groups."""
        return Term(self.groups[index], self.design[index], self.n_groups)


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the effects of each row stand in the vector of all effects.

    Rows are taken in `order`, sorted by the group of the eliminated term, whose effects come
    first in the vector. `own` holds the places of the effects of a row, `place` the entries of
    `partners` for those outside the eliminated term.
    """

    order: np.ndarray  # (n,)
    terms: tuple[int, ...]  # the eliminated term first
    first: tuple[int, ...]  # first effect of each of these
    width: int  # r of the eliminated term
    start: np.ndarray  # (G + 1,), first row of each eliminated group
    own: np.ndarray  # (n, sum of widths)
    ptr: np.ndarray  # (G + 1,), first partner of each eliminated group
    partners: np.ndarray  # (P,), effects counted without those of the eliminated term
    place: np.ndarray  # (n, sum of other widths)
    n_rest: int

    @classmethod
    def of(cls, terms: Sequence[Term]) -> Layout:
        """The layout that eliminates the largest term."""
        largest = max(range(len(terms)), key=lambda t: terms[t].size)
        names = (largest, *(t for t in range(len(terms)) if t != largest))
        first = np.cumsum([0, *(terms[t].size for t in names)])
        groups = terms[largest].groups
        order = np.argsort(groups, kind="stable")
        own = np.hstack(
            [
                at + terms[t].groups[order, None] * terms[t].width + np.arange(terms[t].width)
                for t, at in zip(names, first[:-1], strict=True)
            ]
        )
        start = np.searchsorted(groups[order], np.arange(terms[largest].n_groups + 1))
        rest, width = int(first[-1] - first[1]), terms[largest].width
        # A group and a partner as one number, so that equal pairs are found by sorting.
        pairs = groups[order, None] * max(rest, 1) + own[:, width:] - first[1]
        distinct, place = np.unique(pairs, return_inverse=True)
        ptr = np.searchsorted(distinct, np.arange(terms[largest].n_groups + 1) * max(rest, 1))
        return cls(
            order=order,
            terms=names,
            first=tuple(int(f) for f in first),
            width=width,
            start=start,
            own=own,
            ptr=ptr,
            partners=distinct % max(rest, 1),
            place=place.reshape(pairs.shape),
            n_rest=rest,
        )

    def gather(self, A: np.ndarray, v: np.ndarray) -> np.ndarray:
        """A v, shape (n,)."""
        return np.einsum("ij,ij->i", A, v[self.own])

    def scatter(self, A: np.ndarray, x: np.ndarray) -> np.ndarray:
        """A'x, shape (q,)."""
        return np.bincount(self.own.ravel(), (A * x[:, None]).ravel(), self.first[-1])


@dataclass(frozen=True, eq=False)
class GroupFactor:
    """M after elimination: inverse diagonal blocks, their multipliers, and the factor of S."""

    layout: Layout
    blocks: np.ndarray  # (G, r, r), inverse of the diagonal blocks
    multipliers: np.ndarray  # (P, r)
    rest: np.ndarray  # (n_rest, n_rest), lower Cholesky factor of S
    log_det: float

    @classmethod
    def of(cls, layout: Layout, A: np.ndarray, W: np.ndarray) -> GroupFactor | None:
        """Factorise; None if M is not positive definite."""
        r = layout.width
        blocks = np.tile(np.eye(r), (len(layout.start) - 1, 1, 1))
        cross, S = np.zeros((len(layout.partners), r)), np.eye(layout.n_rest)
        _assemble(
            layout.start, layout.own, layout.place, layout.first[1], A, W, blocks, cross, S
        )
        multipliers = np.empty_like(cross)
        log_det = _eliminate(layout.ptr, layout.partners, blocks, cross, multipliers, S)
        if not math.isfinite(log_det):
            return None
        if layout.n_rest:
            S, failed = linalg.lapack.dpotrf(S, lower=1, clean=1)
            if failed:
                return None
            log_det += 2.0 * np.log(np.diagonal(S)).sum()
        return cls(layout, blocks, multipliers, S, float(log_det))

    def solve(self, b: np.ndarray) -> np.ndarray:
        """M^-1 b."""
        at = self.layout.first[1]
        x = np.einsum("gab,gb->ga", self.blocks, b[:at].reshape(-1, self.layout.width))
        if not self.layout.n_rest:
            return x.ravel()
        lengths = np.diff(self.layout.ptr)
        per_partner = np.repeat(b[:at].reshape(-1, self.layout.width), lengths, axis=0)
        carried = np.einsum("pa,pa->p", self.multipliers, per_partner)
        rest = b[at:] - np.bincount(self.layout.partners, carried, self.layout.n_rest)
        rest = linalg.cho_solve((self.rest, True), rest, check_finite=False)
        back = self.multipliers * rest[self.layout.partners, None]
        group = np.repeat(np.arange(len(lengths)), lengths)
        for a in range(self.layout.width):
            x[:, a] -= np.bincount(group, back[:, a], len(lengths))
        return np.concatenate([x.ravel(), rest])

    def rest_inverse(self) -> np.ndarray:
        """S^-1, the block of M^-1 of all terms but the eliminated one."""
        if not self.layout.n_rest:
            return self.rest
        inverse, _ = linalg.lapack.dpotri(self.rest, lower=1)
        return np.tril(inverse) + np.tril(inverse, -1).T

    def selected_inverse(self, A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M^-1 a_i at the effects of row i; blocks of M^-1 of the eliminated term; S^-1."""
        inverse, blocks, own = self.rest_inverse(), self.blocks.copy(), np.empty_like(A)
        lay = self.layout
        _selected(
            *(lay.start, lay.ptr, lay.partners, lay.place, lay.own, lay.first[1]),
            *(A, self.multipliers, inverse, blocks, own),
        )
        return own, blocks, inverse


@loop
def _assemble(start, own, place, offset, A, W, blocks, cross, S):
    """Add A'WA to the diagonal blocks, to the cross terms (P, r) and to the lower half of S."""
    r, m = cross.shape[1], place.shape[1]
    for g in range(start.size - 1):
        for i in range(start[g], start[g + 1]):
            for a in range(r):
                x = W[i] * A[i, a]
                for b in range(r):
                    blocks[g, a, b] += x * A[i, b]
                for j in range(m):
                    cross[place[i, j], a] += x * A[i, r + j]
            for j in range(m):
                x = W[i] * A[i, r + j]
                for k in range(j + 1):  # the effects of a row ascend
                    S[own[i, r + j] - offset, own[i, r + k] - offset] += x * A[i, r + k]


@loop
def _eliminate(ptr, partners, blocks, cross, multipliers, S):
    """Invert the blocks in place and take their share from S; the log determinant, or NaN."""
    r, log_det = cross.shape[1], 0.0
    for g in range(ptr.size - 1):
        block = blocks[g]
        for k in range(r):  # Gauss-Jordan: needs no pivoting for a positive definite block
            pivot = block[k, k]
            if not pivot > 0.0:
                return math.nan
            log_det += math.log(pivot)
            block[k, k] = 1.0
            for b in range(r):
                block[k, b] /= pivot
            for a in range(r):
                if a != k:
                    factor = block[a, k]
                    block[a, k] = 0.0
                    for b in range(r):
                        block[a, b] -= factor * block[k, b]
        for p in range(ptr[g], ptr[g + 1]):
            for a in range(r):
                multipliers[p, a] = 0.0
                for b in range(r):
                    multipliers[p, a] += block[a, b] * cross[p, b]
            for p2 in range(ptr[g], p + 1):  # partners ascend
                x = 0.0
                for a in range(r):
                    x += multipliers[p, a] * cross[p2, a]
                S[partners[p], partners[p2]] -= x
    return log_det


@loop
def _selected(
    start, ptr, partners, place, own, offset, A, multipliers, inverse, blocks, out
):  # blocks: inverse diagonal blocks, completed in place to the blocks of M^-1
    r, m = blocks.shape[1], place.shape[1]
    carried = np.empty((np.max(np.diff(ptr)) if ptr.size > 1 else 0, r))  # T S^-1 of a group
    for g in range(start.size - 1):
        first, count = ptr[g], ptr[g + 1] - ptr[g]
        for p in range(count):
            for a in range(r):
                carried[p, a] = 0.0
            for p2 in range(count):
                x = inverse[partners[first + p], partners[first + p2]]
                for a in range(r):
                    carried[p, a] += multipliers[first + p2, a] * x
        for p in range(count):
            for a in range(r):
                for b in range(r):
                    blocks[g, a, b] += carried[p, a] * multipliers[first + p, b]
        for i in range(start[g], start[g + 1]):
            for a in range(r):
                x = 0.0
                for b in range(r):
                    x += blocks[g, a, b] * A[i, b]
                for j in range(m):
                    x -= carried[place[i, j] - first, a] * A[i, r + j]
                out[i, a] = x
            for j in range(m):
                x = 0.0
                for a in range(r):
                    x -= carried[place[i, j] - first, a] * A[i, a]
                for k in range(m):
                    x += inverse[own[i, r + j] - offset, own[i, r + k] - offset] * A[i, r + k]
                out[i, r + j] = x
