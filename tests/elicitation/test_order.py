"""What answers tell about the order of all items: against fits with either answer."""

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.special import entr, ndtr
from scipy.stats import spearmanr

from ordinality import PreferenceGP
from ordinality.elicitation import gains, information_gain, next_pair, order_gain, questions


class Shop:
    """Items with two features, compared with noise."""

    def __init__(self, n=12, m=40):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(n, 2))
        f = 2.0 * self.X[:, 0] + 0.3 * rng.normal(size=n)
        self.pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
        gap = f[self.pairs[:, 0]] - f[self.pairs[:, 1]] + 0.3 * rng.normal(size=m)
        self.answers = np.where(gap > 0, 1, -1)


def all_pairs(n):
    return np.column_stack(np.triu_indices(n, 1))


def known(cov):
    """A model with that covariance, and an answer about two more items that says nothing."""
    gram = block_diag(cov, 1e-6 * np.eye(2))
    model = PreferenceGP(gram, "precomputed", item_effects=False, optimizer=None)
    return model.fit([[len(cov), len(cov) + 1]])


def order_entropy(model):
    """Bits that are missing to the order of every pair of items, summed."""
    mean, cov = model.posterior()
    i, j = all_pairs(len(mean)).T
    variance = cov[i, i] + cov[j, j] - 2 * cov[i, j]
    p = ndtr((mean[i] - mean[j]) / np.sqrt(variance))
    return float((entr(p) + entr(1 - p)).sum() / np.log(2))


def learnt_of_the_order(noise, pairs):
    """Promised by `order_gain`, and found by fitting anew with either answer."""

    shop = Shop()

    def fitted(*further):
        model = PreferenceGP(shop.X, "gaussian", optimizer=None, noise=noise)
        if not further:
            return model.fit(shop.pairs, shop.answers)
        pair, answer = further
        return model.fit(np.r_[shop.pairs, [pair]], np.r_[shop.answers, answer])

    model = fitted()
    chances = model.predict_proba(pairs)
    after = [[order_entropy(fitted(pair, answer)) for answer in (-1, 1)] for pair in pairs]
    promised = order_gain(model.snapshot(None), pairs)
    return promised, order_entropy(model) - np.sum(chances * after, axis=1)


def test_an_answer_that_changes_little_tells_of_the_order_what_was_promised():
    promised, found = learnt_of_the_order(10.0, all_pairs(12)[::5])
    np.testing.assert_allclose(promised, found, rtol=0.03)


def test_answers_that_change_much_are_put_in_the_right_order():
    promised, found = learnt_of_the_order(0.5, all_pairs(12)[::2])
    assert spearmanr(promised, found).statistic > 0.95
    assert found[np.argmax(promised)] > 0.9 * found.max()


def test_the_order_of_many_items_is_extrapolated(monkeypatch):
    big = Shop(n=300, m=100)
    model = PreferenceGP(big.X, "gaussian", optimizer=None).fit(big.pairs, big.answers)
    model = model.snapshot(None)
    full = order_gain(model, big.pairs[:20])
    monkeypatch.setattr(gains, "_ITEMS", 150)
    some = [order_gain(model, big.pairs[:20], random_state=seed) for seed in range(12)]
    assert np.std(some, axis=0).min() > 0.0
    np.testing.assert_allclose(np.mean(some, axis=0), full, rtol=0.1)


def test_order_asks_where_the_answer_says_most_about_others():
    # 0 to 4 move together, as do 5 to 9; 10 and 11 are alone, and as uncertain.
    family = np.full((5, 5), 0.9) + 0.1 * np.eye(5)
    model = known(block_diag(family, family, np.eye(2)))
    families = {frozenset((i, j)) for i in range(5) for j in range(5, 10)}
    assert frozenset(next_pair(model)[0].tolist()) in families
    lone, related = information_gain(model, [[10, 11], [0, 5]])
    assert lone == pytest.approx(related, rel=1e-9)


def test_order_looks_beyond_the_items_that_may_be_asked(monkeypatch):
    # Of three single items, 0 has relatives that cannot be asked about.
    family = np.full((6, 6), 0.95) + 0.05 * np.eye(6)
    model = known(block_diag(family, np.eye(2)))
    for room in (400, 6):
        monkeypatch.setattr(questions, "_ITEMS", room)
        for seed in range(3):
            candidates = [[6, 7], [0, 6]]
            (pair,) = next_pair(model, candidates=candidates, random_state=seed)
            assert pair.tolist() == [0, 6]
