"""Experiments by name: the papers' tables and figures, called by paper and number, and our own.

`names` lists them and `get` has one; a module for each paper holds what was printed and which
settings our side has, and is imported when it is asked for. Our own experiments, which have no
printed numbers beside them, are modules beside this package.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ordinality.experiments.spec import Spec

__all__ = ["get", "names"]

PAPERS = ("gpor", "orboost", "plsor", "preference")
OWN = ("defaults", "large_data", "league")


@cache
def _all() -> dict[str, Spec]:
    homes = [f"{__name__}.{paper}" for paper in PAPERS]
    homes += [f"ordinality.experiments.{own}" for own in OWN]
    modules = [import_module(home) for home in homes]
    specs = [spec for module in modules for spec in module.SPECS]
    return {spec.name: spec for spec in sorted(specs, key=lambda spec: spec.name)}


def names() -> list[str]:
    """Names of all specs, sorted: paper, then tables after figures."""
    return list(_all())


def get(name: str) -> Spec:
    """The spec called `name`, such as "gpor/table-2"."""
    from difflib import get_close_matches

    specs = _all()
    if name not in specs:
        near = get_close_matches(name, specs, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(specs)}."
        raise ValueError(f"there is no experiment called {name!r}; {hint}")
    return specs[name]
