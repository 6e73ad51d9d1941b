"""PreferenceGP on published studies, of people and of lizards."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from ordinality import PreferenceGP, metrics

pd = pytest.importorskip("pandas")


def test_models_of_a_season_rank_by_their_wins(data_dir):
    # 192 judges, all 15 pairs of six candidates (Strobl et al., 2011).
    table = pd.read_csv(data_dir / "preference" / "topmodel2007.csv.gz")
    names = np.unique(table[["item_a", "item_b"]])
    pairs = np.searchsorted(names, table[["item_a", "item_b"]])
    answers = np.where(table["prefers_a"] == 1, 1, -1)
    model = PreferenceGP().fit(pairs, answers)
    winner = np.where(answers > 0, pairs[:, 0], pairs[:, 1])
    wins = np.bincount(winner, minlength=len(names))
    assert model.fit_.problem.y.size == 30  # 2880 answers, 15 pairs, two answers to each
    assert spearmanr(model.utility().mean, wins).statistic > 0.99
    # Every pair was asked 192 times: probabilities are the frequencies, nearly.
    for a, b in np.unique(pairs, axis=0)[[0, 6, 11]]:
        asked = np.all(pairs == [a, b], axis=1)
        share = np.mean(answers[asked] > 0)
        assert model.predict_proba([[a, b]])[0, 1] == pytest.approx(share, abs=0.08)


def test_size_tells_who_wins_a_contest_of_lizards(data_dir):
    # 100 contests of 77 lizards (Whiting et al., 2006); most fought two or three times.
    contests = pd.read_csv(data_dir / "preference" / "flatlizards_contests.csv")
    lizards = pd.read_csv(data_dir / "preference" / "flatlizards_predictors.csv")
    number = {name: i for i, name in enumerate(lizards["lizard"])}
    pairs = contests.map(number.get).to_numpy()
    features = lizards[["throat_PC1", "throat_PC3", "head_length", "SVL"]]
    whole = features.fillna(features.mean())
    errors = {"features": [], "none": []}
    for fold in range(5):
        test = np.arange(100) % 5 == fold
        for name, items in (("features", whole), ("none", 77)):
            model = PreferenceGP(items).fit(pairs[~test])
            errors[name].append(metrics.pair_error(np.ones(20), model.predict(pairs[test])))
    assert np.mean(errors["features"]) < np.mean(errors["none"])
    assert np.mean(errors["features"]) < 0.42


def test_ratings_and_comparisons_of_sushi_beat_either_alone(data_dir):
    folder = data_dir / "research_only"
    items = pd.read_csv(folder / "sushi3_items.csv")
    X = items[["style", "oiliness", "freq_eaten", "price", "freq_sold"]]
    orders = pd.read_csv(folder / "sushi3b_orders.csv.gz").drop(columns="user").to_numpy()
    table = pd.read_csv(folder / "sushi3b_scores.csv.gz")
    score = table.set_index(["user", "item"])["score"]
    errors = []
    for draw in range(5):
        rng = np.random.default_rng(draw)
        people = rng.permutation(len(orders))
        judges, raters, others = people[:150], people[150:300], people[300:2300]
        pairs, test = (
            np.array([orders[who, np.sort(rng.choice(10, 2, replace=False))] for who in group])
            for group in (judges, others)
        )
        rated = orders[raters, rng.integers(10, size=150)]
        ratings = (rated, score.loc[list(zip(raters, rated, strict=True))].to_numpy())
        none = np.empty((0, 2))
        errors.append(
            [
                1.0 - PreferenceGP(X).fit(compared, ratings=stars).score(test)
                for compared, stars in ((pairs, ratings), (pairs, None), (none, ratings))
            ]
        )
    both, compared, rated = np.mean(errors, axis=0)
    assert both < compared
    assert both < rated
