"""What an experiment is, as a value: sets, partitions, methods, metrics, published numbers.

A `Spec` is one table or figure of a paper. Its cells are its sets times its partitions times
its methods, and each cell is computed by ``method.function(problem, seed, **settings)``, where
``problem = spec.problem(set, partition)`` and the seed is the partition's number. Specs that
share an `experiment` share their cells: what one table has computed, another only reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Cell", "Marks", "Method", "Metric", "Published", "Spec"]


@dataclass(frozen=True)
class Cell:
    """One method on one partition of one set."""

    experiment: str
    set: str
    partition: int
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> str:
        """What identifies the cell, in every process and on every machine."""
        parts = [self.experiment, self.set, self.partition, self.method, dict(self.settings)]
        return json.dumps(parts, sort_keys=True)


@dataclass(frozen=True)
class Method:
    """A method of an experiment: its name, and the function that computes a cell of it.

    Parameters
    ----------
    name : str
        As the command line and the rows have it.
    title : str
        As tables show it.
    function : callable
        ``function(problem, seed, **settings)`` gives a dict of numbers, or lists of them, by
        metric. It must be importable from a module where worker processes are used.
    settings : mapping, default={}
        Part of the cell's key: with other settings it is another cell.
    optional : bool, default=False
        Whether it is computed only when it is named: beyond the paper, or slow.
    column : str, default=""
        The method beside whose published numbers it is set, if not its own.
    reads : str, default=""
        The method whose cells it reads, if it is another view of the same cells.
    suffix : str, default=""
        What is put behind the names of the metrics in those cells.

    Examples
    --------
    >>> from ordinality.experiments import Method
    >>> def guess(problem, seed, offset):
    ...     return {"error": problem + offset}
    >>> Method("guess", "Guess", guess, {"offset": 1}).settings
    {'offset': 1}
    """

    name: str
    title: str
    function: Callable[..., Mapping[str, Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    optional: bool = False
    column: str = ""
    reads: str = ""
    suffix: str = ""


@dataclass(frozen=True)
class Metric:
    """A number of a cell, and how tables show it.

    Parameters
    ----------
    name : str
        In the rows.
    title : str
        In the tables.
    scale : float, default=1.0
        From the units of the rows to those of the table.
    decimals : int, default=3
        That a table shows.
    higher_is_better : bool, default=False
        Whether the highest mean is the best; else the lowest is.
    methods : tuple of str, default=()
        The methods that have it, if not all have.

    Examples
    --------
    >>> from ordinality.experiments import Metric
    >>> Metric("zero_one", "zero-one error %", scale=100, decimals=2).shown(0.5423)
    '54.23'
    """

    name: str
    title: str
    scale: float = 1.0
    decimals: int = 3
    higher_is_better: bool = False
    methods: tuple[str, ...] = ()

    def shown(self, value: float) -> str:
        """Format a value of this metric as the table prints it.

        Parameters
        ----------
        value : float
            In the units of the rows.

        Returns
        -------
        text : str
            In the units of the table.
        """
        return f"{self.scale * value:.{self.decimals}f}"


@dataclass(frozen=True)
class Published:
    """Mean and spread as a paper prints them, in the units of the table."""

    mean: float
    spread: float | None = None
    printed: tuple[str, ...] = ()  # the same with the digits of the paper
    star: bool = False  # whether the paper marks it as significantly worse
    bold: bool | None = None  # None if the text of the paper has lost bold type


@dataclass(frozen=True)
class Marks:
    """Which entries a paper marks: the best in bold, and some as worse.

    "rank-sum": the lowest mean is bold, and a star is set where Wilcoxon's rank-sum test finds
    the entry worse than it. "standard-error": bold is what lies within one standard error of
    the best, and nothing has a star.
    """

    rule: str = "rank-sum"
    level: float = 0.01  # of the test
    against: str | None = None  # the method that the test compares with, in place of the best


@dataclass(frozen=True)
class Spec:
    """An experiment as a value: one table or figure, of a paper or of your own.

    Parameters
    ----------
    name : str
        Such as "gpor/table-2".
    title : str
        What it shows.
    source : str
        The paper with its section.
    experiment : str
        The file of rows that its cells are kept in.
    sets : tuple of str
        Names of the data sets.
    partitions : int
        Number of partitions of each set, counted from 1.
    methods : tuple of Method
        What is compared.
    metrics : tuple of Metric
        By what.
    problem : callable
        ``problem(set, partition)`` loads what the methods need.
    published : mapping, default={}
        From (set, method, metric) to `Published`, as far as numbers are printed.
    trials : int, default=20
        Over how many partitions the paper's means are.
    spread : {"sd", "se"}, default="sd"
        Whether the paper prints standard deviations or standard errors of the mean.
    marks : Marks, default=Marks()
        Which entries are set in bold or have a star.
    notes : tuple of str, default=()
        What a reader of the comparison must know; why cells disagree.
    axis : mapping, default=None
        Of a figure: from set to (panel, position on the axis).
    axis_title : str, default=""
        Of a figure.
    along : tuple of float, default=None
        Of a figure whose cells are curves: where on the axis the entries of each metric are.
    apart : frozenset of (set, method), default=frozenset()
        Cells that take so long that they are computed only when the method is named.
    fewer : mapping, default={}
        From set to its number of partitions, of sets that have fewer than the others.
    build : callable, default=None
        ``build(spec, rows)`` makes the report's table where it is not one of means.
    draw : callable, default=None
        ``draw(spec, rows)`` makes the picture where it is not one of curves.

    Examples
    --------
    >>> from ordinality.experiments import Method, Metric, Spec
    >>> def guess(problem, seed):
    ...     return {"error": problem + seed}
    >>> spec = Spec("demo/table-1", "A demonstration", "nowhere", "demo", sets=("a", "b"),
    ...             partitions=2, methods=(Method("guess", "Guess", guess),),
    ...             metrics=(Metric("error", "error"),), problem=lambda name, partition: 0.5)
    >>> [(cell.set, cell.partition) for cell in spec.cells()]
    [('a', 1), ('b', 1), ('a', 2), ('b', 2)]
    """

    name: str
    title: str
    source: str
    experiment: str
    sets: tuple[str, ...]
    partitions: int
    methods: tuple[Method, ...]
    metrics: tuple[Metric, ...]
    problem: Callable[[str, int], Any]
    published: Mapping[tuple[str, str, str], Published] = field(default_factory=dict)
    trials: int = 20
    spread: str = "sd"
    marks: Marks = field(default_factory=Marks)
    notes: tuple[str, ...] = ()
    axis: Mapping[str, tuple[str, float]] | None = None
    axis_title: str = ""
    along: tuple[float, ...] | None = None
    apart: frozenset[tuple[str, str]] = frozenset()
    fewer: Mapping[str, int] = field(default_factory=dict)
    build: Callable[..., Any] | None = None
    draw: Callable[..., Any] | None = None

    def method(self, name: str) -> Method:
        """Look up a method.

        Parameters
        ----------
        name : str
            Of the method.

        Returns
        -------
        method : Method
            The one called so.
        """
        return _named(self.methods, name, "method", self.name)

    def computes(self, cell: Cell) -> Method:
        """Look up the method that computes a cell.

        Parameters
        ----------
        cell : Cell
            One of this experiment.

        Returns
        -------
        method : Method
            The one whose function is to be called, also where the table shows a view of it.
        """
        return next(m for m in self.methods if (m.reads or m.name) == cell.method)

    def metric(self, name: str) -> Metric:
        """Look up a metric.

        Parameters
        ----------
        name : str
            Of the metric.

        Returns
        -------
        metric : Metric
            The one called so.
        """
        return _named(self.metrics, name, "metric", self.name)

    def cells(
        self,
        sets: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        partitions: Sequence[int] | None = None,
    ) -> Iterator[Cell]:
        """Enumerate cells, first partitions first, so that a table over all sets exists early.

        Of several views of a cell there is one cell.

        Parameters
        ----------
        sets : list of str, default=None
            None is all.
        methods : list of str, default=None
            None is all that are neither optional nor `apart`.
        partitions : list of int, default=None
            None is all.

        Yields
        ------
        cell : Cell
            One method on one partition of one set.
        """
        chosen = [self.method(name) for name in methods] if methods else None
        _check(sets, self.sets, "set", self.name)
        _check(partitions, range(1, self.partitions + 1), "partition", self.name)
        for partition in range(1, self.partitions + 1):
            if partitions and partition not in partitions:
                continue
            for name in self.sets:
                if (sets and name not in sets) or partition > self.partitions_of(name):
                    continue
                every = (self.cell(name, partition, m) for m in chosen or self._plain(name))
                yield from {cell.key: cell for cell in every}.values()

    def partitions_of(self, name: str) -> int:
        """Count the partitions of a set.

        Parameters
        ----------
        name : str
            Of the set.

        Returns
        -------
        count : int
            They are numbered from 1 to it.
        """
        return self.fewer.get(name, self.partitions)

    def _plain(self, name: str) -> list[Method]:
        """Methods of a run that names none."""
        return [m for m in self.methods if not m.optional and (name, m.name) not in self.apart]

    def cell(self, name: str, partition: int, method: Method) -> Cell:
        """Name the cell of a set, a partition and a method.

        Parameters
        ----------
        name : str
            Of the set.
        partition : int
            Counted from 1.
        method : Method
            One of this experiment.

        Returns
        -------
        cell : Cell
            Its ``key`` finds the row in `Store.rows`.
        """
        return Cell(
            self.experiment, name, partition, method.reads or method.name, method.settings
        )


def _named(things: Sequence[Any], name: str, what: str, spec: str) -> Any:
    _check([name], [thing.name for thing in things], what, spec)
    return next(thing for thing in things if thing.name == name)


def _check(asked: Sequence[Any] | None, known: Sequence[Any], what: str, spec: str) -> None:
    for name in asked or ():
        if name not in known:
            shown = f"1 to {known[-1]}" if isinstance(known, range) else ", ".join(known)
            raise ValueError(f"{spec} has no {what} {name}; it has {shown}.")
