"""Fits that succeed whole or change nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = ["atomic"]

Method = TypeVar("Method", bound=Callable[..., Any])


def atomic(method: Method) -> Method:
    """Run a method that fits on a copy of its estimator, and keep the copy's state at the end.

    An error or an interrupt on the way leaves the estimator as it was. The copy is shallow:
    the method may replace fitted attributes, but must not change them in place.
    """

    @wraps(method)  # scikit-learn reads the signature
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        method(copy, *args, **kwargs)
        self.__dict__ = copy.__dict__  # one assignment, which an interrupt cannot divide
        return self

    return cast(Method, whole)
