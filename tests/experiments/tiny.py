"""A small spec that worker processes can import: two sets, two partitions, quick methods."""

import time

import numpy as np

from ordinality.experiments.spec import Method, Metric, Published, Spec

ZERO_ONE = Metric("zero_one", "zero-one error %", scale=100, decimals=1)
MAE = Metric("mae", "absolute error", decimals=3)


def problem(name, partition):
    """Ordered labels of a noisy line, in two amounts of noise."""
    rng = np.random.default_rng([partition, len(name)])
    x = rng.uniform(0, 4, 80)
    noise = 0.1 if name == "calm" else 1.0
    y = np.clip(np.floor(x + noise * rng.normal(size=80)), 0, 3).astype(int)
    return x[:40], y[:40], x[40:], y[40:]


def commonest(data, seed):
    _, y, _, y_test = data
    return errors(np.full(y_test.shape, np.bincount(y).argmax()), y_test)


def floored(data, seed, shift=0.0, slow=0.0):
    _, _, x_test, y_test = data
    time.sleep(slow)
    return errors(np.clip(np.floor(x_test + shift), 0, 3), y_test)


def refuses(data, seed):
    if seed == 2:
        raise RuntimeError("no solution | with a bar")
    return commonest(data, seed)


def errors(predicted, y):
    away = np.abs(predicted - y)
    return {"zero_one": np.mean(away > 0), "mae": np.mean(away)}


def spec(*extra, slow=0.0, **changes):
    settings = {"slow": slow} if slow else {}
    methods = (
        Method("commonest", "Commonest", commonest),
        Method("floored", "Floored", floored, settings),
        *extra,
    )
    described = {
        "name": "tiny/table-1",
        "title": "Two guesses on a line",
        "source": "nobody (2026)",
        "experiment": "tiny",
        "sets": ("calm", "noisy"),
        "partitions": 2,
        "methods": methods,
        "metrics": (ZERO_ONE, MAE),
        "problem": problem,
        "published": {
            ("calm", "floored", "zero_one"): Published(10.0, 5.0),
            ("noisy", "floored", "zero_one"): Published(20.0, 5.0),
            ("calm", "commonest", "mae"): Published(1.0, 0.1),
        },
        "notes": ("The line is a <b>line</b>.",),
    }
    return Spec(**{**described, **changes})
