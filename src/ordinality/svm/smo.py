"""Sequential minimal optimisation over several thresholds at once: the compiled steps.

Every hinge term e has a multiplier alpha_e in [0, upper_e] and belongs to a threshold, its
*node*. With ``F_e = f[row_e] - target_e``, moving D from one term to another of the same node,

    alpha_1 += sign_1 D,   alpha_2 -= sign_2 D,   f += D (K[:, row_1] - K[:, row_2]),

keeps ``sum sign alpha`` of the node and improves the dual if F_2 > F_1. Terms that can play the
first part are *up* (they bound the threshold from above), those that can play the second are
*low*. Where thresholds are chained, ``b_1 <= b_2 <= ...``, the two may lie at different nodes
k = node_2 and j = node_1: always if k <= j, and if k > j as long as every multiplier
``mu[j+1..k]`` of the chain in between is positive. Where the one threshold is pinned to zero
there is no bias, and a term may also move alone (its partner is number -1).

The second part is taken by the most violating term and the first by the one that promises most
(Fan, Chen and Lin, 2005, *Working set selection using second order information*); the brackets
are those of Keerthi et al. (2001) and of Chu and Keerthi (2005, 2007).
"""

from __future__ import annotations

import numpy as np

from .._compile import loop

__all__ = ["CONVERGED", "MISSING", "PAUSED", "brackets", "place_all", "steps", "violations"]

CONVERGED, MISSING, PAUSED = 0, 1, 2

# Least curvature, relative to the diagonal's: copies of a row have none, and then the step goes
# to a bound.
_FLAT = 1e-12

# Multipliers as near as this part to a bound are there but for the rounding of many steps.
_ROUNDING = 1e-12

# Hot terms: at most about so many, violating at least this part of the most; looked at until
# this part is left. Steps hardly depend on the three (a third either way), their cost does.
_MANY, _HOT, _COOL = 512, 0.5, 0.7
_BINS = 64  # of the histogram by which they are found


@loop
def _place(e, sign, target, upper, alpha, up, low):
    """Note whether a term is up, low or both: what to add to f for its F, or an infinity."""
    rises, falls = alpha[e] < upper[e], alpha[e] > 0.0
    if sign[e] < 0.0:
        rises, falls = falls, rises
    up[e] = -target[e] if rises else np.inf
    low[e] = -target[e] if falls else -np.inf


@loop
def place_all(sign, target, upper, alpha, up, low):
    """Do the same for every term."""
    for e in range(len(alpha)):
        _place(e, sign, target, upper, alpha, up, low)


@loop
def brackets(f, row, some, first, up, low, pinned, above, below, at_above, at_below):
    """Least F of the up terms of each node and largest of the low ones, and where they are.

    Looks at some of the terms only, sorted by node: ``some[first[j]:first[j+1]]``.
    """
    for j in range(len(first) - 1):
        least, most = (0.0, 0.0) if pinned else (np.inf, -np.inf)
        at_least = at_most = -1
        for h in range(first[j], first[j + 1]):
            e = some[h]
            x = f[row[e]]
            if x + up[e] < least:
                least, at_least = x + up[e], e
            if x + low[e] > most:
                most, at_most = x + low[e], e
        above[j], below[j] = least, most
        at_above[j], at_below[j] = at_least, at_most


@loop
def _partners(above, mu, chained, reach, bound):
    """For each node the first node its low terms can pair with, and the least F among those."""
    for k in range(len(above)):
        reach[k] = reach[k - 1] if chained and k > 0 and mu[k] > 0.0 else k
    if chained:
        for j in range(len(above) - 1, -1, -1):
            last = j == len(above) - 1
            bound[j] = above[j] if last else min(above[j], bound[j + 1])
        for k in range(len(above) - 1, -1, -1):  # reach[k] <= k, so not yet overwritten
            bound[k] = bound[reach[k]]
    else:
        for j in range(len(above)):
            bound[j] = above[j]


@loop
def _best_partner(f, diag, row, some, start, stop, up, top, K2, d2, tiny):
    """The up term whose move with the chosen low one promises most, its F and the curvature."""
    numerator, curvature, at, least = -1.0, 1.0, -1, 0.0
    for h in range(start, stop):
        e = some[h]
        i = row[e]
        value = f[i] + up[e]
        if value < top:
            flat = max(d2 + diag[i] - 2.0 * K2[i], tiny)
            gain = (top - value) * (top - value)
            if gain * curvature > numerator * flat:
                numerator, curvature, at, least = gain, flat, e, value
    return at, least, curvature


@loop
def _room(e, way, sign, upper, alpha):
    """How far a term can move: up if ``way`` is 1.0, down if it is -1.0."""
    if e < 0:
        return np.inf
    return upper[e] - alpha[e] if (sign[e] > 0.0) == (way > 0.0) else alpha[e]


@loop
def _move(e, step, way, room, sign, target, upper, alpha, up, low):
    """Move one multiplier; exactly onto its bound if that is where it comes."""
    if e < 0:
        return
    grows = (sign[e] > 0.0) == (way > 0.0)
    alpha[e] += step if grows else -step
    if step >= room or min(alpha[e], upper[e] - alpha[e]) < _ROUNDING * upper[e]:
        alpha[e] = upper[e] if alpha[e] > 0.5 * upper[e] else 0.0
    _place(e, sign, target, upper, alpha, up, low)


@loop
def _shift_chain(mu, k, j, step, nothing):
    """Carry what left node k and came to node j along the chain's multipliers."""
    for i in range(k + 1, j + 1):
        mu[i] += step
    for i in range(j + 1, k + 1):
        mu[i] = mu[i] - step if mu[i] - step > nothing else 0.0


@loop
def _scratch(n_nodes):
    """Working memory of a choice: above, below, bound; where; reach."""
    above, below, bound = np.empty(n_nodes), np.empty(n_nodes), np.empty(n_nodes)
    at_above, at_below = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    reach = np.empty(n_nodes, np.int64)
    return above, below, bound, at_above, at_below, reach


@loop
def _choose(store, slot, f, diag, terms, hot, up, low, mu, rules, tiny, scratch, none):
    """Pick the pair of hot terms to move; -1 stands for a partner that is not a term.

    ``none`` is the kernel row of that partner, all zeros.

    Returns the terms and their nodes as (one, j, two, k), the difference of their F, the
    curvature along the move, the largest violation, and a kernel row that is missing, or -1.
    """
    row, node = terms[0], terms[1]
    some, first = hot
    chained, pinned = rules
    above, below, bound, at_above, at_below, reach = scratch
    brackets(f, row, some, first, up, low, pinned, above, below, at_above, at_below)
    _partners(above, mu, chained, reach, bound)
    k = 0
    for i in range(1, len(bound)):
        if below[i] - bound[i] > below[k] - bound[k]:
            k = i
    two, top = at_below[k], below[k]
    r2 = row[two] if two >= 0 else -1
    if r2 >= 0 and slot[r2] < 0:
        return (-1, k, two, k), 0.0, 1.0, top - bound[k], r2
    K2, d2 = (store[slot[r2]], diag[r2]) if r2 >= 0 else (none, 0.0)
    start, stop = first[reach[k]], first[len(bound) if chained else k + 1]
    one, least, curvature = _best_partner(
        f, diag, row, some, start, stop, up, top, K2, d2, tiny
    )
    if pinned and top > 0.0 and (one < 0 or top * top * curvature > (top - least) ** 2 * d2):
        one, least, curvature = -1, 0.0, max(d2, tiny)
    j = node[one] if one >= 0 else k
    missing = row[one] if one >= 0 and slot[row[one]] < 0 else -1
    return (one, j, two, k), top - least, curvature, top - bound[k], missing


@loop
def _heat(worst, violation, few, hot):
    """Note the terms that violate most, about as many as stay in the processor's cache.

    ``hot`` takes their numbers, and in its last entry how many there are. Where too many
    violate alike, as at the start, every so manieth is taken. If not ``few``, all terms are.
    """
    hot[-1] = seen = 0
    cut, stride = _cut(worst, violation) if few else (-np.inf, 1)
    for e in range(len(worst)):
        if worst[e] >= cut:
            if seen % stride == 0:
                hot[hot[-1]] = e
                hot[-1] += 1
            seen += 1


@loop
def _cut(worst, violation):
    """Above which violation terms are hot, and every how manieth of them is, by a histogram."""
    counts = np.zeros(_BINS + 1, np.int64)
    for v in worst:
        if v > 0.0:
            counts[min(int(_BINS * v / violation), _BINS)] += 1
    b, total = _BINS - 1, counts[_BINS] + counts[_BINS - 1]
    while b > _HOT * _BINS and total + counts[b - 1] <= _MANY:
        b -= 1
        total += counts[b]
    return b * violation / _BINS, max(1, total // _MANY)


@loop
def _starts(some, node, first):
    """Where the terms of each node begin in a list that is sorted by node."""
    first[0] = h = 0
    for j in range(len(first) - 1):
        while h < len(some) and node[some[h]] == j:
            h += 1
        first[j + 1] = h


@loop
def steps(store, slot, stamp, f, diag, terms, up, low, mu, rules, hot, goal, tol, budget):
    """Take steps until the brackets close, a kernel row is missing or the budget is spent.

    ``terms`` are the arrays (row, node, sign, target, upper, alpha) of the active terms, sorted
    by node; ``rules`` are (chained, pinned). Row i of the kernel is ``store[slot[i]]``, and
    missing if the slot is negative. ``stamp`` notes when a slot was last used; its last entry
    is the clock.

    Most steps choose among the hot terms, those that violated optimality most when all were
    last looked at; all are looked at again when the hot ones do not violate it by more than the
    goal. Both outlive the call: begin with ``hot[-1] = 0``.

    Returns the outcome, the row that is missing, the steps taken and the violation left.
    """
    row, node = terms[0], terms[1]
    scratch, none = _scratch(len(mu)), np.zeros(len(f))
    first = np.empty(len(mu) + 1, np.int64)
    _starts(hot[: hot[-1]], node, first)
    tiny, nothing = 1e-300, 0.0
    for value in diag:
        tiny = max(tiny, value)
    for value in terms[4]:
        nothing = max(nothing, value)
    tiny, nothing = _FLAT * tiny, _ROUNDING * nothing
    violation, done = np.inf, 0
    few = done == 0  # true, but not a constant, for which _heat would be compiled again
    while done < budget:
        pair, excess, curvature, violation, missing = _choose(
            store, slot, f, diag, terms, (hot, first), up, low, mu, rules, tiny, scratch, none
        )
        if not violation > goal[0] or first[-1] == 0:
            worst = np.empty(len(row))
            violation = violations(f, row, node, up, low, mu, rules, worst)
            if not violation > tol:
                return CONVERGED, -1, done, violation
            _heat(worst, violation, few, hot)
            _starts(hot[: hot[-1]], node, first)
            # Should the sample lack partners, the next look takes all.
            goal[0], few = max(tol, _COOL * violation), False
            continue
        if missing >= 0:
            return MISSING, missing, done, violation
        one, _, two, _ = pair
        step = _step(pair, excess / curvature, terms, up, low, mu, nothing)
        _update(store, slot, stamp, f, row[one] if one >= 0 else -1, step)
        _update(store, slot, stamp, f, row[two] if two >= 0 else -1, -step)
        done, few = done + 1, True
    return PAUSED, -1, done, violation


@loop
def _step(pair, step, terms, up, low, mu, nothing):
    """Move a pair of multipliers as far as asked, or as their bounds and the chain allow."""
    _, _, sign, target, upper, alpha = terms
    one, j, two, k = pair
    # The ways are not True and False: numba would compile each constant for itself.
    room1 = _room(one, 1.0, sign, upper, alpha)
    room2 = _room(two, -1.0, sign, upper, alpha)
    step = min(step, room1, room2)
    for i in range(j + 1, k + 1):
        step = min(step, mu[i])
    _move(one, step, 1.0, room1, sign, target, upper, alpha, up, low)
    _move(two, step, -1.0, room2, sign, target, upper, alpha, up, low)
    _shift_chain(mu, k, j, step, nothing)
    return step


@loop
def _update(store, slot, stamp, f, r, step):
    """Add a multiple of kernel row r to the scores."""
    if r < 0:
        return
    at = slot[r]
    stamp[-1] += 1
    stamp[at] = stamp[-1]
    for i in range(len(f)):
        f[i] += step * store[at, i]


@loop
def violations(f, row, node, up, low, mu, rules, worst):
    """By how much each term violates optimality at most, with the best partner there is.

    Negative for a term at a bound that is on the right side of every bracket. Returns the
    largest.
    """
    chained, pinned = rules
    n_nodes, every = len(mu), np.empty(len(row), np.int64)
    for e in range(len(row)):
        every[e] = e
    first = np.empty(n_nodes + 1, np.int64)
    _starts(every, node, first)
    above, below, bound, at_above, at_below, reach = _scratch(n_nodes)
    brackets(f, row, every, first, up, low, pinned, above, below, at_above, at_below)
    _partners(above, mu, chained, reach, bound)
    k, most = 0, -np.inf
    for j in range(n_nodes):
        most = most if chained else -np.inf
        while k < n_nodes and reach[k] <= j:  # the low terms that can pair with node j
            most = max(most, below[k])
            k += 1
        for e in range(first[j], first[j + 1]):
            x = f[row[e]]
            worst[e] = max(most - x - up[e], x + low[e] - bound[j])
    largest = -np.inf
    for j in range(n_nodes):
        largest = max(largest, below[j] - bound[j])
    return largest
