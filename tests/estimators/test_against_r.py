"""Random problems that R's `clm` and `clmm` were given, and what they found.

R 4.2.2, ordinal 2022.11. `clm` was called with gradTol=1e-10; `clmm` with gradTol=1e-6 and
Laplace's method.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from ordinality import OrdinalRegression


def fixed_problem(seed, K):
    """Columns of unlike units, weights, an offset, and noise that depends on a column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3)) * [1.0, 20.0, 0.05] + [0.0, 5.0, 0.0]
    offset, weights = 0.5 * rng.normal(size=300), rng.uniform(0.2, 3.0, size=300)
    noise = np.exp(0.3 * X[:, 0]) * rng.logistic(size=300)
    latent = X @ [0.7, 0.03, -10.0] + offset + noise
    y = np.digitize(latent, np.quantile(latent, np.linspace(0, 1, K + 1)[1:-1]))
    return X, y, weights, offset


def mixed_problem(seed, K):
    """Two columns, two grouping columns, the second within the first if `seed` is odd."""
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=(400, 2)), rng.integers(0, 15, size=400)
    h = 3 * g + rng.integers(0, 3, size=400) if seed % 2 else rng.integers(0, 10, size=400)
    b, c, slope = 0.9 * rng.normal(size=15), 0.7 * rng.normal(size=45), rng.normal(size=15)
    latent = x @ [0.8, -0.5] + b[g] + c[h] + 0.5 * slope[g] * x[:, 0] + rng.logistic(size=400)
    y = np.digitize(latent, np.quantile(latent, np.linspace(0, 1, K + 1)[1:-1]))
    return pd.DataFrame(x, columns=["a", "b"]).assign(g=g, h=h), y


# Problem, settings, log-likelihood, estimates, standard errors.
CLM = [
    (
        (1, 8),
        {"link": "loglog", "nominal": [2], "scale": [0]},
        -881.429878698,
        [
            -0.820051668611, -0.349593982343, 0.117120854378, 0.612810792133,
            1.13236726759, 1.65257441353, 2.60929946124, 3.50049437562, 5.85466428426,
            4.27048627384, 8.0056407922, 7.00619207984, 5.7783131888, 5.79681513784,
            0.349176630593, 0.0227403092729, 0.390367396597,
        ],
        [
            0.0688527948469, 0.0677976972312, 0.0709291001894, 0.0833176655346,
            0.0990162999384, 0.118902912399, 0.176620780295, 1.18897610806, 1.12262568884,
            1.19339765833, 1.44638431411, 1.65748693524, 1.96626367446, 3.01017656224,
            0.0533944402704, 0.0026216445942, 0.0444944138255,
        ],
    ),
    (
        (2, 5),
        {"link": "cloglog", "scale": [1], "thresholds": "symmetric"},
        -694.9454574458,
        [
            -0.861561362945, -0.167083542144, 0.870781698509, 0.621224625091,
            0.0199975461274, -5.06689463785, -0.00616022363491,
        ],
        [
            0.0775103797307, 0.0647587422929, 0.0545877872766, 0.0563922144339,
            0.00266443171808, 1.1052114316, 0.00233733421403,
        ],
    ),
    (
        (3, 2),
        {"link": "probit", "scale": [0]},
        -282.6960686455,
        [
            -0.0247265448378, 0.39393578071, 0.00805454066308, -7.82535548141,
            0.0984351780697,
        ],
        [
            0.0713418654509, 0.0725784611265, 0.00318295079036, 1.27200331113,
            0.0916824540736,
        ],
    ),
    (
        (4, 6),
        {"link": "logit", "nominal": [0, 2]},
        -758.521950995,
        [
            -1.83611619798, -0.645383983184, 0.214979542643, 1.20013758208, 2.22304439351,
            -0.257988681822, -0.230356229006, -0.446500480626, -0.686323839807,
            -0.699597593353, 10.6383617959, 10.9699056371, 12.2406071095, 11.6079222122,
            9.20452243615, 0.0247960531889,
        ],
        [
            0.137571773212, 0.10646638325, 0.106280055353, 0.123015433475, 0.166635709489,
            0.126152845593, 0.105020712857, 0.109228025382, 0.128414791096, 0.1709895662,
            2.75593468507, 2.22146222901, 2.12779945201, 2.22434396499, 2.86638716009,
            0.00461316554054,
        ],
    ),
    (
        (5, 7),
        {"link": "probit", "thresholds": "equidistant"},
        -923.4962464184,
        [
            -1.06417568662, 0.47112089718, 0.26992623499, 0.0183798685694, -3.1988350154,
        ],
        [
            0.066808367934, 0.0192311561449, 0.0481656965789, 0.0023121236279,
            0.992916244145,
        ],
    ),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:at 3 rows thresholds are out of order")  # of K = 8
@pytest.mark.parametrize(
    ("problem", "settings", "log_likelihood", "estimate", "deviation"), CLM, ids=range(len(CLM))
)
def test_fixed_effects_are_as_clm_has_them(
    problem, settings, log_likelihood, estimate, deviation
):
    X, y, weights, offset = fixed_problem(*problem)
    model = OrdinalRegression(**settings).fit(X, y, sample_weight=weights, offset=offset)
    assert model.log_likelihood_ == pytest.approx(log_likelihood, abs=1e-9)
    assert_allclose(model.parameters_, estimate, rtol=1e-9, atol=1e-10)
    assert_allclose(np.sqrt(np.diagonal(model.covariance_)), deviation, rtol=1e-9)


# Problem, settings, log-likelihood, estimates, standard deviations of effects.
CLMM = [
    (
        (1, 4),
        {"link": "probit", "random": ["g", "h"]},
        -489.044391797,
        [
            -0.946788904976, -0.0767287885862, 0.795134622425, 0.551285597839,
            -0.239497830007,
        ],
        {"g": 0.517938187646, "h": 0.288002602288},
    ),
    (
        (2, 3),
        {"link": "loglog", "random": [("g", "a"), "h"]},
        -381.179021459,
        [
            -0.167618937321, 1.12291056635, 0.588187049558, -0.260769752284,
        ],
        {"g": [0.567884063678, 0.437564757884], "h": 0.259411535898},
    ),
    (
        (4, 6),
        {"link": "logit", "random": ["g", "h"]},
        -641.842548733,
        [
            -2.25504272357, -1.04924791589, -0.0584952628722, 0.917639592032,
            2.14228482126, 0.766601098352, -0.513874870233,
        ],
        {"g": 0.76714079526, "h": 0.773402549913},
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("problem", "settings", "log_likelihood", "estimate", "spread"), CLMM, ids=range(len(CLMM))
)
def test_random_effects_are_as_clmm_has_them(
    problem, settings, log_likelihood, estimate, spread
):
    # The bars of Laplace's method: 1e-4 in estimates, 1e-5 in the log-likelihood.
    model = OrdinalRegression(**settings).fit(*mixed_problem(*problem))
    assert model.log_likelihood_ == pytest.approx(log_likelihood, abs=1e-5)
    assert_allclose(model.parameters_[: len(estimate)], estimate, atol=1e-4)
    for name, wanted in spread.items():
        assert_allclose(model.random_sd_[name], wanted, atol=1e-4)
