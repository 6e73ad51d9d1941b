"""Messages of a long fit: to a logger, and to stderr if it is verbose.

Every estimator has a logger named after its class below "ordinality". Nothing here configures
logging; lines for stderr are written only where no handler of the user's writes them.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from numbers import Integral
from typing import Any

__all__ = ["FitLog", "SearchLog"]


logging.getLogger("ordinality").addHandler(logging.NullHandler())


_SILENCE = 5.0  # seconds after which the next step is logged like a stage


class FitLog:
    """Messages of one fit.

    Stages are logged as INFO and written at ``verbose=1``, steps as DEBUG and at ``verbose=2``.
    """

    def __init__(self, estimator: Any) -> None:
        verbose = estimator.verbose
        if not isinstance(verbose, Integral) or verbose < 0:
            raise ValueError(
                f"verbose={verbose!r} must be a whole number: 0 for no messages, 1 for the "
                "stages of a fit, 2 for every step."
            )
        self._verbose, self._name = int(verbose), type(estimator).__name__
        self._logger = logging.getLogger(f"ordinality.{self._name}")
        self._lock = threading.Lock()
        self._begun = self._last = time.monotonic()

    @property
    def wanted(self) -> bool:
        """Whether any message will be shown or logged."""
        return self._verbose > 0 or self._logger.isEnabledFor(logging.INFO)

    def stage(self, text: str, *values: Any) -> None:
        """A part of the fit is done; values are put into the text as by logging."""
        self._tell(logging.INFO, text, values)

    def step(self, text: str, *values: Any) -> None:
        """One of many steps is done; after 5 s of silence it is logged as a stage."""
        silent = time.monotonic() - self._last >= _SILENCE
        self._tell(logging.INFO if silent else logging.DEBUG, text, values)

    def counter(self, what: str, total: int) -> Callable[[int], None]:
        """A function to call with the number of pieces done, from any thread."""
        done, begun = 0, time.monotonic()

        def tick(more: int = 1) -> None:
            nonlocal done
            with self._lock:
                done += more
                left = (time.monotonic() - begun) * (total - done) / done
            self.step("%s %d of %d, about %s left", what, done, total, _duration(left))

        return tick

    def solver(self, n_steps: int, violation: float) -> None:
        """Progress of the solver of a support vector machine."""
        self.step("%d steps of the solver, violation %.2g", n_steps, violation)

    def _tell(self, level: int, text: str, values: tuple[Any, ...]) -> None:
        shown = self._verbose >= (1 if level == logging.INFO else 2)
        if not (shown or self._logger.isEnabledFor(level)):
            return
        now = time.monotonic()
        line = f"{text % values} ({_duration(now - self._begun)})"
        self._last = now if level == logging.INFO else self._last
        if shown and not _handled(self._logger, level):
            print(f"{self._name}: {line}", file=sys.stderr, flush=True)
        self._logger.log(level, "%s", line)


class SearchLog:
    """Messages of the search of a Gaussian process: evaluations, and a line for each subset."""

    def __init__(self, log: FitLog, n: int) -> None:
        self._log, self._n, self._lock = log, n, threading.Lock()
        self._now, self._count, self._best = 0, 0, float("-inf")

    def __call__(self, observations: int, value: float) -> None:
        """An evaluation on so many observations gave this value of the criterion."""
        with self._lock:  # starts may run in several threads
            if observations != self._now:
                self.end()
                self._now, self._count, self._best = observations, 0, float("-inf")
            self._count, self._best = self._count + 1, max(self._best, value)
            self._log.step(
                "%d of %d observations, evaluation %d: criterion %.6g",
                *(observations, self._n, self._count, value),
            )

    def end(self) -> None:
        """The search of this subset is over."""
        if self._count:
            self._log.stage(
                "%d of %d observations, %d evaluations: criterion %.6g",
                *(self._now, self._n, self._count, self._best),
            )


def _handled(logger: logging.Logger, level: int) -> bool:
    """Whether a handler of the user's takes messages of this level."""
    at: logging.Logger | None = logger if logger.isEnabledFor(level) else None
    while at is not None:
        own = [h for h in at.handlers if not isinstance(h, logging.NullHandler)]
        if any(handler.level <= level for handler in own):
            return True
        at = at.parent if at.propagate else None
    return False


def _duration(seconds: float) -> str:
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5970 else f"{seconds / 3600:.1f} h"
