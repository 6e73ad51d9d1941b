"""The papers' tables and figures, each a Python value called by its paper and number.

`names` lists them and `get` has one; a module for each paper holds what was printed and which
settings our side has, and is imported when it is asked for.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ordinality.experiments.spec import Spec

__all__ = ["get", "names"]

PAPERS = ("gpor", "orboost", "plsor", "preference")


@cache
def _all() -> dict[str, Spec]:
    modules = [import_module(f"{__name__}.{paper}") for paper in PAPERS]
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
