"""What estimators with free parameters share: the prior, the search, and what to say of it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..gp.hyperpriors import hyperprior
from ..gp.optimise import Fit, maximise, scattered
from ._progress import FitLog, SearchLog
from ._threads import one_pool, thread_map

__all__ = ["Learner"]

# A row of weight w is rounded by eps w in the criterion, and its site is w times as sharp as
# others: from here on that, not the number of iterations, is why an engine does not settle.
_HEAVY = 1e6


class Learner:
    """An estimator that maximises a criterion over the free parameters of a problem."""

    hyperprior: Any
    optimizer: str | None
    restarts: int
    max_evaluations: int
    random_state: Any
    n_jobs: int | None
    verbose: int
    fit_: Fit[Any]

    def _prior(self, problem: Any) -> Any:
        return hyperprior(self.hyperprior, problem.theta, problem.kinds)

    def _starts(self, problem: Any, rng: np.random.Generator) -> list[np.ndarray]:
        """Where learning starts besides the problem's own theta."""
        return scattered(problem, self.restarts, rng)

    def _learn(self, problem: Any, coarse_to_fine: bool) -> Fit[Any]:
        """Search for the best parameters; what cannot be computed at their start is refused."""
        try:
            return self._searched(problem, coarse_to_fine)
        except FloatingPointError as wrong:
            most = float(np.max(problem.weights))
            if most <= _HEAVY:
                raise ValueError(
                    f"the model cannot be computed where learning starts: {wrong}"
                ) from wrong
            raise ValueError(
                f"sample weights reach {most:.1e}, and that many copies of a row leave no "
                "digits for anything else; divide the weights by their mean."
            ) from wrong

    def _searched(self, problem: Any, coarse_to_fine: bool) -> Fit[Any]:
        n, log = len(problem.y), FitLog(self)
        if self.optimizer is None:
            with one_pool(n):
                found = problem.evaluate(problem.theta)
            log.stage("%d observations, 1 evaluation: criterion %.6g", n, found.value)
            return Fit(problem, found, 1, ((n, 1),), True)
        tell = SearchLog(log, n) if log.wanted else None
        seed = 0 if self.random_state is None else self.random_state
        rng = np.random.default_rng(check_random_state(seed).randint(2**31))
        starts = self._starts(problem, rng)
        found = maximise(
            problem,
            starts=starts,
            coarse_to_fine=coarse_to_fine,
            max_evaluations=self.max_evaluations,
            mapper=thread_map(self.n_jobs) if starts else map,
            hold=one_pool,
            rng=rng,
            tell=tell,
        )
        if tell is not None:
            tell.end()
        return found

    def _at(self, theta: Any) -> tuple[Fit[Any], np.ndarray]:
        """The fit, and a checked theta (its own if None)."""
        check_is_fitted(self)
        best = self.fit_.best.theta
        theta = best if theta is None else np.asarray(theta, dtype=np.float64)
        if theta.shape != best.shape:
            names = ", ".join(self.fit_.problem.kinds)
            raise ValueError(f"theta has shape {theta.shape}, wanted {best.shape}: {names}.")
        return self.fit_, theta

    def _warn_of_unsettled(self, inference: str, tol: float, stacklevel: int = 5) -> None:
        a, weights = self.fit_.best.approximation, self.fit_.problem.weights
        advice = "Raise max_iter or tol, or try inference='laplace'."
        if np.max(weights) > _HEAVY:
            advice = (
                f"Sample weights reach {np.max(weights):.1e}, and that many copies of a row "
                "leave too few digits for the others: divide the weights by their mean "
                f"({np.mean(weights):.2g}), and look for errors in the largest."
            )
        warnings.warn(
            f"{inference} stopped after {a.n_iter} iterations: residual {a.residual:.1e} is "
            f"above tol={tol:.0e}. The model is usable but its evidence is approximate. "
            f"{advice}",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )

    def _warn_of_cut_search(self, criterion: str) -> None:
        warnings.warn(
            f"learning stopped after {self.fit_.n_evaluations} evaluations while {criterion} "
            "was still rising; the best model found is kept. Raise max_evaluations, or start "
            "from a better kernel.",
            ConvergenceWarning,
            stacklevel=5,
        )
