"""What tests of model files share: a model, its file, and a way to change files."""

import json
import zipfile

import numpy as np
import pytest

from ordinality import OrdinalGP, persist


@pytest.fixture(scope="session")
def rows():
    """Features of thirty rows, and ranks of three levels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.4 * rng.normal(size=30), [-0.7, 0.6])
    return X, y


@pytest.fixture(scope="session")
def model(rows):
    """A small model of levels with names."""
    X, y = rows
    words = np.array(["low", "mid", "high"])[y]
    return OrdinalGP(optimizer=None, levels=["low", "mid", "high"]).fit(X, words)


@pytest.fixture(scope="session")
def saved(model, tmp_path_factory):
    """The bytes of its file."""
    file = tmp_path_factory.mktemp("saved") / "model.skops"
    persist.save(model, file)
    return file.read_bytes()


@pytest.fixture
def path(tmp_path):
    """Where a model may be put."""
    return tmp_path / "model.skops"


@pytest.fixture
def file(path, saved):
    """A copy of the file, to be damaged."""
    path.write_bytes(saved)
    return path


@pytest.fixture
def repacked():
    """The function that changes members of a file; a fixture, as conftest is no module."""
    return _repacked


def _repacked(file, *, schema=None, about=None, drop=(), add=()):
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name not in drop}
    for name, change in (("schema.json", schema), ("ordinality.json", about)):
        if change is not None:
            members[name] = json.dumps(change(json.loads(members[name]))).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in [*members.items(), *add]:
            archive.writestr(name, content)
