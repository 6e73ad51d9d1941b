"""Small published tables that come with the package.

Their numbers are facts printed in the literature, which is named with each; the files were
written for this package and carry its licence. Tables of counts have a row for each cell and
the count as its weight; `Dataset.repeated` has a row for each case instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .folder import read_columns
from .loading import Columns, Dataset, encoded

__all__ = [
    "CLASSICS",
    "Classic",
    "embedded_path",
    "load_arthritis",
    "load_baseball",
    "load_cheese",
    "load_citations",
    "load_embedded",
    "load_housing",
    "load_mental",
    "load_pneumoconiosis",
    "load_wine",
]

LICENCE = "published facts; the file under the licence of this package"


@dataclass(frozen=True)
class Classic:
    """A table of the package: what its columns mean and where its numbers were printed."""

    about: str
    source: str
    target: str = ""  # column of ordered labels
    levels: tuple[str, ...] = ()  # lowest first
    pair: tuple[str, str] = ("", "")  # columns of winner and loser
    count: str = ""  # column of how many cases a row stands for


CLASSICS = {
    "wine": Classic(
        "bitterness of wine rated by nine judges",
        "Randall (1989), Biometrical Journal 31, 781-793",
        "rating",
        ("1", "2", "3", "4", "5"),
    ),
    "housing": Classic(
        "satisfaction of tenants in Copenhagen with their housing",
        "Madsen (1976), Scandinavian Journal of Statistics 3, 97-106",
        "satisfaction",
        ("low", "medium", "high"),
        count="count",
    ),
    "cheese": Classic(
        "liking of four cheeses on a scale of nine",
        "McCullagh & Nelder (1989), Generalized Linear Models, 2nd ed., section 5.3.1",
        "liking",
        ("1", "2", "3", "4", "5", "6", "7", "8", "9"),
        count="count",
    ),
    "pneumoconiosis": Classic(
        "lungs of coal miners by years at the face",
        "Ashford (1959), Biometrics 15, 573-581",
        "state",
        ("normal", "mild", "severe"),
        count="count",
    ),
    "arthritis": Classic(
        "improvement of arthritis in a clinical trial",
        "Koch & Edwards (1988), in Peace (ed.), Biopharmaceutical Statistics",
        "improvement",
        ("none", "some", "marked"),
    ),
    "mental": Classic(
        "mental health by socioeconomic status of the parents",
        "Srole et al. (1962), Mental Health in the Metropolis",
        "health",
        ("well", "mild", "moderate", "impaired"),
        count="count",
    ),
    "baseball": Classic(
        "games of the American League East in 1987",
        "Agresti (1990), Categorical Data Analysis",
        pair=("winner", "loser"),
        count="games",
    ),
    "citations": Classic(
        "citations between four journals of statistics",
        "Stigler (1994), Statistical Science 9, 94-108",
        pair=("cited", "citing"),
        count="citations",
    ),
}


def embedded_path(name: str) -> Path:
    """Path of the CSV file of an embedded table.

    Parameters
    ----------
    name : str
        A key of `CLASSICS`.

    Returns
    -------
    Path
        A file within the package.

    Examples
    --------
    >>> embedded_path("wine").name
    'wine.csv'
    """
    if name not in CLASSICS:
        raise ValueError(
            f"{name!r} is not a table of the package; choose one of {', '.join(CLASSICS)}."
        )
    return Path(__file__).parent / "embedded" / f"{name}.csv"


def load_embedded(name: str) -> Dataset:
    """Read a table of the package by its name.

    Parameters
    ----------
    name : str
        A key of `CLASSICS`.

    Returns
    -------
    Dataset
        Ordered labels or comparisons.

    Examples
    --------
    >>> load_embedded("cheese")
    Dataset('cheese', ordinal: 36 rows, 4 inputs, 9 levels)
    """
    columns = read_columns(embedded_path(name))
    return (_comparisons if CLASSICS[name].pair[0] else _ordinal)(name, CLASSICS[name], columns)


def _ordinal(name: str, about: Classic, columns: Columns) -> Dataset:
    X, names = encoded(columns, (about.target, about.count))
    labels = columns[about.target]
    if labels.dtype.kind == "f":
        y = labels.astype(np.int64)
    else:
        y = np.array([1 + about.levels.index(label) for label in labels.tolist()])
    return Dataset(
        name, "ordinal", X, y, names, about.levels,
        weight=columns[about.count].copy() if about.count else None,
        description=about.about, source=about.source, licence=LICENCE,
    )  # fmt: skip


def _comparisons(name: str, about: Classic, columns: Columns) -> Dataset:
    first, second = (columns[column].tolist() for column in about.pair)
    items = tuple(dict.fromkeys(first))
    pairs = [[items.index(a), items.index(b)] for a, b in zip(first, second, strict=True)]
    return Dataset(
        name, "comparisons", np.empty((len(items), 0)), np.ones(len(pairs), dtype=np.int64), (),
        items=items, pairs=np.array(pairs), weight=columns[about.count].copy(),
        description=about.about, source=about.source, licence=LICENCE,
    )  # fmt: skip


def load_wine() -> Dataset:
    """Bitterness of wine: 72 ratings, 1 (least) to 5 (most), by nine judges of eight bottles.

    Two factors were varied when the wine was made, the temperature at which the grapes were
    crushed and the contact of juice with skins; each treatment fills two bottles. Source:
    Randall, J. H. (1989), "The analysis of sensory data by generalised linear model",
    Biometrical Journal 31, 781-793. The file is that of ``examples/wine.csv``.

    Returns
    -------
    Dataset
        A row for each rating.

    Examples
    --------
    >>> import numpy as np
    >>> np.bincount(load_wine().y)[1:].tolist()
    [5, 22, 26, 12, 7]
    """
    return load_embedded("wine")


def load_housing() -> Dataset:
    """Satisfaction with housing in Copenhagen: 72 cells, 1681 tenants.

    Low, medium or high, by the kind of home, the influence tenants feel they have on its
    management, and their contact with other residents. Source: Madsen, M. (1976), "Statistical
    analysis of multiple contingency tables: two examples", Scandinavian Journal of Statistics
    3, 97-106; the numbers agree with those of Venables & Ripley's R package MASS.

    Returns
    -------
    Dataset
        A row for each cell of the table, with its count as the weight.

    Examples
    --------
    >>> import numpy as np
    >>> housing = load_housing()
    >>> np.bincount(housing.y, housing.weight)[1:].tolist()
    [567.0, 446.0, 668.0]
    """
    return load_embedded("housing")


def load_cheese() -> Dataset:
    """Liking of four cheeses, 1 (strong dislike) to 9 (excellent taste): 36 cells, 208 answers.

    Source: McCullagh, P. & Nelder, J. A. (1989), Generalized Linear Models, 2nd ed., section
    5.3.1, data of G. Newell; 52 answers for each cheese. A proportional odds model of the
    numbers here has a log-likelihood of -355.67, as in the manual of the program JMP.

    Returns
    -------
    Dataset
        A row for each cell of the table, with its count as the weight.

    Examples
    --------
    >>> import numpy as np
    >>> cheese = load_cheese()
    >>> (cheese.weight @ cheese.X).tolist()
    [52.0, 52.0, 52.0, 52.0]
    """
    return load_embedded("cheese")


def load_pneumoconiosis() -> Dataset:
    """Lungs of coal miners, normal, mild or severe, by years at the face: 24 cells, 371 men.

    Source: Ashford, J. R. (1959), "An approach to the analysis of data for semi-quantal
    responses in biological assay", Biometrics 15, 573-581.

    Returns
    -------
    Dataset
        A row for each cell of the table, with its count as the weight.

    Examples
    --------
    >>> import numpy as np
    >>> miners = load_pneumoconiosis()
    >>> np.bincount(miners.y, miners.weight)[1:].tolist()
    [289.0, 38.0, 44.0]
    """
    return load_embedded("pneumoconiosis")


def load_arthritis() -> Dataset:
    """Improvement of rheumatoid arthritis, none, some or marked, of 84 patients in a trial.

    By treatment (a drug or a placebo), sex and age. Source: Koch, G. & Edwards, S. (1988),
    "Clinical efficiency trials with categorical data", in K. E. Peace (ed.), Biopharmaceutical
    Statistics for Drug Development, 403-451; the rows agree with those of the R package vcd.

    Returns
    -------
    Dataset
        A row for each patient.

    Examples
    --------
    >>> import numpy as np
    >>> trial = load_arthritis()
    >>> trial.feature_names, np.bincount(trial.y)[1:].tolist()
    (('treatment=treated', 'sex=male', 'age'), [42, 14, 28])
    """
    return load_embedded("arthritis")


def load_mental() -> Dataset:
    """Mental health of 1660 people in Manhattan by socioeconomic status of their parents.

    Well, mild or moderate symptoms, impaired; status 1 (highest) to 6 (lowest). Source: Srole,
    L. et al. (1962), Mental Health in the Metropolis: The Midtown Manhattan Study; the numbers
    agree with those of the R package vcdExtra.

    Returns
    -------
    Dataset
        A row for each cell of the table, with its count as the weight.

    Examples
    --------
    >>> import numpy as np
    >>> mental = load_mental()
    >>> np.bincount(mental.y, mental.weight)[1:].tolist()
    [307.0, 602.0, 362.0, 389.0]
    """
    return load_embedded("mental")


def load_baseball() -> Dataset:
    """Who beat whom in the American League East in 1987: seven teams, 273 games.

    Every pair of teams met 13 times. Source: Agresti, A. (1990), Categorical Data Analysis;
    a Bradley-Terry model of the numbers here has the abilities printed there.

    Returns
    -------
    Dataset
        A row for each winner and loser, with the number of games as the weight.

    Examples
    --------
    >>> baseball = load_baseball()
    >>> baseball.items[:2], float(baseball.weight.sum())
    (('Milwaukee', 'Detroit'), 273.0)
    """
    return load_embedded("baseball")


def load_citations() -> Dataset:
    """Which of four journals of statistics cited which, as comparisons.

    The cited journal is the winner; citations of a journal by itself are left out. Source:
    Stigler, S. (1994), "Citation patterns in the journals of statistics and probability",
    Statistical Science 9, 94-108; a Bradley-Terry model has the export scores known for them.

    Returns
    -------
    Dataset
        A row for each cited and citing journal, with the count as the weight.

    Examples
    --------
    >>> load_citations()
    Dataset('citations', comparisons: 12 rows, 4 items)
    """
    return load_embedded("citations")
