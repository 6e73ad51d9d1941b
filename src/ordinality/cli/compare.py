"""``ordinality compare``: repeated cross-validation of several models, with tests."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from .cluster import cluster_option, on_cluster
from .fit import read_problem
from .options import (
    BASELINES,
    MODELS,
    Names,
    check_table,
    json_option,
    run_options,
    table_options,
)
from .output import number, progress, results, say, show, show_json, tell, titles, warn

__all__ = ["compare"]

EXAMPLE = """\b
Example:
  ordinality compare examples/wine.csv --target rating --models gp,plsor,svm
"""


@click.command(epilog=EXAMPLE)
@click.argument("table")
@table_options
@click.option(
    "--models",
    type=Names((*MODELS, *BASELINES)),
    default="gp,plsor,boost",
    show_default=True,
    metavar="A,B,C",
    help=f"Models to compare, of {', '.join((*MODELS, *BASELINES))}.",
)
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    help="Number of folds.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Number of repetitions of the cross-validation.",
)
@run_options
@cluster_option
@json_option
def compare(
    table: str,
    models: list[str],
    folds: int,
    repeats: int,
    seed: int,
    jobs: int,
    cluster: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare models by repeated cross-validation.

    All models are assessed on the same folds. Pairs of models are compared in ranked
    probability score by the t-test that allows for overlapping training sets (Nadeau and
    Bengio), with p-values corrected by Holm's method.
    """
    if len(set(models)) < 2:
        raise ValueError("--models names fewer than two models; name at least two.")
    check_table(table)
    problem = read_problem(table, seed=seed, **options)
    from ordinality import workbench
    from ordinality.distributed.cluster import mapped_calls
    from ordinality.workbench.models import models_by_name

    entries = models_by_name(models, len(problem), weighted=problem.weights is not None)
    splits = workbench.folds(problem, n_splits=folds, repeats=repeats, seed=seed)
    with on_cluster(cluster) as client, progress("comparing") as tick:
        mapper = None if client is None else partial(mapped_calls, client, ordered=True)
        found: list[Any] = workbench.assess(
            problem, entries, splits, seed=seed, jobs=jobs, mapper=mapper, progress=tick
        )
    warn(dict.fromkeys(f"{one.name}: {said}" for one in found for said in one.warnings))
    say([f"Processor time: {', '.join(f'{one.name} {one.seconds:.1f} s' for one in found)}."])
    _show(found, len(splits) // repeats, as_json)


def _show(found: list[Any], n_folds: int, as_json: bool) -> None:
    import numpy as np

    from ordinality.experiments import compare as tests

    by_fold = np.column_stack([one.by_fold for one in found])
    names = [one.name for one in found]
    said = tests.verdict(
        by_fold,
        names,
        measure="ranked probability score",
        blocks="folds",
        test_fraction=1 / n_folds,
    )
    if as_json:
        known = {one.name: {**one.scores, "by_fold": one.by_fold.tolist()} for one in found}
        show_json({"folds": len(by_fold), "models": known, "verdict": said})
        return
    console = results()
    rows = [
        [
            one.name,
            f"{number(one.by_fold.mean())} ± {number(one.by_fold.std(ddof=1))}",
            *(number(one.scores[name]) for name in list(one.scores)[1:]),
        ]
        for one in found
    ]
    show(console, [f"{len(by_fold)} folds", *titles(found[0].scores)], rows)
    tell(console, said)
