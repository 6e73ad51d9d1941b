"""A data folder of a few small files, and the published one where there is one."""

import gzip

import pytest

from ordinality.datasets import VARIABLE


@pytest.fixture
def small_folder(tmp_path, monkeypatch):
    """``write(file, text)`` puts a file into a data folder that is empty at first."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))

    def write(file, text):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def published(data_dir, monkeypatch):
    """The folder of published data; tests without it are skipped."""
    monkeypatch.setenv(VARIABLE, str(data_dir))
    return data_dir
