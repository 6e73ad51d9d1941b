"""What the Gaussian-process estimators share.

`Learner` searches the free parameters of an objective; `GaussianProcessClassifier` fits and
predicts ordered labels with a latent function.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ..gp.hyperpriors import hyperprior
from ..gp.optimise import Fit, learn_points, maximise, scattered, stratified_order
from ..gp.posterior.inducing import InducingPoints, InducingPredictor
from ..gp.stream import Belief, Settled, settle
from ..kernels.base import Kernel
from ..kernels.foreign import translate
from .base_ordinal import OrdinalClassifier
from .fitting import (
    FitLog,
    Scaling,
    SearchLog,
    atomic,
    canonical_order,
    check_weights,
    first_copies,
    rows_of,
)
from .threads import one_pool, thread_map

__all__ = [
    "MUCH",
    "POINTS",
    "SEARCHED",
    "GaussianProcessClassifier",
    "Learner",
    "inducing_points",
    "is_rectangular",
    "n_distinct",
    "sample_size",
    "warn_unexplained",
]

# A row of weight w is rounded by eps w in the criterion, and its site is w times as sharp as
# others: above this weight that is why an engine or a search does not converge.
_HEAVY = 1e6

# Inducing points. Exact inference takes 8 s at 2000 rows; 500 points are as good there, and
# leave 1 % of the variance of a smooth function of eight features. Theta is learnt as well from
# 4000 rows as from 20,000. A choice among 20 rows for each point is as good as among all.
_EXACT, _LARGEST, POINTS, SEARCHED, _PER_POINT = 2000, 20_000, 500, 4000, 20
_PER_LEARNT = 50  # rows for each point that is learnt: with fewer the noise vanishes
MUCH = 0.2  # share of the variance: noise of half the spread of the latent function

_MAPPED = 2**26  # bytes of a memory-mapped array that may be copied; joblib maps smaller ones

_BATCH = 2000  # rows predicted at once: bounds the memory for their covariances


class Learner:
    """An estimator that maximises a criterion over the free parameters of an objective."""

    kernel: Any
    learn_points: bool = False
    inference: str
    tol: float
    hyperprior: Any
    optimizer: str | None
    n_restarts: int
    max_evaluations: int
    random_state: Any
    n_jobs: int | None
    verbose: int
    fit_: Fit[Any]
    predictor_: Any
    unexplained_: float
    _kept: np.ndarray

    def _prior(self, problem: Any) -> Any:
        return hyperprior(self.hyperprior, problem.theta, problem.kinds)

    def _generator(self) -> np.random.Generator:
        """Random numbers of a fit; a fixed seed unless one is given."""
        seed = 0 if self.random_state is None else self.random_state
        return np.random.default_rng(check_random_state(seed).randint(2**31))

    def _starts(self, problem: Any, rng: np.random.Generator) -> list[np.ndarray]:
        """Where learning starts besides the problem's own theta."""
        return scattered(problem, self.n_restarts, rng)

    def _learn(self, problem: Any, coarse_to_fine: bool) -> Fit[Any]:
        """Search for the best parameters; refuse data for which the start has no value."""
        try:
            return self._searched(problem, coarse_to_fine)
        except FloatingPointError as wrong:
            most = float(np.max(problem.weights))
            if most <= _HEAVY:
                raise ValueError(
                    f"the criterion cannot be computed at the starting parameters: {wrong}"
                ) from wrong
            raise ValueError(
                f"sample weights reach {most:.1e}, too large for double precision; divide the "
                "weights by their mean."
            ) from wrong

    def _searched(self, problem: Any, coarse_to_fine: bool) -> Fit[Any]:
        n, log = len(problem.y), FitLog(self)
        if self.optimizer is None:
            return self._held(problem)
        tell = SearchLog(log, n) if log.wanted else None
        rng = self._generator()
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

    def _held(self, problem: Any) -> Fit[Any]:
        """The model at the parameters of the problem itself."""
        n, problem = len(problem.y), problem.near(problem.theta)
        with one_pool(n):
            found = problem.evaluate(problem.theta)
        log = FitLog(self)
        log.stage("%d observations, 1 evaluation: criterion %.6g", n, found.value)
        return Fit(problem, found, 1, ((n, 1),), True)

    def _learn_inducing(
        self,
        problem: InducingPoints,
        coarse_to_fine: bool,
        held: bool = False,
        elsewhere: tuple[int, Callable[..., tuple[Belief, Settled]]] | None = None,
    ) -> Fit[Any]:
        """Learn theta on some of the rows, then the inducing values on all of them.

        Keeps ``predictor_``. The fit holds all rows. If all rows are ``elsewhere``, that says
        how many there are and how they settle from a belief and a likelihood; the problem is a
        sample of them, and the fit holds none.
        """
        rng, whole = self._generator(), cast(Any, problem)
        part, n = whole, len(whole.y)
        if whole.pool is None and len(whole.X) > _PER_POINT * whole.count:
            pool = np.sort(rng.choice(len(whole.X), _PER_POINT * whole.count, replace=False))
            part = replace(part, pool=whole.X[pool])
        searched = self._searched_rows(whole, rng)
        if searched is not None:
            part = part.on_rows(searched)
        fit = self._held(part) if held else self._learn(part, coarse_to_fine)
        if self.learn_points and not held:
            fit = self._with_learnt_points(fit, whole, rng)
        whole = replace(whole, Z=fit.problem.Z, pool=None)
        with one_pool(n):
            self.predictor_, best, visits = self._settle(fit, whole, elsewhere)
        if elsewhere is not None:
            n, whole = elsewhere[0], whole.without_rows()
        path = fit.path if len(part.y) == n else (*fit.path, (n, visits))
        return replace(fit, problem=whole, best=best, path=path)

    def _searched_rows(self, problem: Any, rng: np.random.Generator) -> np.ndarray | None:
        """Rows from which theta is learnt; None for all."""
        if len(problem.y) <= SEARCHED:
            return None
        return np.sort(stratified_order(problem.y, rng)[:SEARCHED])

    def _visited(
        self, whole: Any, fit: Fit[Any], belief: Belief, tell: Any
    ) -> tuple[Belief, Settled]:
        """The belief after all rows, from that of the rows from which theta was learnt."""
        return settle(
            belief, whole.model(fit.best.theta)[1], whole.X, whole.y, whole.weights,
            engine=self.inference, tell=tell,
        )  # fmt: skip

    def _with_learnt_points(
        self, fit: Fit[Any], whole: Any, rng: np.random.Generator
    ) -> Fit[Any]:
        """Refine theta and the points together, on rows enough for all of them."""
        M, d = fit.problem.Z.shape
        count = max(SEARCHED, _PER_LEARNT * M * (d + 1) // d)
        if len(whole.y) > count:
            whole = whole.on_rows(np.sort(stratified_order(whole.y, rng)[:count]))
        tell = SearchLog(log, len(whole.y)) if (log := FitLog(self)).wanted else None
        problem = replace(whole, Z=fit.problem.Z, pool=None)
        with one_pool(len(whole.y)):
            found = learn_points(problem, fit.best, self.max_evaluations, tell)
        if tell is not None:
            tell.end()
        return replace(found, path=(*fit.path, *found.path))

    def _settle(
        self,
        fit: Fit[Any],
        whole: Any,
        elsewhere: tuple[int, Callable[..., tuple[Belief, Settled]]] | None = None,
    ) -> tuple[InducingPredictor, Any, int]:
        """The posterior given all rows, with a `Settled` for an approximation, and visits."""
        theta, a = fit.best.theta, fit.best.approximation
        prior, _ = fit.problem.prior_at(theta)
        belief = Belief(prior.basis, prior.gram(a.tau), prior.pull(a.nu))
        n = len(whole.y) if elsewhere is None else elsewhere[0]
        if len(fit.problem.y) < n:
            tell = SearchLog(log, n) if (log := FitLog(self)).wanted else None
            if elsewhere is not None:
                belief, done = elsewhere[1](belief, fit.likelihood, tell)
            else:
                belief, done = self._visited(whole, fit, belief, tell)
            if tell is not None:
                tell.end()
        else:
            done = Settled.of(a, prior.unexplained(whole.weights), prior.residual)
        prior_value = 0.0 if whole.prior is None else whole.prior.value(theta)
        best = replace(
            fit.best, approximation=done, criterion=done.log_evidence,
            value=done.log_evidence + prior_value,
        )  # fmt: skip
        return belief.predictor(), best, done.n_iter

    def _criterion_at(
        self, theta: Any, eval_gradient: bool, **changes: Any
    ) -> float | tuple[float, np.ndarray]:
        """The criterion without its prior at theta, with its gradient if wanted."""
        fit, theta = self._at(theta)
        if not len(fit.problem.y):
            raise ValueError(
                "the rows that this model was learnt from are not kept in a file or a copy of "
                "a model with inducing points, nor after an update or a fit to Dask "
                "collections; fit again to evaluate other parameters, or use "
                "ordinality.distributed.log_evidence."
            )
        with one_pool(len(fit.problem.y)):
            found = replace(fit.problem, prior=None, **changes).evaluate(theta)
        return (found.value, found.gradient) if eval_gradient else found.value

    def _at(self, theta: Any) -> tuple[Fit[Any], np.ndarray]:
        """The fit, and a checked theta (its own if None)."""
        check_is_fitted(self)
        best = self.fit_.best.theta
        theta = best if theta is None else np.asarray(theta, dtype=np.float64)
        if theta.shape != best.shape:
            names = ", ".join(self.fit_.problem.kinds)
            raise ValueError(f"theta has shape {theta.shape}, wanted {best.shape}: {names}.")
        return self.fit_, theta

    def __getstate__(self) -> dict[str, Any]:
        # A model with inducing points is M rows, however many it was learnt from.
        state: dict[str, Any] = cast(Any, super()).__getstate__()
        fit = state.get("fit_")
        if fit is None or not isinstance(fit.problem, InducingPoints):
            return state
        problem, best = fit.problem.without_rows(), fit.best.without_rows()
        state = {name: value for name, value in state.items() if name != "loo_proba_"}
        if "_kept" in state:
            state["_kept"] = state["_kept"][:0]
        return {**state, "fit_": replace(fit, problem=problem, best=best)}

    def _warn_unless_converged(self) -> None:
        """Warn where the engine or the search did not converge."""
        if not self.fit_.best.approximation.converged:
            self._warn_of_engine(self.inference, self.tol)
        elif not self.fit_.converged:
            self._warn_of_search("the evidence")

    def _warn_of_points(self) -> None:
        """Warn where inducing points leave much of the prior variance."""
        if self.unexplained_ > MUCH:
            warn_unexplained(self.unexplained_, len(self.fit_.problem.support), stacklevel=5)

    def _inputs(self) -> str:
        """What the kernel takes; `fit` refuses a wrong kernel."""
        try:
            return translate(self.kernel).inputs
        except (TypeError, ValueError):
            return "features"

    def _warn_of_engine(self, inference: str, tol: float, stacklevel: int = 5) -> None:
        a = self.fit_.best.approximation
        # Student's noise, which is not log-concave, has no other engine.
        other = (
            "link='logit'"
            if getattr(self, "link", "") == "student"
            else ("inference='laplace'")
        )
        advice = self._advice(f"Raise max_iter or tol, or try {other}.")
        warnings.warn(
            f"{inference} did not converge in {a.n_iter} iterations: residual {a.residual:.1e} "
            f"is above tol={tol:.0e}. The model is usable but its evidence is approximate. "
            f"{advice}",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )

    def _warn_of_search(self, criterion: str) -> None:
        warnings.warn(
            f"the search stopped after {self.fit_.n_evaluations} evaluations while {criterion} "
            "was still increasing; the best parameters found are kept. "
            + self._advice("Raise max_evaluations, or start from a better kernel."),
            ConvergenceWarning,
            stacklevel=5,
        )

    def _advice(self, usual: str) -> str:
        """What to do where something did not converge: mend heavy weights, or the usual."""
        weights = self.fit_.problem.weights
        if np.max(weights, initial=0.0) <= _HEAVY:
            return usual
        return (
            f"Sample weights reach {np.max(weights):.1e}, which leaves too few digits for the "
            f"other rows: divide the weights by their mean ({np.mean(weights):.2g}), and check "
            "the largest for errors."
        )


class GaussianProcessClassifier(Learner, OrdinalClassifier):
    """A latent function with a Gaussian-process prior, cut into levels by thresholds.

    Subclasses check their parameters, state the objective, keep the result and warn where
    something did not converge.
    """

    standardize: bool
    coarse_to_fine: bool

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn kernel, thresholds and noise.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Numbers; NaN only with a kernel that takes missing entries. `OrdinalGP` takes an
            iterator of blocks too, each ``(X, y)`` or ``(X, y, sample_weight)``, for rows that
            do not fit in memory: each is handed to its `partial_fit`. It takes Dask arrays and
            data frames, see `ordinality.distributed`. Of a memory-mapped array of more than
            64 MB it reads a block of rows at a time, and ``loo_proba_`` is not computed.
        y : array-like of shape (n,)
            Labels: integers, strings, booleans, an ordered Categorical or Enum. None with an
            iterator.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows: 2 counts as two copies of a row, 0 as none.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        self.__dict__.pop("_stream", None)  # of an earlier `partial_fit`
        if isinstance(X, Iterator):
            return self._fit_blocks(X, y, sample_weight)
        if type(X).__module__.startswith("dask."):
            return self._fit_partitions(X, y, sample_weight)
        if isinstance(X, np.memmap) and X.nbytes > _MAPPED and self._takes_blocks():
            return self._fit_mapped(X, y, sample_weight)
        inputs = self._inputs()
        X, checked = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite=_finite(inputs), y_numeric=False
        )
        weights = check_weights(sample_weight, len(X))
        kept = np.flatnonzero(weights > 0)
        ranks = self._learn_levels(rows_of(y, checked, kept), checked)
        d = X.shape[1]
        kernel = self._start_kernel(d)
        if inputs == "gram":
            kernel = kernel.prepared(X)  # refuses what is not square before rows are dropped
        Z = X[np.ix_(kept, kept)] if inputs == "gram" else X[kept]
        # Rounding depends on the order of rows, and so do the subsets of a coarse search.
        order = canonical_order(Z, ranks, weights[kept], gram=inputs == "gram")
        kept, ranks = kept[order], ranks[order]
        Z = Z[np.ix_(order, order)] if inputs == "gram" else Z[order]
        scaled = self.standardize and inputs == "features"
        self._scaling = Scaling.of(Z, weights[kept]) if scaled else Scaling.none(d)
        Z = Z if inputs == "gram" else self._scaling(Z)
        weights = weights[kept] * self._class_factors(ranks, weights[kept])[ranks]
        objective = self._objective(Z, ranks, weights, kernel.prepared(Z))
        if isinstance(objective, InducingPoints):
            fit = self._learn_inducing(objective, self.coarse_to_fine)
        else:
            fit = self._learn(objective, self.coarse_to_fine)
        with one_pool(len(Z)):
            left_out = self._keep(fit)
            copies = first_copies(Z, ranks, weights)
            self.loo_proba_ = self._leave_one_out(X, kept, copies, left_out)
        self._learn_decision(lambda: self._level_proba(X[np.sort(kept)]))
        self._warn_unless_converged()
        return self

    def predict_latent(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the latent function at each row of X.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Returns
        -------
        mean : ndarray of shape (n,)
            Posterior mean, on the scale of ``thresholds_``.
        variance : ndarray of shape (n,)
            Posterior variance.
        """
        return self._latent(*self._marginals(X))

    def posterior(self, X: Any, joint: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the latent function at rows of X, together.

        The noise of a rank, which `LeastSquaresOrdinalGP.predict_latent` adds, is not in it.

        Parameters
        ----------
        X : array-like of shape (q, d)
            Rows to predict.
        joint : bool, default=True
            Whether covariances between rows are wanted; if not, only variances are computed.

        Returns
        -------
        mean : ndarray of shape (q,)
            Posterior means, on the scale of ``thresholds_``.
        covariance : ndarray of shape (q, q) or (q,)
            Posterior covariances, or variances.
        """
        if joint:
            mean, covariance, _ = self._joint(self._rows(X, together=True))
        else:
            mean, covariance = self._marginals(X)
        return self._latent(mean, np.zeros(len(mean)))[0], covariance

    def level_proba_given(self, X: Any, latent: Any) -> np.ndarray:
        """Probability of each level at known values of the latent function.

        Parameters
        ----------
        X : array-like of shape (q, d)
            Rows, on which the noise may depend.
        latent : array-like of shape (q, m)
            Values of the latent function at each row, on the scale of ``thresholds_``.

        Returns
        -------
        proba : ndarray of shape (q, m, K)
            Columns in the order of ``levels_``.
        """
        check_is_fitted(self)
        likelihood = self._likelihood_of(X)
        latent = np.asarray(latent, dtype=np.float64)
        if latent.ndim != 2 or len(latent) != len(X):
            raise ValueError(
                f"latent has shape {latent.shape}; wanted ({len(X)}, m), some values of the "
                "latent function for each row of X."
            )
        (n, m), K = latent.shape, likelihood.n_levels
        each = likelihood.only(np.repeat(np.arange(n), m * K))
        _, variance = self._latent(np.zeros(1), np.zeros(1))  # what is noise in any case
        levels, f = np.tile(np.arange(K), n * m), np.repeat(latent.ravel(), K)
        if variance[0] > 0.0:
            jet = each.log_expected(levels, f, np.full(len(f), variance[0]))
        else:
            jet = each.point(levels, f)
        return np.exp(jet.value).reshape(n, m, K)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores as scikit-learn expects them; see `predict_latent` for the latent function.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Returns
        -------
        scores : ndarray of shape (n,) or (n, K)
            Two levels: log odds of ``classes_[1]``. More: log probabilities in the order of
            ``classes_``.
        """
        check_is_fitted(self)
        scores = self._likelihood_of(X).log_proba(*self.predict_latent(X))
        scores = scores[:, self._order.columns]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def sample_level_proba(
        self, X: Any, n_samples: int = 100, random_state: Any = None
    ) -> np.ndarray:
        """Draw probabilities of the levels from the posterior of the latent function.

        Each draw is one function that the data leave possible, at all rows together; the spread
        over draws is what the model does not know. The kernel and the thresholds are held.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict. The cost grows with the cube of the number of distinct rows.
        n_samples : int, default=100
            Number of draws.
        random_state : int, RandomState or None, default=None
            Seed of the draws; None is a fixed seed.

        Returns
        -------
        proba : ndarray of shape (n_samples, n, K)
            Columns in the order of ``levels_``. The mean over draws tends to
            `predict_level_proba`.
        """
        X, place = np.unique(self._rows(X, together=True), axis=0, return_inverse=True)
        mean, covariance, prior = self._joint(X)
        seed = 0 if random_state is None else random_state
        rng = np.random.default_rng(check_random_state(seed).randint(2**31))
        draws = mean + rng.standard_normal((n_samples, len(X))) @ _root(covariance, prior)
        latent = self._latent(draws.ravel(), np.zeros(draws.size))
        proba = self._likelihood_of(np.tile(X, (n_samples, 1))).proba(*latent)
        return proba.reshape(n_samples, len(X), -1)[:, place.ravel()]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inputs = self._inputs()
        tags.input_tags.pairwise = inputs == "gram"
        tags.input_tags.allow_nan = inputs == "ratings"
        return tags

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _fit_partitions(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit to Dask collections: fetch them, as all rows are needed in one place."""
        given = (v.compute() if hasattr(v, "compute") else v for v in (X, y, sample_weight))
        return self.fit(*given)

    def _fit_blocks(self, blocks: Iterator[Any], y: Any, sample_weight: Any) -> Self:
        """Fit to an iterator of blocks."""
        raise TypeError(
            f"{type(self).__name__} takes no iterator of blocks; pass arrays, or use OrdinalGP."
        )

    def _takes_blocks(self) -> bool:
        """Whether rows may be read block by block, several times."""
        return False

    def _fit_mapped(self, X: np.memmap, y: Any, sample_weight: Any) -> Self:
        """Fit to a memory-mapped array without reading it whole."""
        raise NotImplementedError

    def _start_kernel(self, d: int) -> Kernel:
        """The kernel of rows of ``d`` features where learning starts."""
        kernel = translate(self.kernel, d)
        kernel.check(d)
        return kernel

    def _objective(
        self, Z: np.ndarray, ranks: np.ndarray, weights: np.ndarray, kernel: Kernel
    ) -> Any:
        raise NotImplementedError

    def _keep(self, fit: Fit[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Keep what was learnt; return the moments of f at each row without that row."""
        raise NotImplementedError

    def _keep_latent(self, fit: Fit[Any]) -> None:
        """Keep what all have: kernel, thresholds, relevance."""
        self.fit_ = fit
        self.kernel_ = fit.kernel
        self.thresholds_ = fit.likelihood.thresholds
        self.relevance_ = self.kernel_.feature_relevance(self.n_features_in_)
        with np.errstate(divide="ignore"):  # a feature without relevance: infinite length
            self.length_scale_ = self._scaling.spread / np.sqrt(self.relevance_)
        self.n_iter_ = fit.n_evaluations

    def _rows(self, X: Any, together: bool = False) -> np.ndarray:
        """Checked rows to predict; ``together``, if covariances between them are wanted."""
        check_is_fitted(self)
        inputs = self.kernel_.inputs
        if together and inputs == "gram":
            raise ValueError(
                "the joint posterior needs the prior covariances between the rows of X, which "
                "a precomputed kernel does not give; use a kernel over features."
            )
        return validate_data(
            self, X, dtype=np.float64, ensure_all_finite=_finite(inputs), reset=False
        )

    def _marginals(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the predictor at each row."""
        X, kernel = self._rows(X), self.kernel_
        mean, variance = np.empty(len(X)), np.empty(len(X))
        for batch in gen_batches(len(X), _BATCH):
            Z = self._scaled(X[batch], kernel.inputs)
            cross = kernel(Z, self.fit_.problem.support)
            mean[batch], variance[batch] = self.predictor_.latent(cross, kernel.diag(Z))
        return mean, variance

    def _joint(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean and covariance of the predictor at checked rows, and their prior covariance."""
        Z = self._scaled(X, self.kernel_.inputs)
        prior = self.kernel_(Z)
        cross = self.kernel_(Z, self.fit_.problem.support)
        return *self.predictor_.joint(cross, prior), prior

    def _latent(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Moments of the predictor as moments on the scale of the thresholds."""
        return mean, variance

    def _level_proba(self, X: Any) -> np.ndarray:
        return self._likelihood_of(X).proba(*self.predict_latent(X))

    def _likelihood_of(self, X: Any) -> Any:
        """The likelihood of rows to predict."""
        return self.fit_.likelihood

    def _scaled(self, X: np.ndarray, inputs: str) -> np.ndarray:
        return X[:, self._kept] if inputs == "gram" else self._scaling(X)

    def _leave_one_out(
        self,
        X: np.ndarray,
        kept: np.ndarray,
        copies: np.ndarray,
        moments: tuple[np.ndarray, np.ndarray],
    ) -> np.ndarray:
        """Probabilities of every row without itself; rows of weight zero were not used."""
        self._kept = kept
        proba = np.empty((len(X), len(self.levels_)))
        # Copies of a row differ by rounding, and which is which depends on the order given.
        proba[kept] = self.fit_.likelihood.proba(*moments)[copies]
        out = np.setdiff1d(np.arange(len(X)), kept)
        if len(out):
            seen = X[np.ix_(out, kept)] if self._inputs() == "gram" else X[out]
            order = canonical_order(seen)
            proba[out[order]] = self._level_proba(X[out[order]])[first_copies(seen[order])]
        return proba


def inducing_points(
    choice: Any,
    X: np.ndarray,
    kernel: Kernel,
    scaling: Scaling,
    size: int | None = None,
    points: int | None = None,
    of: str = "X",
) -> dict[str, Any] | None:
    """Fields of `InducingPoints` from a user's choice, for scaled rows; None: exact.

    ``size`` is the number of rows of the matrices of exact inference, if it is not that of X;
    ``points`` the number that "auto" takes. Messages call the rows those of ``of``.
    """
    n, d = X.shape
    size, points = n if size is None else size, POINTS if points is None else points
    auto = isinstance(choice, str) and choice == "auto"
    if choice is None or (auto and (size <= _EXACT or not is_rectangular(kernel, X))):
        if size > _LARGEST:
            raise ValueError(
                f"exact inference of {n} rows needs two matrices of {size} x {size} numbers, "
                f"{16e-9 * size**2:.0f} GB, and a time that grows with the cube of the rows; "
                f"use inducing points (inducing={points}) with a kernel of ordinality over "
                "features."
            )
        return None
    if auto:
        return {"count": min(points, n_distinct(X))}
    if isinstance(choice, int | np.integer) and not isinstance(choice, bool):
        distinct = n_distinct(X)
        if not 1 <= choice <= distinct:
            raise ValueError(
                f"inducing={choice} must be a number from 1 to the {distinct} distinct rows "
                f"of {of}, or 'auto', an array of points, or None."
            )
        if not is_rectangular(kernel, X):
            kernel.pullback_paired(X[:1], X[:1], np.zeros(1))  # says what it lacks
        return {"count": int(choice)}
    try:
        Z = np.asarray(choice, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"inducing={choice!r} is not understood; use 'auto', a number of points, an array "
            "with a row for each point, or None."
        ) from None
    if Z.ndim != 2 or Z.shape[1] != d or not len(Z):
        raise ValueError(
            f"inducing has shape {Z.shape}, but {of} has {d} features; wanted (M, {d})."
        )
    if not np.all(np.isfinite(Z)):
        raise ValueError("inducing has values that are not finite; wanted numbers.")
    return {"count": len(Z), "Z": scaling(Z), "fixed": True}


def n_distinct(X: np.ndarray) -> int:
    """Number of different rows, of rows in canonical order."""
    return 1 + int(np.sum(np.any(X[1:] != X[:-1], axis=1)))


def is_rectangular(kernel: Kernel, X: np.ndarray) -> bool:
    """Whether a kernel has the gradients that inducing points need."""
    try:
        kernel.pullback_paired(X[:1], X[:1], np.zeros(1))
    except NotImplementedError:
        return False
    return True


def sample_size(choice: Any = 0) -> int:
    """Rows from which theta is learnt and the chosen number of inducing points taken."""
    points = choice if isinstance(choice, int | np.integer) else POINTS
    return max(SEARCHED, _PER_POINT * int(points))


def warn_unexplained(share: float, count: int, stacklevel: int) -> None:
    """Warn that the inducing points say too little about the rows."""
    warnings.warn(
        f"{count} inducing points leave {share:.0%} of the prior variance of the rows "
        f"unexplained, which is taken for noise; try inducing={2 * count}.",
        UserWarning,
        stacklevel=stacklevel,
    )


def _root(covariance: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """A matrix R with ``R' R`` equal to a covariance that rounding may have made indefinite."""
    # Rounding of the prior's entries, times their number, bounds that of an eigenvalue.
    shift = len(prior) * np.finfo(float).eps * float(np.max(np.diagonal(prior)))
    for _ in range(8):
        shifted = np.asfortranarray(covariance)
        shifted[np.diag_indices_from(shifted)] += shift
        upper, info = lapack.dpotrf(shifted, clean=1, overwrite_a=1)
        if info == 0:
            return upper
        shift *= 10.0
    raise FloatingPointError("the posterior covariance of these rows cannot be factorised.")


def _finite(inputs: str) -> bool | str:
    return "allow-nan" if inputs == "ratings" else True
