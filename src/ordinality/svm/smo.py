"""Sequential minimal optimisation (SMO) with several thresholds: the compiled steps.

Every hinge term e has a multiplier alpha_e in [0, upper_e] and belongs to a threshold, its
*node*. With ``F_e = f[row_e] - target_e``, moving D from one term to another of the same node,

    alpha_1 += sign_1 D,   alpha_2 -= sign_2 D,   f += D (K[:, row_1] - K[:, row_2]),

keeps ``sum sign alpha`` of the node and increases the dual if F_2 > F_1. Terms that can be the
first are *up* (LIBSVM's I_up; they bound the threshold from above), those that can be the
second are *low* (I_low). Where thresholds are chained, ``b_1 <= b_2 <= ...``, the two may
belong to different nodes k = node_2 and j = node_1: always if k <= j, and if k > j as long as
every multiplier ``mu[j+1..k]`` of the chain in between is positive. Where the one threshold is
pinned to zero there is no bias, and a term may also move alone (its partner is number -1).

The second term is the most violating one and the first the one with the largest second-order
gain (Fan, Chen and Lin, 2005, *Working set selection using second order information*). Pairs
are chosen from a working set of the most violating terms, which is small enough for the
processor's cache. The brackets of thresholds are those of Keerthi et al. (2001) and of Chu and
Keerthi (2005, 2007).
"""

from __future__ import annotations

import numpy as np

from .._compile import loop

__all__ = [
    "CONVERGED",
    "MISSING",
    "PAUSED",
    "brackets",
    "classify_terms",
    "take_steps",
    "violations",
]

CONVERGED, MISSING, PAUSED = 0, 1, 2  # outcomes of `take_steps`

# Least curvature relative to the largest diagonal entry, as LIBSVM's TAU. Equal rows have none,
# up to a rounding of about 4e-16, and then the step ends at a bound.
_MIN_CURVATURE = 1e-12

# Multipliers within this share of a bound are set to it: a step rounds by 1e-16 of the bound,
# and the sum of some thousand steps by 1e-13.
_ROUNDING = 1e-12

# The working set has about _WORKING_SIZE terms at most, each violating optimality by at least
# _WORKING_SHARE of the largest violation. It is selected anew when the largest violation within
# it falls to _REFRESH_SHARE of that. The number of steps varies by a third with these three,
# their time by more.
_WORKING_SIZE, _WORKING_SHARE, _REFRESH_SHARE = 512, 0.5, 0.7
_BINS = 64  # of the histogram of violations


@loop
def take_steps(
    store, slot, stamp, f, diag, terms, up, low, mu, rules, working, goal, tol, budget
):
    """Take steps until the brackets close, a kernel row is missing or the budget is spent.

    ``terms`` are the arrays (row, node, sign, target, upper, alpha) of the active terms, sorted
    by node; ``rules`` are (chained, pinned). Row i of the kernel is ``store[slot[i]]``, and
    missing if the slot is negative. ``stamp`` holds when a slot was last used; its last entry
    is the clock. ``working`` holds the working set, and in its last entry how many terms it
    has; it is selected anew when no violation within it exceeds ``goal[0]``. Both keep their
    values between calls: begin with ``working[-1] = 0``.

    Returns the outcome, the row that is missing, the number of steps and the violation left.
    """
    row, node = terms[0], terms[1]
    arrays, zeros = _workspace(len(mu)), np.zeros(len(f))
    first = np.empty(len(mu) + 1, np.int64)
    _starts(working[: working[-1]], node, first)
    floor, mu_rounding = 1e-300, 0.0  # above zero even for a kernel of zeros
    for value in diag:
        floor = max(floor, value)
    for value in terms[4]:
        mu_rounding = max(mu_rounding, value)
    floor, mu_rounding = _MIN_CURVATURE * floor, _ROUNDING * mu_rounding
    violation, done = np.inf, 0
    # True, but not a constant: numba would compile _select_working_set twice.
    limited = done == 0
    while done < budget:
        pair, excess, curvature, violation, missing = _select_pair(
            store, slot, f, diag, terms, (working, first), up, low, mu, rules, floor,
            arrays, zeros,
        )  # fmt: skip
        if not violation > goal[0] or first[-1] == 0:
            by_term = np.empty(len(row))
            violation = violations(f, row, node, up, low, mu, rules, by_term)
            if not violation > tol:
                return CONVERGED, -1, done, violation
            _select_working_set(by_term, violation, limited, working)
            _starts(working[: working[-1]], node, first)
            # If the working set lacks partners, no step is taken and the next has all terms.
            goal[0], limited = max(tol, _REFRESH_SHARE * violation), False
            continue
        if missing >= 0:
            return MISSING, missing, done, violation
        one, _, two, _ = pair
        step = _move_pair(pair, excess / curvature, terms, up, low, mu, mu_rounding)
        _add_kernel_row(store, slot, stamp, f, row[one] if one >= 0 else -1, step)
        _add_kernel_row(store, slot, stamp, f, row[two] if two >= 0 else -1, -step)
        done, limited = done + 1, True
    return PAUSED, -1, done, violation


@loop
def _select_pair(
    store, slot, f, diag, terms, working, up, low, mu, rules, floor, arrays, zeros
):
    """Select the pair of terms of the working set to move.

    Returns the terms and their nodes as (one, j, two, k), the difference of their F, the
    curvature along the move, the largest violation, and a kernel row that is missing, or -1.
    A term -1 is the absent partner of a pinned threshold; ``zeros`` is its kernel row.
    """
    row, node = terms[0], terms[1]
    subset, first = working
    chained, pinned = rules
    above, below, least_up, at_above, at_below, first_partner = arrays
    brackets(f, row, subset, first, up, low, pinned, above, below, at_above, at_below)
    _partners(above, mu, chained, first_partner, least_up)
    k = 0
    for i in range(1, len(least_up)):
        if below[i] - least_up[i] > below[k] - least_up[k]:
            k = i
    two, top = at_below[k], below[k]
    r2 = row[two] if two >= 0 else -1
    if r2 >= 0 and slot[r2] < 0:
        return (-1, k, two, k), 0.0, 1.0, top - least_up[k], r2
    K2, d2 = (store[slot[r2]], diag[r2]) if r2 >= 0 else (zeros, 0.0)
    start, stop = first[first_partner[k]], first[len(least_up) if chained else k + 1]
    one, least, curvature = _best_partner(
        f, diag, row, subset, start, stop, up, top, K2, d2, floor
    )
    if pinned and top > 0.0 and (one < 0 or top * top * curvature > (top - least) ** 2 * d2):
        one, least, curvature = -1, 0.0, max(d2, floor)
    j = node[one] if one >= 0 else k
    missing = row[one] if one >= 0 and slot[row[one]] < 0 else -1
    return (one, j, two, k), top - least, curvature, top - least_up[k], missing


@loop
def brackets(f, row, subset, first, up, low, pinned, above, below, at_above, at_below):
    """Least F of the up terms of each node and largest of the low ones, and of which terms.

    Only of a subset of the terms, sorted by node: ``subset[first[j]:first[j+1]]``.
    """
    for j in range(len(first) - 1):
        least, most = (0.0, 0.0) if pinned else (np.inf, -np.inf)
        at_least = at_most = -1
        for h in range(first[j], first[j + 1]):
            e = subset[h]
            x = f[row[e]]
            if x + up[e] < least:
                least, at_least = x + up[e], e
            if x + low[e] > most:
                most, at_most = x + low[e], e
        above[j], below[j] = least, most
        at_above[j], at_below[j] = at_least, at_most


@loop
def _partners(above, mu, chained, first_partner, least_up):
    """For each node the first node its low terms can pair with, and the least F among those."""
    for k in range(len(above)):
        first_partner[k] = first_partner[k - 1] if chained and k > 0 and mu[k] > 0.0 else k
    if chained:
        for j in range(len(above) - 1, -1, -1):
            last = j == len(above) - 1
            least_up[j] = above[j] if last else min(above[j], least_up[j + 1])
        for k in range(len(above) - 1, -1, -1):  # first_partner[k] <= k: not yet overwritten
            least_up[k] = least_up[first_partner[k]]
    else:
        for j in range(len(above)):
            least_up[j] = above[j]


@loop
def _best_partner(f, diag, row, subset, start, stop, up, top, K2, d2, floor):
    """The up term with the largest gain beside the chosen low one, its F and the curvature."""
    numerator, curvature, at, least = -1.0, 1.0, -1, 0.0
    for h in range(start, stop):
        e = subset[h]
        i = row[e]
        value = f[i] + up[e]
        if value < top:
            curved = max(d2 + diag[i] - 2.0 * K2[i], floor)
            gain = (top - value) * (top - value)
            if gain * curvature > numerator * curved:
                numerator, curvature, at, least = gain, curved, e, value
    return at, least, curvature


@loop
def _move_pair(pair, step, terms, up, low, mu, mu_rounding):
    """Move a pair of multipliers by ``step``, or as far as their bounds and the chain allow."""
    _, _, sign, target, upper, alpha = terms
    one, j, two, k = pair
    # Directions are numbers: numba would compile the functions for each of True and False.
    room1 = _room(one, 1.0, sign, upper, alpha)
    room2 = _room(two, -1.0, sign, upper, alpha)
    step = min(step, room1, room2)
    for i in range(j + 1, k + 1):
        step = min(step, mu[i])
    _move_term(one, step, 1.0, room1, sign, target, upper, alpha, up, low)
    _move_term(two, step, -1.0, room2, sign, target, upper, alpha, up, low)
    _shift_chain(mu, k, j, step, mu_rounding)
    return step


@loop
def _room(e, direction, sign, upper, alpha):
    """How far ``sign alpha`` of a term can grow (direction 1.0) or shrink (-1.0)."""
    if e < 0:
        return np.inf
    return upper[e] - alpha[e] if (sign[e] > 0.0) == (direction > 0.0) else alpha[e]


@loop
def _move_term(e, step, direction, room, sign, target, upper, alpha, up, low):
    """Move one multiplier; exactly to its bound if it comes within rounding of it."""
    if e < 0:
        return
    grows = (sign[e] > 0.0) == (direction > 0.0)
    alpha[e] += step if grows else -step
    if step >= room or min(alpha[e], upper[e] - alpha[e]) < _ROUNDING * upper[e]:
        alpha[e] = upper[e] if alpha[e] > 0.5 * upper[e] else 0.0
    _classify_term(e, sign, target, upper, alpha, up, low)


@loop
def _shift_chain(mu, k, j, step, mu_rounding):
    """Change the chain's multipliers by what was moved from node k to node j."""
    for i in range(k + 1, j + 1):
        mu[i] += step
    for i in range(j + 1, k + 1):
        mu[i] = mu[i] - step if mu[i] - step > mu_rounding else 0.0


@loop
def _add_kernel_row(store, slot, stamp, f, r, step):
    """Add a multiple of kernel row r to the scores."""
    if r < 0:
        return
    at = slot[r]
    stamp[-1] += 1
    stamp[at] = stamp[-1]
    for i in range(len(f)):
        f[i] += step * store[at, i]


@loop
def violations(f, row, node, up, low, mu, rules, by_term):
    """Largest violation of optimality; that of each term with its best partner to ``by_term``.

    Negative for a term at a bound that is on the correct side of every bracket.
    """
    chained, pinned = rules
    n_nodes, every = len(mu), np.empty(len(row), np.int64)
    for e in range(len(row)):
        every[e] = e
    first = np.empty(n_nodes + 1, np.int64)
    _starts(every, node, first)
    above, below, least_up, at_above, at_below, first_partner = _workspace(n_nodes)
    brackets(f, row, every, first, up, low, pinned, above, below, at_above, at_below)
    _partners(above, mu, chained, first_partner, least_up)
    k, most = 0, -np.inf
    for j in range(n_nodes):
        most = most if chained else -np.inf
        while k < n_nodes and first_partner[k] <= j:  # the low terms that can pair with node j
            most = max(most, below[k])
            k += 1
        for e in range(first[j], first[j + 1]):
            x = f[row[e]]
            by_term[e] = max(most - x - up[e], x + low[e] - least_up[j])
    largest = -np.inf
    for j in range(n_nodes):
        largest = max(largest, below[j] - least_up[j])
    return largest


@loop
def _starts(subset, node, first):
    """Where the terms of each node begin in a subset that is sorted by node."""
    first[0] = h = 0
    for j in range(len(first) - 1):
        while h < len(subset) and node[subset[h]] == j:
            h += 1
        first[j + 1] = h


@loop
def _workspace(n_nodes):
    """Arrays for `brackets` and `_partners`."""
    above, below, least_up = np.empty(n_nodes), np.empty(n_nodes), np.empty(n_nodes)
    at_above, at_below = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    first_partner = np.empty(n_nodes, np.int64)
    return above, below, least_up, at_above, at_below, first_partner


@loop
def _select_working_set(by_term, violation, limited, working):
    """Write the numbers of the most violating terms to ``working``, their count to its end.

    Where too many violate alike, as at the start, evenly spaced ones are taken. If not
    ``limited``, all terms are.
    """
    working[-1] = seen = 0
    threshold, stride = _working_threshold(by_term, violation) if limited else (-np.inf, 1)
    for e in range(len(by_term)):
        if by_term[e] >= threshold:
            if seen % stride == 0:
                working[working[-1]] = e
                working[-1] += 1
            seen += 1


@loop
def _working_threshold(by_term, violation):
    """Violation threshold for the working set, and the stride if too many terms exceed it."""
    counts = np.zeros(_BINS + 1, np.int64)
    for v in by_term:
        if v > 0.0:
            counts[min(int(_BINS * v / violation), _BINS)] += 1
    b, total = _BINS - 1, counts[_BINS] + counts[_BINS - 1]
    while b > _WORKING_SHARE * _BINS and total + counts[b - 1] <= _WORKING_SIZE:
        b -= 1
        total += counts[b]
    return b * violation / _BINS, max(1, total // _WORKING_SIZE)


@loop
def classify_terms(sign, target, upper, alpha, up, low):
    """Set ``up`` and ``low`` of every term."""
    for e in range(len(alpha)):
        _classify_term(e, sign, target, upper, alpha, up, low)


@loop
def _classify_term(e, sign, target, upper, alpha, up, low):
    """Set ``up`` and ``low`` of a term: F - f if it is up or low, an infinity if not."""
    rises, falls = alpha[e] < upper[e], alpha[e] > 0.0
    if sign[e] < 0.0:
        rises, falls = falls, rises
    up[e] = -target[e] if rises else np.inf
    low[e] = -target[e] if falls else -np.inf
