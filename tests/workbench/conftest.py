"""A small table with a known answer: the level depends on the dose and not on the site."""

import numpy as np
import polars
import pytest

from ordinality.workbench import problem_of, study_of


def trial(n=90, seed=3):
    rng = np.random.default_rng(seed)
    dose = rng.uniform(0.0, 10.0, n)
    level = np.digitize(dose + rng.normal(0.0, 0.8, n), [3.5, 7.0])
    return polars.DataFrame(
        {
            "dose": dose,
            "site": np.array(["north", "south", "west"])[rng.integers(0, 3, n)],
            "effect": np.array(["none", "some", "full"])[level],
            "weight": rng.integers(1, 4, n),
            "patient": [f"p{i // 3}" for i in range(n)],
        }
    )


LEVELS = ["none", "some", "full"]


@pytest.fixture(scope="session")
def frame():
    return trial()


@pytest.fixture(scope="session")
def problem(frame):
    return problem_of(frame, "effect", order=LEVELS, features=["dose", "site"])


@pytest.fixture(scope="session")
def found(problem):
    """A study of a model that is quick to fit."""
    return study_of(problem, "linear")
