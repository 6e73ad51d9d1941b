"""Comparisons agree with worked examples, with SciPy, with brute force, and never say NaN."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ordinality.experiments import compare
from ordinality.experiments.compare import listed

# Demšar (2006), table 6: areas under the curve of C4.5 in four settings on 14 sets. The ranks
# printed there are of more digits: 0.975 of the last set but one is above the 0.975 beside it.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.97501, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)
briefly = settings(max_examples=20, deadline=None)
some = st.lists(st.integers(0, 4), min_size=1, max_size=12)


def sample(n=12, k=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, k)) + 0.3 * np.arange(k)


# ------------------------------------------------------------------------------ two methods


def test_the_signed_ranks_of_demsars_example():
    # Section 3.1.3: R+ = 93, R- = 12, one of the two ties on either side.
    assert compare.signed_rank(DEMSAR[:, 0], DEMSAR[:, 1]).statistic == 12


@pytest.mark.parametrize("seed", range(3))
def test_wilcoxon_tests_agree_with_scipy(seed):
    a, b, _ = sample(seed=seed).T
    paired, apart = stats.wilcoxon(a, b), stats.mannwhitneyu(a, b)
    assert compare.signed_rank(a, b) == pytest.approx((paired.statistic, paired.pvalue))
    assert compare.rank_sum(a, b) == pytest.approx((apart.statistic, apart.pvalue))


def test_the_rank_sum_of_five_against_five_counted_by_hand():
    # All five below all five: 2 of the C(10, 5) = 252 orders are as extreme.
    found = compare.rank_sum([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])
    assert found == pytest.approx((0.0, 2 / 252))


@briefly
@given(some)
def test_equal_scores_never_differ(values):
    assert compare.rank_sum(values, values).p_value > 0.5
    assert compare.signed_rank(values, values).p_value == 1
    assert compare.corrected_t(np.zeros(len(values)), 0.1).p_value == 1
    assert compare.bayesian_signed_rank(values, values, 0.1, draws=100) == (0, 1, 0)


@briefly
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6))
def test_swapping_the_methods_swaps_the_outcome(pairs):
    a, b = np.array(pairs, dtype=float).T
    assert compare.signed_rank(a, b) == pytest.approx(compare.signed_rank(b, a))
    assert compare.rank_sum(a, b).p_value == pytest.approx(compare.rank_sum(b, a).p_value)
    one, other = (compare.bayesian_signed_rank(*x, 0.5, draws=200) for x in ((a, b), (b, a)))
    assert one == pytest.approx(other[::-1])
    assert sum(one) == pytest.approx(1)
    assert not np.any(np.isnan([*compare.corrected_t(a - b, 0.1), *one]))


def test_the_corrected_test_is_students_when_no_rows_are_shared():
    z = sample()[:, 0]
    theirs = stats.ttest_1samp(z, 0)
    found = compare.corrected_t(z)
    assert (found.statistic, found.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval()))


def test_the_correction_adds_the_ratio_of_test_to_training_rows():
    z = sample(100)[:, 0]
    plain, corrected = compare.corrected_t(z), compare.corrected_t(z, 0.1)
    # Nadeau & Bengio: 1/100 becomes 1/100 + 0.1/0.9.
    assert (plain.statistic / corrected.statistic) ** 2 == pytest.approx(1 + 100 / 9)


def test_a_difference_without_spread_is_certain_and_one_alone_says_nothing():
    assert compare.corrected_t([0.5, 0.5, 0.5]) == (0.5, 0.5, 0.5, np.inf, 0.0)
    alone = compare.corrected_t([0.5])
    assert alone.p_value == 1
    assert np.isinf(alone.high)
    assert compare.signed_rank([1.0], [2.0]).p_value == 1


def test_two_blocks_under_the_bayesian_test_agree_with_their_closed_form():
    # One block with a - b = -1 and the pseudo-observation 0, rope 0.1: the pairwise means are
    # -1 (w²), -0.5 (2w(1-w)) and 0 ((1-w)²). The left wins when (1-w)² < 1/2, with
    # 1-w ~ Beta(1/2, 1).
    expected = stats.beta(0.5, 1).cdf(np.sqrt(0.5))
    found = compare.bayesian_signed_rank([0.0], [1.0], 0.1, draws=200_000)
    assert found.p_left == pytest.approx(expected, abs=0.004)  # three standard errors
    assert found.p_right == 0


def test_the_bayesian_test_agrees_with_brute_force_over_the_same_draws():
    a, b, _ = sample(5).T
    z = np.append(0.0, a - b)
    wins = np.zeros(3)
    for w in np.random.default_rng(3).dirichlet([0.5, 1, 1, 1, 1, 1], 300):
        held = np.zeros(3)
        for i, j in product(range(6), repeat=2):
            mean = (z[i] + z[j]) / 2
            held[0 if mean < -0.2 else 2 if mean > 0.2 else 1] += w[i] * w[j]
        wins[held.argmax()] += 1
    found = compare.bayesian_signed_rank(a, b, 0.2, draws=300, seed=3)
    assert found == pytest.approx(wins / 300)


def test_one_seed_gives_one_answer():
    a, b, _ = sample(8).T
    first, again, other = (
        compare.bayesian_signed_rank(a, b, 0.2, draws=500, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again != other


# ------------------------------------------------------------------------------ several methods


def test_friedmans_test_of_demsars_example():
    # Section 3.2.4: ranks 3.143, 2.000, 2.893, 1.964; chi² = 9.28, F = 3.69.
    found = compare.friedman(-DEMSAR)  # areas: the higher is the better
    assert found.mean_ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found.chi_square == pytest.approx(9.28, abs=0.005)
    assert found.statistic == pytest.approx(3.69, abs=0.005)
    assert found.p_value < 0.05  # F(3, 39) is 2.85 at that level


def test_friedmans_statistic_without_ties_is_scipys():
    scores = sample(10, 4)
    assert compare.friedman(scores).chi_square == pytest.approx(
        stats.friedmanchisquare(*scores.T).statistic
    )


def test_friedmans_test_of_equal_alone_and_unanimous_blocks():
    equal = compare.friedman(np.ones((5, 3)))
    assert (equal.statistic, equal.p_value) == (0, 1)
    assert compare.friedman([[1, 2, 3]]).p_value == 1
    assert compare.friedman([[1, 1, 3]]).p_value == 1
    unanimous = compare.friedman(np.tile([1, 2, 3], (4, 1)))
    assert unanimous.statistic == np.inf
    assert unanimous.p_value == pytest.approx(1 / 6**3)  # 6 orders out of 6^4


@pytest.mark.parametrize(
    ("k", "alpha", "q"),
    # Demšar (2006), table 5 (a).
    [(2, 0.05, 1.960), (5, 0.05, 2.728), (10, 0.05, 3.164), (4, 0.10, 2.291)],
)
def test_nemenyis_critical_values_are_those_of_the_printed_table(k, alpha, q):
    n = 14
    assert compare.nemenyi_critical_difference(k, n, alpha) == pytest.approx(
        q * np.sqrt(k * (k + 1) / (6 * n)), rel=4e-4
    )


def test_holms_correction_counted_by_hand():
    # Sorted 0.01, 0.02, 0.03, 0.2 times 4, 3, 2, 1, never falling.
    assert compare.holm([0.2, 0.01, 0.03, 0.02]) == pytest.approx([0.2, 0.04, 0.06, 0.06])
    assert compare.holm([]).size == 0
    assert compare.holm([0.9, 0.8]).max() == 1


@briefly
@given(st.lists(st.floats(0, 1), max_size=8))
def test_holms_correction_lies_between_none_and_bonferronis(p):
    corrected = compare.holm(p)
    assert np.all(corrected >= p)
    assert np.all(corrected <= np.minimum(1, len(p) * np.array(p)) + 1e-15)


# ------------------------------------------------------------------------------ in words


def test_a_verdict_on_two_counts_the_blocks_and_gives_the_interval():
    rng = np.random.default_rng(0)
    a = rng.uniform(0.3, 0.4, 50)
    scores = np.stack([a + 0.03 + 0.02 * rng.normal(size=50), a], axis=1)
    said = compare.verdict(
        scores, ["svm", "gp"], measure="score", blocks="folds", test_fraction=0.1
    )
    wins = int(np.sum(scores[:, 1] < scores[:, 0]))
    assert said.startswith(f"gp has the lower score in {wins} of 50 folds.")
    assert "corrected for shared training rows" in said
    assert "the difference is significant" in said


def test_a_verdict_on_independent_blocks_uses_the_signed_ranks():
    said = compare.verdict(DEMSAR[:, :2] * -1, ["plain", "tuned"], blocks="sets")
    p = compare.signed_rank(DEMSAR[:, 0], DEMSAR[:, 1]).p_value
    assert f"(p = {p:.2g})" in said
    assert "11 of 14" not in said  # two sets are equal
    assert "in 10 of 14 sets (2 equal)" in said


def test_a_verdict_on_many_names_those_that_are_beaten_and_those_that_are_not():
    rng = np.random.default_rng(1)
    base = rng.normal(size=30)
    noise = 0.1 * rng.normal(size=(30, 3))
    scores = base[:, None] + noise + [0.0, 0.001, 1.0]
    said = compare.verdict(scores, ["a", "b", "c"], blocks="sets")
    assert "the methods differ (Friedman" in said
    assert said.index("It is better than c") < said.index("It cannot be told apart from")
    assert "Friedman" not in compare.verdict(scores, ["a", "b", "c"], test_fraction=0.2)


def test_a_verdict_on_equals_or_on_one_block_claims_nothing():
    assert compare.verdict(np.ones((4, 2)), ["a", "b"], blocks="folds") == (
        "a and b have the same error in every one of 4 folds."
    )
    said = compare.verdict([[1.0, 2.0]], ["a", "b"], blocks="folds", test_fraction=0.2)
    assert "may be chance (p = 1)" in said
    assert "inf" not in said
    assert "nan" not in said


def test_a_list_of_names_reads_as_english():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"


def test_the_best_of_several_and_a_tie_are_worded_exactly():
    ours, theirs = np.array([0.1, 0.2]), np.array([0.3, 0.2])
    assert compare.verdict(np.column_stack([ours, theirs]), ["gp", "svm"], blocks="sets") == (
        "gp has the lower error in 1 of 2 sets (1 equal). Its mean is 0.15 against 0.25 of "
        "svm, lower by 0.1 (95 % interval -1.17 to 1.37); the difference may be chance (p = 1)."
    )
    scores = np.array([[0.1, 0.2, 0.11], [0.1, 0.2, 0.11], [0.1, 0.3, 0.11]])
    assert compare.verdict(
        scores, ["gp", "svm", "boost"], blocks="folds", test_fraction=0.2
    ) == (
        "Of 3 methods gp has the lowest mean error, 0.1 over 3 folds. It is better than boost "
        "(by 0.01, p < 0.0001). It cannot be told apart from svm (by 0.133, p = 0.094). "
        "(p-values corrected for their number by Holm's method.)"
    )


# ------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: compare.rank_sum([], [1]), "a has shape .* one finite score"),
        (lambda: compare.signed_rank([1, 2], [1]), "a has 2 scores and b has 1"),
        (lambda: compare.signed_rank([1, np.nan], [1, 1]), "1 values that are not numbers"),
        (lambda: compare.friedman([[1, 2], [3, np.inf]]), "1 values that are not finite"),
        (lambda: compare.friedman([1, 2]), "a row for each block"),
        (lambda: compare.holm([2.0]), "from 0 to 1"),
        (lambda: compare.corrected_t([1, 2], 1.0), "test_fraction is 1.0"),
        (lambda: compare.bayesian_signed_rank([1], [2], -1), "rope is -1"),
        (lambda: compare.nemenyi_critical_difference(1, 5), "at least two methods"),
        (lambda: compare.verdict([[1, 2]], ["a"]), "1 names for 2 columns"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        wrong()
