"""``ordinality fit``: a Gaussian process from a table, and how far to trust it."""

from __future__ import annotations

import csv
import io
import json
import shlex
import warnings
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from ordinality.levels import Order
    from ordinality.tables import Task

__all__ = ["Names", "fit", "say"]

SHOWN = 20  # features listed; the others only counted
BAR = 24  # columns of the terminal for the most relevant feature


class Names(click.ParamType):
    """Names separated by commas; one that contains a comma is put in double quotes."""

    name = "names"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[str]:
        """Split as a line of CSV is split."""
        names = next(csv.reader([value], skipinitialspace=True), [])
        return [name.strip() for name in names if name.strip()]


@click.command()
@click.argument("table")
@click.option("--target", required=True, metavar="COLUMN", help="Column of ordered labels.")
@click.option("--order", type=Names(), metavar="A,B,C", help="The labels, lowest first.")
@click.option(
    "--features", type=Names(), multiple=True, metavar="A,B", help="Columns to learn from."
)
@click.option(
    "--drop", type=Names(), multiple=True, metavar="A,B", help="Columns to leave out."
)
@click.option(
    "--inference",
    type=click.Choice(["ep", "laplace", "variational"]),
    default="ep",
    show_default=True,
    help="How the posterior is approximated.",
)
@click.option("--ard", is_flag=True, help="Learn a length scale for every feature.")
@click.option("--seed", type=int, metavar="INTEGER", help="Seed of whatever is random.")
def fit(
    table: str,
    target: str,
    order: list[str] | None,
    features: tuple[list[str], ...],
    drop: tuple[list[str], ...],
    inference: str,
    ard: bool,
    seed: int | None,
) -> None:
    """Fit a Gaussian process to ordered labels.

    TABLE is a .csv, .tsv, .parquet, .arrow or .jsonl file (also .csv.gz), or - for CSV on
    standard input. Every column but the target is a feature; text is encoded as categories.
    """
    from rich.console import Console

    from ordinality import tables

    task = tables.features_and_target(
        tables.read(table), target, [*chain(*features)] or None, [*chain(*drop)]
    )
    say(task.notes)
    ranking = _ranking(task, target, order)
    model = _fitted(task, ranking, inference, ard, seed)
    # Names and labels are data: square brackets in them are no markup.
    console = Console(markup=False, emoji=False, highlight=False)
    _show_levels(console, target, ranking, ranking.encode(task.y), model.thresholds_)
    _show_scores(console, ranking, task.y, model.loo_proba_)
    _show_model(console, model, inference)
    _show_relevance(console, task.names, model.relevance_)


def say(sentences: Iterable[str]) -> None:
    """Talk to the person without touching the results."""
    for sentence in sentences:
        click.echo(sentence, err=True)


def _ranking(task: Task, target: str, stated: list[str] | None) -> Order:
    """The order of the labels: as stated, as the file has it, or sorted and said aloud."""
    from ordinality import levels

    order = _like_labels(stated, task.y) if stated else task.order
    try:
        ranking = levels.resolve(task.y, order)
    except ValueError as problem:  # there the order is a parameter, here an option
        raise ValueError(str(problem).replace("`levels`", "--order")) from None
    if ranking.guessed:
        labels = ranking.levels.tolist()
        say(
            [
                f"Warning: {target} is text without a stated order, taken alphabetically as "
                f"{' < '.join(labels)}; if that is wrong, put the labels in order, lowest "
                f"first, in --order {_as_argument(labels)}"
            ]
        )
    return ranking


def _like_labels(stated: list[str], y: np.ndarray) -> list[Any]:
    """Labels typed on the command line, as the numbers or truth values that `y` holds."""
    if y.dtype.kind == "U":
        return list(stated)
    try:
        return [json.loads(label.lower()) for label in stated]
    except json.JSONDecodeError:
        raise ValueError(
            f"--order lists {', '.join(stated)}, but the labels are numbers such as "
            f"{y[0].item()}; list those, lowest first."
        ) from None


def _as_argument(names: list[str]) -> str:
    """Names as one argument of a command line, so that `Names` reads them back."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return shlex.quote(line.getvalue())


def _fitted(task: Task, ranking: Order, inference: str, ard: bool, seed: int | None) -> Any:
    """The estimator, fitted; its warnings are said once each."""
    import numpy as np

    from ordinality.estimators import OrdinalGP

    kernel = None
    if ard:
        from ordinality.kernels import Gaussian

        d = len(task.names)
        kernel = Gaussian(np.full(d, np.sqrt(d)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = OrdinalGP(
            kernel=kernel, inference=inference, levels=ranking.levels, random_state=seed
        ).fit(task.X, task.y)
    say(f"Warning: {message}" for message in dict.fromkeys(str(w.message) for w in caught))
    return model


def _show_levels(
    console: Console, target: str, ranking: Order, ranks: np.ndarray, thresholds: np.ndarray
) -> None:
    counts = [int((ranks == k).sum()) for k in range(ranking.n_levels)]
    rows = zip(ranking.levels.tolist(), counts, _intervals(thresholds), strict=True)
    _show(
        console,
        [target, "rows", "share", "latent value"],
        [[str(label), str(n), f"{n / len(ranks):.0%}", where] for label, n, where in rows],
    )


def _intervals(thresholds: np.ndarray) -> Iterator[str]:
    yield f"up to {thresholds[0]:.3g}"
    for lower, upper in pairwise(thresholds):
        yield f"{lower:.3g} to {upper:.3g}"
    yield f"above {thresholds[-1]:.3g}"


def _show_scores(console: Console, ranking: Order, y: np.ndarray, proba: np.ndarray) -> None:
    import numpy as np

    # Whoever knows only how frequent the levels are predicts the commonest one.
    share = np.bincount(ranking.encode(y), minlength=ranking.n_levels) / len(y)
    model = _scores(ranking, y, proba)
    baseline = _scores(ranking, y, np.tile(share, (len(y), 1)))
    _show(
        console,
        ["leave-one-out", "model", "commonest level"],
        [[name, f"{model[name]:.3f}", f"{baseline[name]:.3f}"] for name in model],
    )


def _scores(ranking: Order, y: np.ndarray, proba: np.ndarray) -> dict[str, float]:
    from ordinality import metrics

    levels = ranking.levels
    mode = ranking.decode(proba.argmax(axis=1))
    return {
        "zero-one error": metrics.zero_one_error(y, mode, levels=levels),
        "mean absolute error": metrics.mean_absolute_error(y, mode, levels=levels),
        "ranked probability score": metrics.ranked_probability_score(y, proba, levels=levels),
        "log score": metrics.log_score(y, proba, levels=levels),
    }


def _show_model(console: Console, model: Any, inference: str) -> None:
    settled = "converged" if model.converged_ else "not converged"
    _show(
        console,
        ["model", ""],
        [
            ["noise", f"{model.noise_:.3g}"],
            ["log evidence", f"{model.log_evidence_:.2f}"],
            ["inference", f"{inference}, {settled} after {model.n_iter_} evaluations"],
        ],
    )


def _show_relevance(console: Console, names: tuple[str, ...], relevance: np.ndarray) -> None:
    import numpy as np

    if np.ptp(relevance) == 0:
        console.print(
            f"One length scale for all {len(names)} features; --ard learns one for each."
        )
        return
    ink = "#" if console.options.ascii_only else "█"
    most = relevance.argsort(kind="stable")[::-1]
    _show(
        console,
        ["feature", "relevance", ""],
        [
            [names[i], f"{relevance[i]:.3g}", ink * round(BAR * relevance[i] / relevance.max())]
            for i in most[:SHOWN]
        ],
    )
    if len(names) > SHOWN:
        console.print(f"and {len(names) - SHOWN} more of less relevance")


def _show(console: Console, titles: list[str], rows: list[list[str]]) -> None:
    """One table: words on the left, then numbers under their titles."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, title in enumerate(titles):
        justify: Literal["left", "right"] = "right" if i and title else "left"
        table.add_column(title, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()
