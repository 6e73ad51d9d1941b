"""OrdinalRegression: the reference vectors, the laws of the model, and what it says of data."""

import json
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ordinality import OrdinalRegression
from ordinality.cumulative.links import LINKS

pd = pytest.importorskip("pandas")

VECTORS = json.loads((Path(__file__).parents[1] / "linear-vectors.json").read_text("utf-8"))
EXPECTED = {case["id"]: case["expected"] for case in VECTORS["cases"]}
FOLDER = Path(os.environ.get("ORDINALITY_DATA", "/nowhere")) / "ordinal"

needs_data = pytest.mark.skipif(not FOLDER.is_dir(), reason="the folder of data sets is absent")


def read(name):
    return pd.read_csv(FOLDER / name)


def wine():
    table = read("wine_bitterness.csv")
    warm, yes = table["temp"] == "warm", table["contact"] == "yes"
    return pd.DataFrame({"warm": warm * 1.0, "yes": yes * 1.0}), table["target"], table


def housing():
    table = read("housing_satisfaction.csv")
    columns = {}
    for variable, kinds in HOUSING.items():
        for kind in kinds:
            found = next(c for c in table.columns if c.lower().startswith(variable.lower()))
            columns[variable + kind] = (table[found].astype(str) == kind) * 1.0
    return pd.DataFrame(columns), table["target"], table["weight"]


HOUSING = {
    "Infl": ["Medium", "High"],
    "Type": ["Apartment", "Atrium", "Terrace"],
    "Cont": ["High"],
}


def meets(model, expected):
    """The bars of the vectors: estimates 1e-8, log-likelihood 1e-9, deviations 1e-8."""
    assert_allclose(model.parameters_, expected["estimate"], rtol=1e-8, atol=1e-8)
    assert model.log_likelihood_ == pytest.approx(expected["log_likelihood"], abs=1e-9)
    if "standard_error" in expected:
        deviations = np.sqrt(np.diagonal(model.covariance_))
        assert_allclose(deviations, expected["standard_error"], rtol=1e-8)
    if "covariance" in expected:
        for i, row in enumerate(expected["covariance"]):
            assert_allclose(model.covariance_[i, : i + 1], row, rtol=1e-8, atol=1e-9)
    if "aic" in expected:
        assert model.aic() == pytest.approx(expected["aic"], abs=1e-8)
        assert model.bic() == pytest.approx(expected["bic"], abs=1e-8)
    assert model.converged_


def triple(tests, row, p="LR p"):
    at = tests.names.index(row)
    return [tests.columns[name][at] for name in ("LR", "df", p)]


# ------------------------------------------------------------ vectors


@needs_data
def test_the_wine_is_as_r_has_it():
    X, y, _ = wine()
    expected = EXPECTED["wine-proportional-odds"]
    model = OrdinalRegression().fit(X, y)
    meets(model, expected)
    assert model.parameter_names_.tolist() == expected["names"]
    assert model.null_log_likelihood_ == pytest.approx(expected["null_log_likelihood"])
    assert model.pseudo_r2() == pytest.approx(expected["mcfadden"], abs=1e-10)
    assert model.pseudo_r2("nagelkerke") == pytest.approx(expected["nagelkerke"], abs=1e-10)
    profile = model.conf_int(method="profile")[4:]
    assert_allclose(profile, list(expected["profile_95"].values()), atol=1e-6)
    odds, scale = model.test_proportional_odds(), model.test_scale()
    assert_allclose(triple(odds, "yes"), expected["lr_nominal"]["yes"], atol=1e-8)
    assert odds.columns["score"][1] == pytest.approx(expected["score_nominal_yes"][0], abs=1e-8)
    for name, wanted in expected["lr_scale"].items():
        assert_allclose(triple(scale, name, "p"), wanted, atol=1e-8)
    for name, (statistic, df) in expected["lr_drop"].items():
        found = model.compare(OrdinalRegression().fit(X.drop(columns=name), y))
        assert (found.statistic, found.df) == (pytest.approx(statistic, abs=1e-8), df)
    cells = expected["cells"]
    at = pd.DataFrame(cells["rows_warm_yes"], columns=X.columns)
    assert_allclose(model.predict_level_proba(at), cells["probability"], atol=1e-10)
    found = model.predict_interval(at)
    assert_allclose(found.proba, cells["probability"], atol=1e-10)
    assert_allclose(found.standard_error, cells["standard_error"], atol=1e-10)
    assert_allclose(found.lower, cells["lower_95"], atol=1e-10)
    assert_allclose(found.upper, cells["upper_95"], atol=1e-10)
    bounds = np.array(expected["quantile_residual_bounds_first_6"])
    U = model.residuals("quantile", random_state=1)[:6]
    assert np.all((bounds[:, 0] < U) & (bounds[:, 1] > U))
    assert_allclose(model.residuals("probability")[:6], bounds.sum(axis=1) - 1, atol=1e-10)
    assert_allclose(LINKS["logit"].cdf(model.residuals(random_state=1)[:6]), U, atol=1e-12)


@needs_data
@pytest.mark.parametrize("link", EXPECTED["wine-links"])
def test_other_links_are_as_r_has_them(link):
    X, y, _ = wine()
    expected = EXPECTED["wine-links"][link]
    model = OrdinalRegression(link).fit(X, y)
    meets(model, expected)
    at = pd.DataFrame([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], columns=X.columns)
    assert_allclose(model.predict_level_proba(at), expected["cells"], atol=1e-9)


@needs_data
@pytest.mark.parametrize("kind", EXPECTED["wine-threshold-structures"])
def test_structured_thresholds_are_as_r_has_them(kind):
    X, y, _ = wine()
    expected = EXPECTED["wine-threshold-structures"][kind]
    model = OrdinalRegression(thresholds=kind).fit(X, y)
    meets(model, expected)
    assert_allclose(model.thresholds_, expected["thresholds"], atol=1e-8)
    assert model.parameter_names_[:-2].tolist() == expected["names"][:-2]


@needs_data
def test_nominal_and_scale_effects_are_as_r_has_them():
    X, y, table = wine()
    expected = EXPECTED["wine-nominal"]
    model = OrdinalRegression(nominal="yes").fit(X, y)
    meets(model, expected)
    assert model.parameter_names_.tolist() == expected["names"]
    assert_allclose(model.nominal_coef_, [expected["estimate"][4:8]], atol=1e-8)
    at = pd.DataFrame([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], columns=X.columns)
    assert_allclose(model.predict_level_proba(at), expected["cells"], atol=1e-9)
    assert_allclose(model.predict_interval(at).proba, expected["cells"], atol=1e-9)
    meets(OrdinalRegression(scale=["yes"]).fit(X, y), EXPECTED["wine-scale"]["a"])
    both = OrdinalRegression("probit", nominal=[1], scale=[0]).fit(X, y)
    meets(both, EXPECTED["wine-scale"]["b"])
    assert_allclose(both.scale_coef_, EXPECTED["wine-scale"]["b"]["estimate"][-1:], atol=1e-8)
    offset = 0.4 * (table["bottle"] % 3)
    meets(OrdinalRegression("loglog").fit(X, y, offset=offset), EXPECTED["wine-offset"])


@needs_data
def test_weighted_counts_are_as_r_has_them():
    X, y, weight = housing()
    expected = EXPECTED["housing-weights"]
    model = OrdinalRegression().fit(X, y, sample_weight=weight)
    meets(model, expected)
    found = model.predict_interval(pd.DataFrame(expected["newdata"], columns=X.columns))
    assert_allclose(found.proba, expected["probability"], atol=1e-10)
    assert_allclose(found.standard_error, expected["probability_se"], atol=1e-10)
    assert_allclose(found.upper, expected["upper_95"], atol=1e-10)
    assert_allclose(model.conf_int(method="profile")[2:], expected["profile_95"], atol=1e-6)
    terms = {name: [name + kind for kind in kinds] for name, kinds in HOUSING.items()}
    odds, scale = model.test_proportional_odds(terms), model.test_scale(terms)
    for name in terms:
        assert_allclose(triple(odds, name), expected["lr_nominal"][name], atol=1e-7)
        assert_allclose(triple(scale, name, "p"), expected["lr_scale"][name], atol=1e-7)
    expected = EXPECTED["housing-scale-nominal"]
    scaled = OrdinalRegression("probit", scale="ContHigh").fit(X, y, sample_weight=weight)
    meets(scaled, expected["a"])
    nominal = OrdinalRegression("cloglog", nominal="ContHigh").fit(X, y, sample_weight=weight)
    meets(nominal, expected["b"])


@needs_data
def test_robust_covariances_and_brant_are_as_r_has_them():
    table = read("wesdr_retinopathy.csv")
    X, y = table[["age", "diab", "gh", "dbp", "sex"]], table["target"]
    expected = EXPECTED["wesdr-robust"]
    model = OrdinalRegression().fit(X, y)
    meets(model, expected)
    robust = model.covariance("robust")
    assert_allclose(np.sqrt(np.diagonal(robust)), expected["se_sandwich"], rtol=1e-8)
    cluster = model.covariance("cluster", groups=table["dose"])
    assert_allclose(np.sqrt(np.diagonal(cluster)), expected["se_cluster"], rtol=1e-8)
    found = model.test_proportional_odds({**{n: [n] for n in X}, "all": list(X)})
    for name, (statistic, df, p) in expected["brant_each"].items():
        at = found.names.index(name)
        assert found.columns["Brant"][at] == pytest.approx(statistic, abs=1e-7)
        assert found.columns["Brant p"][at] == pytest.approx(p, abs=1e-8)
        assert found.columns["df"][at] == df
        assert_allclose(triple(found, name), expected["lr_nominal"][name], atol=1e-7)
        score = [found.columns[key][at] for key in ("score", "df", "score p")]
        assert_allclose(score, expected["score_nominal_each"][name], atol=1e-7)
    assert found.columns["Brant"][-1] == pytest.approx(expected["brant_omnibus"][0], abs=1e-7)
    assert found.columns["score"][-1] == pytest.approx(
        expected["score_nominal_all"][0], abs=1e-7
    )


@needs_data
def test_a_survey_has_the_linearised_covariance():
    table = read("wesdr_retinopathy.csv")
    X, y = table[["age", "diab", "gh", "dbp", "sex"]], table["target"]
    expected = EXPECTED["wesdr-robust"]["survey"]
    i = np.arange(1, len(y) + 1)
    model = OrdinalRegression().fit(X, y, sample_weight=1 + (i % 4) / 2)
    assert_allclose(model.parameters_, expected["estimate"], atol=1e-8)
    assert model.log_likelihood_ == pytest.approx(expected["log_likelihood"], abs=1e-9)
    found = model.covariance("survey", groups=i // 6, strata=i % 3)
    assert_allclose(np.sqrt(np.diagonal(found)), expected["se_linearised"], rtol=1e-8)
    # One stratum: scores sum to zero, and the factor alone is left of the sandwich's kin.
    m = len(np.unique(i // 6))
    cluster = model.covariance("cluster", groups=i // 6)
    assert_allclose(model.covariance("survey", groups=i // 6), cluster * m / (m - 1), rtol=1e-8)
    robust = model.covariance("robust") * len(y) / (len(y) - 1)
    assert_allclose(model.covariance("survey"), robust, rtol=1e-8)


WESDR = [
    "age", "diab", "gh", "sbp", "dbp", "bmi", "pr", "sex", "prot", "dose", "rme", "lme", "rre",
    "lre", "riop", "liop",
]  # fmt: skip


@needs_data
def test_ridge_and_elastic_net_meet_their_vectors():
    table = read("wesdr_retinopathy.csv")
    X, y = StandardScaler().fit_transform(table[WESDR]), table["target"]
    for strength, expected in EXPECTED["wesdr-ridge"].items():
        model = OrdinalRegression(penalty="l2", alpha=float(strength)).fit(X, y)
        assert_allclose(model.parameters_, expected["estimate"], atol=1e-9)
        assert model.log_likelihood_ == pytest.approx(expected["log_likelihood"], abs=1e-8)
        assert model.effective_df_ == pytest.approx(expected["effective_df"], abs=1e-8)
    for expected in EXPECTED["wesdr-elastic-net"]["path"].values():
        model = OrdinalRegression(penalty="elasticnet", alpha=expected["lam"]).fit(X, y)
        assert_allclose(model.parameters_, expected["estimate"], atol=1e-8)
        assert np.count_nonzero(model.coef_) == expected["nonzero"]
        size = np.abs(model.coef_).sum() / 2 + np.square(model.coef_).sum() / 4
        objective = -model.log_likelihood_ / len(y) + expected["lam"] * size
        assert objective == pytest.approx(expected["objective"], abs=1e-10)
    largest = model.regularization_path(2).alphas[0]
    assert largest == pytest.approx(EXPECTED["wesdr-elastic-net"]["lam_max"], rel=1e-10)


def lenses():
    table = read("contact_lenses.csv")
    age = table["age"]
    columns = {"presbyopic": age == "presbyopic", "pre": age == "pre-presbyopic",
               "myope": table["prescription"] == "myope",
               "astigmatic": table["astigmatic"] == "yes",
               "tears": table["tear_rate"] == "normal"}  # fmt: skip
    return pd.DataFrame(columns) * 1.0, table["target"]


@needs_data
def test_separation_is_named_and_a_ridge_cures_it():
    X, y = lenses()
    expected = EXPECTED["lenses-separation"]
    with pytest.warns(ConvergenceWarning, match="'tears' separates rows of level 1 .*'l2'"):
        model = OrdinalRegression().fit(X, y)
    assert not model.converged_
    assert model.log_likelihood_ == pytest.approx(expected["limit_log_likelihood"], abs=1e-6)
    finite = expected["limit_estimates_of_the_finite_part"]
    assert_allclose(model.coef_[:4], finite["beta"], atol=1e-5)
    assert np.diff(model.thresholds_) == pytest.approx(finite["threshold_gap"], abs=1e-5)
    missing = np.isnan(np.diagonal(model.covariance_))
    assert_array_equal(missing, np.array(expected["direction_up_to_scale"]) != 0)
    low, high = model.conf_int(method="profile")[-1]
    assert np.isfinite(low)
    assert high == np.inf
    assert "separates" in str(model.summary())
    for strength, wanted in expected["ridge"].items():
        cured = OrdinalRegression(penalty="l2", alpha=float(strength)).fit(X, y)
        assert_allclose(cured.parameters_, wanted["estimate"], atol=1e-8)
        assert cured.log_likelihood_ == pytest.approx(wanted["log_likelihood"], abs=1e-8)


@needs_data
def test_jeffreys_prior_gives_finite_estimates_under_separation():
    X, y = lenses()
    expected = EXPECTED["lenses-separation"]["jeffreys"]
    model = OrdinalRegression(penalty="jeffreys").fit(X, y)
    assert_allclose(model.parameters_, expected["estimate"], atol=1e-4)
    # The objective anew: the information of a row is the sum of dP dP' / P over levels.
    P = model.predict_level_proba(X)
    f = LINKS["logit"].pdf(model.thresholds_ - (X @ model.coef_).to_numpy()[:, None])
    D = np.stack([np.column_stack([np.tile(e, (len(X), 1)), -X]) for e in np.eye(2)], axis=1)
    dP = np.diff(np.pad(f[:, :, None] * D, ((0, 0), (1, 1), (0, 0))), axis=1)
    information = np.einsum("nkp,nkq,nk->pq", dP, dP, 1 / P)
    objective = model.log_likelihood_ + 0.5 * np.linalg.slogdet(information)[1]
    assert objective == pytest.approx(expected["objective"], abs=1e-8)
    assert model.converged_
    assert np.all(np.isfinite(model.predict_interval(X).lower))
    assert "Jeffreys" in str(model.summary())


@needs_data
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "loglog"])
def test_the_gradient_of_jeffreys_prior_agrees_with_differences(link):
    from ordinality.cumulative.jeffreys import _penalised

    X, y, _ = wine()
    given = {"thresholds": "equidistant"} if link == "logit" else {"nominal": "yes"}
    model = OrdinalRegression(link, penalty="jeffreys", **given).fit(X, y)
    rows, at = model._regression.rows, model._regression.maximum.vector
    assert_allclose(_penalised(rows, at).gradient, 0.0, atol=1e-4)
    at, h = at + 0.05, 1e-5  # about eps**(1/3): truncation and rounding balance
    for j, slope in enumerate(_penalised(rows, at).gradient):
        up, down = (_penalised(rows, at + s * h * np.eye(len(at))[j]) for s in (1, -1))
        assert (up.value - down.value) / (2 * h) == pytest.approx(slope, abs=1e-7)


@needs_data
def test_an_automatic_penalty_is_none_unless_the_data_need_one():
    X, y, _ = wine()
    model, plain = (OrdinalRegression(penalty=p).fit(X, y) for p in ("auto", None))
    assert model.penalty_ is None
    assert_array_equal(model.covariance_, plain.covariance_)
    X, y = lenses()
    for rows, why in ((slice(None), "'tears' separates rows of level 1"),
                      (slice(10), "10 rows hardly determine a likelihood of 7 ")):  # fmt: skip
        model = OrdinalRegression(penalty="auto").fit(X[rows], y[rows])
        ridge = OrdinalRegression(penalty="l2", alpha=0.16, standardize=True)
        assert_allclose(model.parameters_, ridge.fit(X[rows], y[rows]).parameters_)
        assert model.penalty_ == "l2"
        assert why in model.notes_[-1]
        assert "weak ridge" in model.notes_[-1]


@pytest.mark.parametrize("nominal", [None, [3]], ids=["location", "nominal"])
def test_what_is_finite_beside_a_separating_column_is_the_fit_of_the_other_rows(nominal):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.digitize(X[:, 0] + rng.logistic(size=120), [-1.0, 0.0, 1.0])
    Z = np.column_stack([X, y == 3])
    with pytest.warns(ConvergenceWarning, match="'x3' separates"):
        model = OrdinalRegression(nominal=nominal).fit(Z, y)
    others = OrdinalRegression().fit(X[y < 3], y[y < 3])
    at = [list(model.parameter_names_).index(name) for name in others.parameter_names_]
    assert_allclose(model.parameters_[at], others.parameters_, atol=1e-6)
    for kind, groups in (("observed", None), ("robust", None), ("cluster", np.arange(120) % 9)):
        some = None if groups is None else groups[y < 3]
        wanted = others.covariance(kind, some)
        found = model.covariance(kind, groups)
        assert_allclose(found[np.ix_(at, at)], wanted, rtol=1e-5, atol=1e-9)
        unknown = np.isnan(np.diagonal(found))
        assert_array_equal(np.flatnonzero(~unknown), sorted(at))
    profile = model.conf_int(method="profile")
    assert_allclose(profile[at], others.conf_int(method="profile"), atol=1e-5)
    assert np.all(np.isinf(np.delete(profile, at, axis=0)).any(axis=1))


@needs_data
def test_a_nominal_effect_that_separates_is_named():
    X, y, _ = wine()
    with pytest.warns(ConvergenceWarning, match="'warm' separates .* make it a location"):
        model = OrdinalRegression(nominal="warm").fit(X, y)
    limit = EXPECTED["wine-nominal"]["limit_log_likelihood_when_nominal_is_warm"]
    assert model.log_likelihood_ == pytest.approx(limit, abs=1e-6)


@needs_data
def test_dependent_columns_are_left_out():
    X, y, _ = wine()
    warm, yes = X["warm"], X["yes"]
    columns = [warm, 0 * warm + 1, yes, warm + 2 * yes - 3, warm * yes]
    model = OrdinalRegression().fit(np.column_stack(columns), y)
    expected = EXPECTED["wine-aliased"]
    meets(model, expected)
    assert (
        np.flatnonzero(np.isnan(model.coef_)).tolist() == expected["dropped_positions_from_0"]
    )
    assert "'x1', 'x3'" in model.notes_[0]
    sound = OrdinalRegression().fit(np.column_stack([warm, yes, warm * yes]), y)
    at = np.column_stack(columns)
    assert_allclose(model.predict_proba(at), sound.predict_proba(at[:, [0, 2, 4]]), atol=1e-10)


# ------------------------------------------------------------ laws


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(240, 3)) * [1.0, 20.0, 0.05] + [0.0, 300.0, -1.0]
    latent = X[:, 0] + 0.03 * (X[:, 1] - 300) + rng.logistic(size=240)
    return X, np.digitize(latent, [-1.5, 0.0, 1.5])


MODELS = {
    **{link: {"link": link} for link in LINKS},
    "nominal": {"nominal": [2]},
    "scale": {"scale": [0]},
    "equidistant": {"thresholds": "equidistant"},
    "symmetric": {"thresholds": "symmetric"},
}
each_model = pytest.mark.parametrize("given", MODELS.values(), ids=MODELS)


@each_model
def test_units_of_a_column_change_its_coefficient_only(data, given):
    X, y = data
    one = OrdinalRegression(**given).fit(X, y)
    other = OrdinalRegression(**given).fit(X * [1.0, 0.1, 1.0], y)
    assert_allclose(other.coef_[1], 10 * one.coef_[1], rtol=1e-7)
    assert other.log_likelihood_ == pytest.approx(one.log_likelihood_, abs=1e-8)
    assert_allclose(other.predict_proba(X * [1.0, 0.1, 1.0]), one.predict_proba(X), atol=1e-8)


@each_model
def test_a_weight_of_two_is_the_row_twice(data, given):
    X, y = data
    weights = np.where(np.arange(len(y)) < 100, 2.0, 1.0)
    weights[-20:] = 0.0
    one = OrdinalRegression(**given).fit(X, y, sample_weight=weights)
    copies = np.repeat(np.arange(len(y)), weights.astype(int))
    other = OrdinalRegression(**given).fit(X[copies], y[copies])
    assert_allclose(one.parameters_, other.parameters_, rtol=1e-7, atol=1e-9)
    assert_allclose(one.covariance_, other.covariance_, rtol=1e-6, atol=1e-12)
    assert one.bic() == pytest.approx(other.bic())


@each_model
def test_the_estimate_is_a_maximum(data, given):
    X, y = data
    model = OrdinalRegression(**given).fit(X, y)
    fit = model._regression
    gradient = fit.rows.evaluate(fit.maximum.vector).gradient
    deviations = np.sqrt(np.diagonal(np.linalg.inv(fit.maximum.evaluation.information)))
    assert np.max(np.abs(gradient * deviations)) < 1e-6


@each_model
def test_information_agrees_with_differences_of_the_gradient(data, given):
    X, y = data
    fit = OrdinalRegression(**given).fit(X, y)._regression
    rows, at = fit.rows, fit.maximum.vector + 0.01
    h = 1e-5  # about eps**(1/3): truncation and rounding balance
    for j in range(len(at)):
        step = h * (np.arange(len(at)) == j)
        up, down = rows.evaluate(at + step), rows.evaluate(at - step)
        now = rows.evaluate(at)
        assert (up.value - down.value) / (2 * h) == pytest.approx(now.gradient[j], abs=1e-5)
        numeric = (down.gradient - up.gradient) / (2 * h)
        assert_allclose(now.information[j], numeric, rtol=1e-6, atol=1e-5)


def test_sparse_columns_give_the_same_answers(data):
    rng = np.random.default_rng(0)
    X = np.where(rng.uniform(size=(400, 6)) < 0.3, rng.normal(size=(400, 6)), 0.0)
    y = np.digitize(X[:, 0] - X[:, 1] + rng.logistic(size=400), [-1.0, 1.0])
    for given in (
        {},
        {"penalty": "l2"},
        {"penalty": "elasticnet", "alpha": 0.02},
        {"nominal": [3]},
    ):
        dense = OrdinalRegression(**given).fit(X, y)
        thin = OrdinalRegression(**given).fit(sparse.csr_array(X), y)
        assert_allclose(thin.parameters_, dense.parameters_, atol=1e-7)
        assert_allclose(
            thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-8
        )


def test_many_sparse_columns_are_fitted_by_conjugate_gradients(monkeypatch):
    from ordinality.cumulative import regression

    rng = np.random.default_rng(0)
    X = sparse.csr_array(np.where(rng.uniform(size=(3000, 40)) < 0.1, 1.0, 0.0))
    y = np.digitize(X[:, [0]].toarray()[:, 0] + rng.logistic(size=3000), [-1.0, 1.0])
    whole = OrdinalRegression().fit(X, y)
    ridge = OrdinalRegression(penalty="l2").fit(X, y)
    monkeypatch.setattr(regression, "MANY_COLUMNS", 30)
    many = OrdinalRegression().fit(X, y)
    assert_allclose(many.parameters_, whole.parameters_, atol=1e-7)
    assert many.covariance_ is None
    assert "no standard errors" in str(many.summary())
    many = OrdinalRegression(penalty="l2").fit(X, y)
    assert_allclose(many.parameters_, ridge.parameters_, atol=1e-7)


def test_more_columns_than_rows_need_a_penalty_and_satisfy_its_equations():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 120))
    y = np.digitize(X[:, 0] + rng.logistic(size=50), [-0.5, 0.5])
    model = OrdinalRegression(penalty="l2", alpha=3.0).fit(X, y)
    fit = model._regression
    slope = fit.rows.evaluate_rows(fit.maximum.vector).gradient[2:] / fit.location.spread
    assert_allclose(slope * fit.location.spread**2, 3.0 * model.coef_, atol=1e-8)
    net = OrdinalRegression(penalty="elasticnet", alpha=0.05).fit(X, y)
    assert 0 < np.count_nonzero(net.coef_) < 50
    assert net.converged_


def test_a_large_fit_starts_from_some_rows_and_ends_at_the_same_place():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 2))
    y = np.digitize(X[:, 0] + rng.logistic(size=60_000), [-1.0, 1.0])
    model = OrdinalRegression().fit(X, y)
    fit = model._regression
    from ordinality.cumulative.newton import maximise, start_vector

    cold = maximise(fit.rows, start=start_vector(fit.rows))
    assert_allclose(fit.maximum.vector, cold.vector, rtol=1e-9, atol=1e-11)


def test_a_level_without_rows_has_probability_zero(data):
    X, y = data
    labels = np.array([1, 2, 4, 5])[y]
    model = OrdinalRegression(levels=[0, 1, 2, 3, 4, 5, 6]).fit(X, labels)
    plain = OrdinalRegression().fit(X, y)
    proba = model.predict_level_proba(X)
    assert_allclose(proba[:, [1, 2, 4, 5]], plain.predict_level_proba(X), atol=1e-12)
    assert_array_equal(proba[:, [0, 3, 6]], 0.0)
    assert model.thresholds_[0] == -np.inf
    assert model.thresholds_[2] == model.thresholds_[3]
    assert "no row has level 0, 3, 6" in model.notes_[0]
    assert_allclose(model.predict_interval(X).proba, proba, atol=1e-12)


def test_two_levels_are_logistic_regression(data):
    from sklearn.linear_model import LogisticRegression

    X, y = data
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = OrdinalRegression(penalty="l2", alpha=1.0).fit(Z, y > 1)
    theirs = LogisticRegression(tol=1e-12, max_iter=1000).fit(Z, y > 1)  # C = 1: the same
    assert_allclose(ours.coef_, theirs.coef_[0], atol=1e-6)
    assert_allclose(-ours.thresholds_, theirs.intercept_, atol=1e-6)
    assert_allclose(ours.predict_proba(Z), theirs.predict_proba(Z), atol=1e-6)
    assert_allclose(ours.decision_function(Z), theirs.decision_function(Z), atol=1e-5)


def test_reversing_the_levels_reverses_signs(data):
    X, y = data
    mirror = {"cloglog": "loglog", "loglog": "cloglog"}
    for link in LINKS:
        one = OrdinalRegression(link).fit(X, y)
        other = OrdinalRegression(mirror.get(link, link)).fit(X, 3 - y)
        assert_allclose(other.coef_, -one.coef_, rtol=1e-6, atol=1e-9)
        assert_allclose(other.thresholds_, -one.thresholds_[::-1], rtol=1e-6)


def test_standardize_penalises_scaled_columns(data):
    X, y = data
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for penalty in ("l2", "elasticnet"):
        given = {"penalty": penalty, "alpha": 0.1}
        one = OrdinalRegression(standardize=True, **given).fit(X, y)
        other = OrdinalRegression(**given).fit(Z, y)
        assert_allclose(one.coef_ * X.std(axis=0), other.coef_, atol=1e-8)


def test_class_weights_multiply_the_weights(data):
    X, y = data
    one = OrdinalRegression(class_weight={0: 3.0}).fit(X, y)
    other = OrdinalRegression().fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    assert_allclose(one.parameters_, other.parameters_, rtol=1e-9)


def test_pickles_hold_no_rows_and_say_so(data):
    X, y = data
    model = OrdinalRegression().fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert str(loaded.summary()) == str(model.summary())
    assert_array_equal(
        loaded.predict_interval(X[:3]).lower, model.predict_interval(X[:3]).lower
    )
    for ask in (loaded.residuals, loaded.test_scale, loaded.test_proportional_odds):
        with pytest.raises(ValueError, match="need the training rows"):
            ask()
    model.residuals()  # the model that was pickled still has them


def test_it_works_in_pipelines_and_searches(data):
    X, y = data
    model = make_pipeline(StandardScaler(), OrdinalRegression(penalty="l2"))
    search = GridSearchCV(model, {"ordinalregression__alpha": [0.1, 10.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.4


def test_frames_of_polars_name_their_columns(data):
    polars = pytest.importorskip("polars")
    X, y = data
    frame = polars.DataFrame({name: X[:, j] for j, name in enumerate("abc")})
    model = OrdinalRegression(nominal="b").fit(frame, polars.Series(y))
    assert model.parameter_names_.tolist()[3:] == ["b:0|1", "b:1|2", "b:2|3", "a", "c"]


def test_tables_have_frames_and_notebooks(data):
    X, y = data
    model = OrdinalRegression(scale=[0]).fit(X, y)
    frame = model.summary().to_frame()
    assert frame.index.tolist() == model.parameter_names_.tolist()
    assert_allclose(frame["odds ratio"].iloc[3:6], np.exp(model.coef_))
    assert np.isnan(frame["odds ratio"].iloc[0])
    assert "<td>" in model.summary()._repr_html_()
    assert model.test_scale({"first": [0]}).to_frame().loc["first", "df"] == 1


def test_a_frame_without_pandas_is_refused_with_what_to_install(data, monkeypatch):
    X, y = data
    summary = OrdinalRegression().fit(X, y).summary()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        summary.to_frame()


def test_a_path_leads_from_no_effects_to_each_net(data):
    X, y = data
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    model = OrdinalRegression(penalty="elasticnet", alpha=0.01).fit(Z, y)
    path = model.regularization_path(20)
    assert_array_equal(path.coef[0], 0.0)
    assert np.any(path.coef[1] != 0)
    assert np.all(np.diff(path.log_likelihood) >= 0)
    for at in (5, 19):
        net = OrdinalRegression(penalty="elasticnet", alpha=path.alphas[at]).fit(Z, y)
        assert_allclose(net.coef_, path.coef[at], atol=1e-8)
        assert_allclose(net.thresholds_, path.thresholds[at], atol=1e-8)
    with pytest.raises(ValueError, match="penalty=None has no path"):
        OrdinalRegression().fit(Z, y).regularization_path()


def test_nearly_dependent_columns_are_noted(data):
    X, y = data
    near = X[:, 0] + 1e-5 * np.random.default_rng(0).normal(size=len(y))
    model = OrdinalRegression().fit(np.column_stack([X, near]), y)
    assert model.converged_
    assert "'x0', 'x3' can hardly be told" in model.notes_[0]


# ------------------------------------------------------------ refusals

FIT = {
    "link": ({"link": "normal"}, {}, "link='normal' is not known; choose one of"),
    "link of another kind": ({"link": 3}, {}, "link=3 is not known"),
    "thresholds": ({"thresholds": "free"}, {}, "thresholds='free' is not known"),
    "penalty": ({"penalty": "l1"}, {}, "penalty='l1' is not known; choose one of .*elasticnet"),
    "alpha": ({"penalty": "l2", "alpha": -1.0}, {}, "alpha=-1.0 must be a number above zero"),
    "alpha of text": ({"alpha": "big"}, {}, "alpha='big' must be a number above zero"),
    "jeffreys with scale": (
        {"penalty": "jeffreys", "scale": [0]}, {}, "'jeffreys' cannot be combined with scale"
    ),
    "random with a penalty": (
        {"penalty": "auto", "random": 0}, {}, "cannot be combined with penalty='auto'"
    ),
    "l1_ratio": ({"l1_ratio": 0.0}, {}, "l1_ratio=0.0 must be .* for 0 use penalty='l2'"),
    "l1_ratio above one": ({"l1_ratio": 1.5}, {}, "l1_ratio=1.5 must be a number above 0"),
    "standardize": ({"standardize": "yes"}, {}, "standardize='yes' is not known"),
    "tol": ({"tol": 0}, {}, "tol=0 must be a number above zero"),
    "max_iter": ({"max_iter": 2.5}, {}, "max_iter=2.5 must be a whole number, 1 or more"),
    "decision": ({"decision": "best"}, {}, "decision='best' is not known"),
    "costs of another size": ({"decision": np.eye(2)}, {}, "2 rows, but there are 4 levels"),
    "verbose": ({"verbose": -1}, {}, "verbose=-1 must be a whole number"),
    "random": ({"random": "judge"}, {}, "the column 'judge', which X does not have"),
    "nominal number": ({"nominal": [3]}, {}, "nominal names column 3, but X has 3 columns"),
    "nominal name": ({"nominal": "age"}, {}, "'age', but X has no column names; pass a data"),
    "nominal twice": ({"nominal": [1, 1]}, {}, r"nominal=\[1, 1\] names a column twice"),
    "scale number": ({"scale": -4}, {}, "scale names column -4, but X has 3 columns"),
    "class weight": ({"class_weight": {7: 1.0}}, {}, "class_weight names 7, which is not one"),
    "weights of wrong length": ({}, {"sample_weight": [1.0]}, r"weight has shape \(1,\)"),
    "negative weights": ({}, {"sample_weight": -np.ones(240)}, "negative, infinite or missing"),
    "no weight": ({}, {"sample_weight": np.zeros(240)}, "all sample weights are zero"),
    "offset of wrong length": ({}, {"offset": [0.0, 1.0]}, r"offset has shape \(2,\), but"),
    "missing offset": ({}, {"offset": np.full(240, np.nan)}, "holds infinite or missing"),
    "offset of text": ({}, {"offset": ["a"] * 240}, "pass one number for each row"),
    "one level": ({}, {"y": np.ones(240, int)}, "y contains only one class, 1; fitting needs"),
    "two levels": ({"thresholds": "equidistant"}, {"y": np.arange(240) % 2}, "three levels or"),
    "an unknown level": ({"levels": [0, 1, 2]}, {}, "y contains 3, which is not one of"),
    "undetermined": (
        {"thresholds": "symmetric", "levels": list(range(12))}, {}, "do not determine"
    ),
    "continuous": ({}, {"y": np.linspace(0, 1, 240)}, "Unknown label type: continuous"),
    "missing values": ({}, {"X": np.full((240, 3), np.nan)}, "Input X contains NaN"),
    "enormous offset": ({"link": "cloglog"}, {"offset": 1e4 * np.arange(240.0)}, "not finite"),
}  # fmt: skip


@pytest.mark.parametrize("case", FIT)
def test_what_cannot_be_fitted_is_refused_in_one_sentence(data, case):
    parameters, given, message = FIT[case]
    X, y = data
    arguments = {"X": X, "y": y, **given}
    with pytest.raises(ValueError, match=message) as caught:
        OrdinalRegression(**parameters).fit(**arguments)
    assert "\n" not in str(caught.value).split("NaN")[0]  # the rest is scikit-learn's


def test_more_levels_than_can_be_modelled_are_refused():
    X, y = np.random.default_rng(0).normal(size=(20_000, 1)), np.arange(20_000) // 2
    with pytest.raises(ValueError, match="10000 levels, but at most 1000 .* join levels"):
        OrdinalRegression().fit(X, y)


def test_an_unknown_name_of_a_frame_is_refused_with_its_columns(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(
        ValueError, match="nominal names column 'd'.* columns are 'a', 'b', 'c'"
    ):
        OrdinalRegression(nominal="d").fit(frame, y)


ASKED = {
    "level": (lambda m, X: m.predict_interval(X, level=95), "level=95 must be a number"),
    "method": (lambda m, X: m.conf_int(method="exact"), "method='exact' is not known"),
    "kind of covariance": (lambda m, X: m.covariance("hc3"), "kind='hc3' is not known"),
    "no groups": (lambda m, X: m.covariance("cluster"), "belong together"),
    "needless groups": (lambda m, X: m.covariance("robust", groups=[1]), "belong together"),
    "groups of wrong length": (
        lambda m, X: m.covariance("cluster", groups=[1, 2]), "but fit saw 240 rows"
    ),
    "strata without a survey": (
        lambda m, X: m.covariance("robust", strata=[1]), "strata and kind='survey' belong"
    ),
    "strata of wrong length": (
        lambda m, X: m.covariance("survey", strata=[1]), "strata has shape .* fit saw 240 rows"
    ),
    "strata of one group": (
        lambda m, X: m.covariance("survey", strata=np.arange(240) // 239),
        "1 strata have a single group",
    ),
    "kind of residual": (lambda m, X: m.residuals("raw"), "kind='raw' is not known"),
    "kind of R2": (lambda m, X: m.pseudo_r2("cox"), "kind='cox' is not known"),
    "unknown term": (lambda m, X: m.test_scale({"t": [9]}), "terms names column 9"),
    "term named twice": (
        lambda m, X: m.test_proportional_odds({"t": [0, 0]}), "names a column twice; name it"
    ),
    "missing groups": (
        lambda m, X: m.covariance("cluster", groups=[None] * 240), "groups contains None at"
    ),
    "one group": (
        lambda m, X: m.covariance("cluster", groups=np.ones(240)), "only one group, 1.0, .* tak"
    ),
    "empty term": (lambda m, X: m.test_scale({"t": []}), "names no column"),
    "nominal term": (lambda m, X: m.test_scale({"t": [2]}), "without a location effect"),
    "other rows": (
        lambda m, X: m.compare(OrdinalRegression().fit(X[:100], np.arange(100) % 4)),
        "different data",
    ),
    "the same model": (lambda m, X: m.compare(m), "the same number of parameters"),
}  # fmt: skip


@pytest.mark.parametrize("case", ASKED)
def test_what_cannot_be_asked_is_refused(data, case):
    X, y = data
    ask, message = ASKED[case]
    model = OrdinalRegression(nominal=[2]).fit(X, y)
    with pytest.raises(ValueError, match=message):
        ask(model, X)


def test_terms_are_a_dict(data):
    with pytest.raises(TypeError, match=r"terms=\[0\] is not a dict; pass the columns of each"):
        OrdinalRegression().fit(*data).test_scale([0])


def test_a_net_of_no_column_is_the_fit_without_a_penalty(data):
    X, y = data
    net, plain = (OrdinalRegression(nominal=[0, 1, 2], penalty=p) for p in ("elasticnet", None))
    assert_allclose(net.fit(X, y).parameters_, plain.fit(X, y).parameters_, atol=1e-6)
    constant = OrdinalRegression(penalty="elasticnet").fit(np.ones((240, 2)), y)
    with pytest.raises(ValueError, match="so there is no path; give X a column that varies"):
        constant.regularization_path()


def test_penalised_fits_have_no_standard_errors(data):
    X, y = data
    model = OrdinalRegression(penalty="l2").fit(X, y)
    asks = (model.conf_int, model.covariance, model.test_scale,
            lambda: model.predict_interval(X))  # fmt: skip
    for ask in asks:
        with pytest.raises(ValueError, match="penalised fit has no standard errors"):
            ask()
    with pytest.raises(ValueError, match="no likelihood-ratio test"):
        model.compare(OrdinalRegression().fit(X, y))
    assert "no standard errors or p-values" in str(model.summary())


def test_tests_of_the_likelihood_are_refused_with_jeffreys_prior(data):
    X, y = data
    model = OrdinalRegression(penalty="jeffreys").fit(X, y)
    asks = (lambda: model.conf_int(method="profile"), lambda: model.covariance("robust"),
            model.test_scale)  # fmt: skip
    for ask in asks:
        with pytest.raises(ValueError, match="there (is|are) no .* with Jeffreys' prior; set"):
            ask()
    assert np.all(np.isfinite(model.residuals()))


def test_a_search_cut_short_warns(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps .* raise max_iter"):
        assert not OrdinalRegression(max_iter=1).fit(X, y).converged_


def test_thresholds_out_of_order_at_training_rows_are_said(data):
    y = data[1]
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(240, 3))
    with pytest.warns(UserWarning, match="rows thresholds are out of order"):
        model = OrdinalRegression(nominal=[0, 1, 2], scale=[0, 1]).fit(Z, y)
    proba = model.predict_proba(Z)
    assert np.all(proba >= 0)
    assert_allclose(proba.sum(axis=1), 1.0)


def test_a_scale_column_far_from_zero_is_fitted_and_noted(data):
    X, y = data
    near = OrdinalRegression(scale=[1]).fit(X - [0.0, 300.0, 0.0], y)
    far = OrdinalRegression(scale=[1]).fit(X, y)
    assert far.log_likelihood_ == pytest.approx(near.log_likelihood_, abs=1e-8)
    assert_allclose(far.scale_coef_, near.scale_coef_, rtol=1e-6)
    assert "'x1' lies far from zero" in far.notes_[0]
