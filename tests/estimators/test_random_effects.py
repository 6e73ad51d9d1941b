"""Random effects of `OrdinalRegression`: reference values, groups known and new, refusals."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ordinality import OrdinalRegression

VECTORS = json.loads((Path(__file__).parents[1] / "linear-vectors.json").read_text("utf-8"))
CASES = {case["id"]: case for case in VECTORS["cases"]}


@pytest.fixture(scope="module")
def wine(data_dir):
    table = pd.read_csv(data_dir / "ordinal" / "wine_bitterness.csv")
    X = pd.DataFrame(
        {
            "judge": "judge " + table["judge"].astype(str),
            "warm": (table["temp"] == "warm").astype(float),
            "yes": (table["contact"] == "yes").astype(float),
        }
    )
    return X, table["target"].to_numpy()


def simulated(name):
    data = pd.DataFrame(CASES[name]["data"])
    return data[["judge", "item", "x", "z"]], data["y"].to_numpy()


# ------------------------------------------------------------ reference vectors


@pytest.mark.parametrize(
    ("name", "link", "quadrature"),
    [
        ("laplace", "logit", 1),
        ("aghq5", "logit", 5),
        ("aghq10", "logit", "auto"),
        ("probit_laplace", "probit", 1),
        ("probit_aghq10", "probit", "auto"),
    ],
)
def test_the_judges_of_wine_have_the_reference_effects(wine, name, link, quadrature):
    X, y = wine
    expected = CASES["wine-random-judge"]["expected"][name]
    model = OrdinalRegression(link, random="judge", quadrature=quadrature).fit(X, y)
    assert_allclose(model.parameters_, expected["estimate"], atol=1e-6)
    assert model.log_likelihood_ == pytest.approx(expected["log_likelihood"], abs=1e-8)
    errors = np.sqrt(np.diag(model.covariance_))
    assert_allclose(errors, expected["standard_error"], rtol=1e-5)
    assert model.random_sd_["judge"] ** 2 == pytest.approx(expected["judge_variance"], abs=1e-6)
    effects = model.random_effects_["judge"]
    assert effects.groups[0] == "judge 1"
    assert_allclose(effects.modes[:, 0], expected["conditional_mode"], atol=1e-6)
    assert_allclose(effects.deviations[:, 0], expected["conditional_sd"], atol=1e-6)
    assert model.converged_
    assert_array_equal(model.parameter_names_[-3:], ["warm", "yes", "judge: log sd(intercept)"])


@pytest.mark.parametrize("name", ["simulated-crossed", "simulated-crossed-edge"])
def test_crossed_effects_are_the_reference_ones(name):
    X, y = simulated(name)
    expected = CASES[name]["expected"]["laplace"]
    model = OrdinalRegression(random=["judge", "item"]).fit(X, y)
    assert_allclose(model.parameters_, expected["estimate"], atol=1e-6)
    assert model.log_likelihood_ == pytest.approx(expected["log_likelihood"], abs=1e-8)
    for column, V in zip(["judge", "item"], expected["covariance_of_effects"], strict=True):
        assert_allclose(model.random_covariance_[column], V, atol=1e-6)


def test_a_slope_has_the_reference_covariance():
    X, y = simulated("simulated-slope")
    expected = CASES["simulated-slope"]["expected"]["laplace"]
    model = OrdinalRegression(random=("judge", "z")).fit(X.drop(columns="item"), y)
    assert_allclose(model.parameters_, expected["estimate"], atol=1e-6)
    assert_allclose(
        model.random_covariance_["judge"], expected["covariance_of_effects"][0], atol=1e-6
    )
    errors = np.sqrt(np.diag(model.covariance_))
    assert_allclose(errors, expected["standard_error"], rtol=1e-5)
    assert model.random_sd_["judge"].shape == (2,)
    assert model.random_effects_["judge"].effects == ("intercept", "z")


# ------------------------------------------------------------ predictions


def test_a_new_judge_is_integrated_over_and_a_known_one_is_known(wine):
    X, y = wine
    expected = CASES["wine-random-judge"]["expected"]["laplace"]
    model = OrdinalRegression(random="judge", quadrature=1).fit(X, y)
    cells = pd.DataFrame({"judge": "nobody", "warm": [0, 1, 0, 1], "yes": [0, 0, 1, 1]})
    assert_allclose(model.predict_level_proba(cells), expected["new_judge_cells"], atol=1e-8)
    assert_allclose(model.predict_latent(cells), cells[["warm", "yes"]] @ model.coef_)
    known = cells.assign(judge="judge 1")
    effect = model.random_effects_["judge"].modes[0, 0]
    assert_allclose(model.predict_latent(known) - model.predict_latent(cells), effect)
    at_mode = np.array(expected["judge_1_warm_yes_at_mode"])
    proba = model.predict_level_proba(known)[3]
    # Averaged over what is not known of the judge, the levels are more spread than at the mode.
    assert proba.max() < at_mode.max()
    assert proba.argmax() == at_mode.argmax()


def test_containers_and_codes_of_groups_do_not_matter(wine):
    X, y = wine
    codes = X.assign(judge=pd.factorize(X["judge"])[0])
    tables = [
        X,
        pl.DataFrame(X.to_dict("list")),
        X.assign(judge=X["judge"].astype("category")),
        codes,
        X.to_numpy(dtype=object),
        codes.to_numpy(dtype=float),
        X.to_numpy(dtype=object).tolist(),
    ]
    fits = [OrdinalRegression(random=0).fit(table, y) for table in tables]
    for model, table in zip(fits[1:], tables[1:], strict=True):
        assert_allclose(model.parameters_, fits[0].parameters_, atol=1e-9)
        assert_allclose(model.predict_proba(table), fits[0].predict_proba(X), atol=1e-9)
        assert model.n_features_in_ == 3


def test_a_nominal_effect_stands_beside_random_ones():
    X, y = simulated("simulated-crossed")
    model = OrdinalRegression(nominal="z", random=["judge", "item"]).fit(X, y)
    plain = OrdinalRegression(random=["judge", "item"]).fit(X, y)
    assert model.log_likelihood_ > plain.log_likelihood_
    assert model.nominal_coef_.shape == (1, 3)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_a_model_survives_pickling_and_cloning(wine):
    X, y = wine
    model = OrdinalRegression(random="judge").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).fit(X, y).log_likelihood_ == model.log_likelihood_


# ------------------------------------------------------------ inference


def test_the_test_of_a_variance_is_halved(wine):
    X, y = wine
    expected = CASES["wine-random-judge"]["expected"]["variance_test"]
    large = OrdinalRegression(random="judge", quadrature=1).fit(X, y)
    small = OrdinalRegression().fit(X.drop(columns="judge"), y)
    found = small.compare(large)
    assert found.statistic == pytest.approx(expected["statistic"], abs=1e-6)
    assert found.p_value == pytest.approx(expected["p_half_half"], rel=1e-6)
    assert found.df == 1
    assert large.aic() == pytest.approx(2 * 7 - 2 * large.log_likelihood_)


def test_a_slope_is_tested_with_one_and_two_degrees_of_freedom():
    X, y = simulated("simulated-slope")
    X = X.drop(columns="item")
    one = OrdinalRegression(random="judge", quadrature=1).fit(X, y)
    two = OrdinalRegression(random=("judge", "z")).fit(X, y)
    found = one.compare(two)
    tails = stats.chi2.sf(found.statistic, [1, 2])
    assert found.df == 2
    assert found.p_value == pytest.approx(tails.mean())


def test_the_summary_describes_the_groups(wine):
    X, y = wine
    text = str(OrdinalRegression(random="judge").fit(X, y).summary())
    assert "random effects of judge: 9 groups, intercept sd 1.1348" in text
    assert "judge: log sd(intercept)" in text
    X, y = simulated("simulated-slope")
    model = OrdinalRegression(random=("judge", "z")).fit(X.drop(columns="item"), y)
    assert "correlation -0.020" in str(model.summary())


def test_a_variance_of_zero_and_small_groups_are_noted():
    rng = np.random.default_rng(5)
    X = np.column_stack([np.arange(120) % 40, np.arange(120) // 4, rng.normal(size=120)])
    y = np.digitize(X[:, 2] + rng.logistic(size=120), [-1.0, 1.0])
    model = OrdinalRegression(random=[0, 1]).fit(X, y)
    assert model.random_sd_["x0"] == 0.0 or model.random_sd_["x1"] == 0.0
    notes = " ".join(model.notes_)
    assert "estimated as zero" in notes
    assert "3.0 rows on average; with fewer than five" in notes
    assert "-inf" in str(model.summary())
    X[0, 0] = 99.0
    assert "1 of 41 groups of 'x0' have one row" in " ".join(
        OrdinalRegression(random=0).fit(X, y).notes_
    )


def test_groups_that_determine_the_level_are_noted():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 4)
    X = np.column_stack([group, rng.normal(size=120)])
    model = OrdinalRegression(random=0).fit(X, group % 3)
    assert "nearly determine the level" in " ".join(model.notes_)
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_a_search_without_a_maximum_is_warned_of():
    # Cauchy noise with crossed groups: the approximation grows to where the mode is lost.
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 40, (150, 2))
    X = np.column_stack([groups, rng.normal(size=150)])
    latent = 3 * (rng.normal(size=40)[groups[:, 0]] + rng.normal(size=40)[groups[:, 1]])
    y = np.digitize(latent + rng.logistic(size=150), [-1.0, 0.0, 1.0])
    with pytest.warns(ConvergenceWarning, match="not log-concave"):
        model = OrdinalRegression("cauchit", random=[0, 1]).fit(X, y)
    assert not model.converged_
    assert np.all(np.isfinite(model.predict_proba(X)))


# ------------------------------------------------------------ intervals and residuals


def moved(model, parameters):
    """A copy of a model whose estimates are others; modes of known groups are held."""
    other = pickle.loads(pickle.dumps(model))
    other.parameters_ = parameters
    fixed, random = other._n_fixed, other._random
    other.thresholds_ = other._linear().J @ parameters[: other._linear().A.size]
    other.coef_ = parameters[fixed - len(other.coef_) : fixed]
    at, factors = fixed, []
    for L in random.factors:
        new = np.zeros_like(L)
        size = len(L) * (len(L) + 1) // 2
        new[np.tril_indices(len(L))] = parameters[at : at + size]
        new[np.diag_indices(len(L))] = np.exp(np.diagonal(new))
        at, factors = at + size, [*factors, new]
    held = replace(random.posterior, factors=tuple(factors))
    other._random = replace(random, factors=tuple(factors), posterior=held)
    return other


@pytest.mark.parametrize(
    ("link", "random"),
    [
        ("logit", ["judge", "item"]),
        ("probit", ("judge", "z")),
        ("cloglog", ["judge", "item"]),
        ("loglog", ("judge", "z")),
        ("cauchit", "judge"),
    ],
    ids=str,
)
def test_slopes_of_intervals_agree_with_central_differences(link, random):
    X, y = simulated("simulated-crossed")
    model = OrdinalRegression(link, random=random)
    X = X if isinstance(random, list) else X.drop(columns="item")
    model.fit(X, y)
    rows = X[:6].assign(judge=-1)
    if "item" in X:
        rows["item"] = -1
    table = rows.astype(float)
    parts = model._estimated(table)[:2]
    effects = (*model._random.moments(table), model._random.variance_slopes(table))
    P, slopes = model._linear().averaged_slopes(*parts, *effects)
    assert_allclose(P, model.predict_level_proba(table), atol=1e-12)
    h = 1e-5
    for j, at in enumerate(model.parameters_):
        step = h * np.eye(len(model.parameters_))[j]
        if not np.isfinite(at):
            continue
        up, down = (
            moved(model, model.parameters_ + s * step).predict_level_proba(table)
            for s in (1, -1)
        )
        assert_allclose(slopes[:, :, j], (up - down) / (2 * h), atol=1e-8)


def test_the_interval_of_a_known_group_holds_its_mode(wine):
    X, y = wine
    model = OrdinalRegression(random="judge").fit(X, y)
    new = model.predict_interval(X[:4].assign(judge="nobody"))
    known = model.predict_interval(X[:4])
    assert_allclose(known.proba, model.predict_level_proba(X[:4]), atol=1e-12)
    assert np.all((known.lower < known.proba) & (known.proba < known.upper))
    # Only a new judge has the error of the variance.
    held = clone(model).fit(X, y)
    held.covariance_[-1] = held.covariance_[:, -1] = 0.0
    assert_array_equal(held.predict_interval(X[:4]).standard_error, known.standard_error)
    assert np.all(
        held.predict_interval(X[:4].assign(judge="nobody")).standard_error != new.standard_error
    )


def test_residuals_given_the_modes_are_those_of_an_offset(wine):
    X, y = wine
    model = OrdinalRegression(random="judge").fit(X, y)
    residuals = model.residuals("probability")
    effects = model.random_effects_["judge"]
    own = effects.modes[np.searchsorted(effects.groups, X["judge"]), 0]
    latent = X[["warm", "yes"]].to_numpy() @ model.coef_ + own
    ends = np.concatenate([[-np.inf], model.thresholds_, [np.inf]])
    F = stats.logistic.cdf(ends - latent[:, None])
    at = np.arange(len(y)), np.searchsorted(model.levels_, y)
    assert_allclose(residuals, F[at] + F[at[0], at[1] + 1] - 1.0, atol=1e-9)
    draws = model.residuals("quantile", random_state=1)
    assert np.all((F[at] <= draws) & (draws <= F[at[0], at[1] + 1]))
    assert_allclose(
        stats.logistic.cdf(model.residuals("surrogate", random_state=1)), draws, atol=1e-12
    )


def test_quantile_residuals_of_a_true_model_are_nearly_uniform():
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(30), 40)
    X = np.column_stack([group, rng.normal(size=1200)])
    y = np.digitize(X[:, 1] + rng.normal(size=30)[group] + rng.logistic(size=1200), [-1, 1])
    draws = OrdinalRegression(random=0).fit(X, y).residuals("quantile")
    assert stats.kstest(draws, "uniform").pvalue > 0.01
    plain = OrdinalRegression().fit(X[:, 1:], y).residuals("surrogate")
    within = [plain[group == g].mean() for g in range(30)]
    taken = OrdinalRegression(random=0).fit(X, y).residuals("surrogate")
    assert np.std([taken[group == g].mean() for g in range(30)]) < 0.5 * np.std(within)


# ------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"random": "juge"}, "'juge', which X does not have"),
        ({"random": 9}, "column 9"),
        ({"random": "judge", "scale": "warm"}, "cannot be combined with scale='warm'"),
        ({"random": "judge", "penalty": "l2"}, "cannot be combined with penalty='l2'"),
        (
            {"random": "judge", "nominal": "judge"},
            "'judge' groups rows and cannot have a nominal",
        ),
        ({"random": "judge", "quadrature": 0}, "quadrature=0 must be a whole number"),
        ({"random": "judge", "quadrature": "many"}, "quadrature='many' must be a whole number"),
        ({"random": ["judge", "warm"], "quadrature": 5}, "takes one random term"),
    ],
)
def test_what_cannot_be_fitted_is_refused(wine, settings, message):
    X, y = wine
    with pytest.raises(ValueError, match=message):
        OrdinalRegression(**settings).fit(X, y)


def test_missing_groups_are_refused_in_fit_and_predict(wine):
    X, y = wine
    model = OrdinalRegression(random="judge").fit(X, y)
    X = X.assign(judge=X["judge"].where(X["judge"] != "judge 2"))
    for call in (model.predict_proba, lambda table: model.fit(table, y)):
        with pytest.raises(ValueError, match="grouping column 'judge' contains (None|nan)"):
            call(X)


def test_proportional_odds_are_tested_by_comparison_with_a_nominal_effect(wine):
    X, y = wine
    odds, nominal = (OrdinalRegression(random="judge", nominal=n) for n in (None, "yes"))
    found = odds.fit(X, y).compare(nominal.fit(X, y))
    assert (found.df, found.statistic) == (3, pytest.approx(
        2 * (nominal.log_likelihood_ - odds.log_likelihood_)
    ))  # fmt: skip


@pytest.mark.parametrize("random", ["judge", ("judge", "warm"), ["judge", "yes"]], ids=str)
def test_roots_of_averages_over_one_row_are_the_standard_errors_of_intervals(wine, random):
    X, y = wine
    model = OrdinalRegression(random=random).fit(X, y)
    same = X[X["judge"] == X["judge"][0]]
    same = same[same["yes"] == same["yes"].iloc[0]]  # blocks with the same groups
    root = model.average_proba_root(same, len(same))
    found = model.predict_interval(same).standard_error
    assert_allclose(np.sqrt(np.sum(root**2, axis=0)), found, atol=1e-10)
    assert model.average_proba_root(X[:2].assign(judge=["judge 1", "judge 2"]), 2) is None


@pytest.mark.parametrize("method", ["test_scale", "test_proportional_odds"])
def test_what_is_not_available_with_random_effects_is_said(wine, method):
    X, y = wine
    model = OrdinalRegression(random="judge").fit(X, y)
    with pytest.raises(ValueError, match="no tests of .* with random effects; (compare|fit)"):
        getattr(model, method)()
    with pytest.raises(ValueError, match="with random effects; set method='wald', or compare"):
        model.conf_int(method="profile")
    with pytest.raises(ValueError, match="kind='robust' with random effects; fit without"):
        model.covariance("robust")
    with pytest.raises(ValueError, match="with 1 and 10 nodes, .* set quadrature=1 in both"):
        model.compare(OrdinalRegression(random=["judge", "warm"]).fit(X, y))
    with pytest.raises(AttributeError, match="no random effects"):
        OrdinalRegression().fit(X.drop(columns="judge"), y).random_sd_  # noqa: B018
