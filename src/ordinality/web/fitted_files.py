"""Files of a study that need a fit: the model and the report.

They are made on request by a process of their own, one at a time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..panel.set_questions import compared_in, weight_in
from ..panel.store import Answer
from .visits import RefusedError, Visit

__all__ = ["FITTED", "fitted_files"]

FITTED = {"model.skops": "application/octet-stream", "report.html": "text/html; charset=utf-8"}
MOST = 2_000_000  # answers times items
MOST_ITEMS = 1000  # with more, the covariances at all ratios take gigabytes
LONGEST = 120.0  # seconds
_ONE = threading.Lock()


def fitted_files(visit: Visit, judges: dict[str, str]) -> dict[str, bytes]:
    """The model and the report of all answers; ``judges`` has the names that they show.

    Raises RefusedError with a sentence if there is too little to rank, or too much.
    """
    task = visit.here
    every = visit.store.answers(task.id, every_kind=True)
    given = [
        replace(each, left=left, right=right, value=value)
        for each in every
        for left, right, value in compared_in(each)
    ]
    if not every or len(task.items) < 2:
        raise RefusedError(409, "There are no answers yet, and so no model and no report.")
    count = max(len(given), len(every))
    if count * len(task.items) > MOST or len(task.items) > MOST_ITEMS:
        raise RefusedError(
            409,
            f"{count:,} answers about {len(task.items):,} items are too many to make the "
            "model and the report here; take answers.csv and items.csv to `ordinality rank`.",
        )
    out = {each.name for each in visit.store.judges(task.id) if each.left_out}
    key = {i: each.key for i, each in task.items.items()}
    sent = {
        "items": {each.key: dict(each.features) for each in task.items.values()},
        "pairs": [[key[each.left], key[each.right]] for each in given],
        "answers": [each.value for each in given],
        "judges": [judges[each.judge] for each in given],
        "weights": [
            0.0 if g.purpose == "repeat" or g.judge in out else weight_in(g) for g in given
        ],
        "groups": [each.id for each in given],  # a set is kept aside as a whole
        "ratings": _ratings([g for g in every if g.judge not in out], key),
        "seconds": [float("nan") if g.seconds is None else g.seconds for g in given],
        "top": task.settings.top or 5,
    }  # fmt: skip
    with _ONE, TemporaryDirectory() as folder:
        _rank(sent | {"folder": folder})
        return {name: (Path(folder) / name).read_bytes() for name in FITTED}


def _ratings(given: Sequence[Answer], key: Mapping[int, str]) -> Any:
    """Names of rated items and their ratings; None unless they differ."""
    rated = [(key[g.left], g.value) for g in given if g.kind == "rating"]
    if len({value for _, value in rated}) < 2:
        return None
    return [name for name, _ in rated], [value for _, value in rated]


def _rank(sent: dict[str, Any]) -> None:
    """Run the process; a refusal says that it did not work."""
    command = [sys.executable, "-m", "ordinality.panel.ranking_process"]
    limits = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        subprocess.run(
            command, input=json.dumps(sent).encode(), check=True, timeout=LONGEST,
            stdout=subprocess.DEVNULL, env={**os.environ, **limits},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RefusedError(
            409, "The model and the report could not be made in time; take answers.csv and "
            "items.csv to `ordinality rank`.",
        ) from None  # fmt: skip
    except subprocess.CalledProcessError:  # it has said why on the server's standard error
        raise RefusedError(
            409,
            "The model and the report could not be made; the messages of the server say why.",
        ) from None
