"""What lies behind `LabelRankingGP`: stating the problem, keeping the result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..gp.criteria import ENGINES, LabelProblem
from ..gp.likelihoods import Symmetric
from ..gp.optimise import Fit
from ..gp.posterior.contrasts import Labels
from ..gp.predict import LabelPredictor
from ..kernels.base import Kernel
from ..kernels.foreign import translate
from ..kernels.stationary import Gaussian
from ._label_graphs import GRAPHS, Edges
from ._learning import Learner
from ._rankers import LabelRanker
from ._rows import canonical_order
from ._scaling import Scaling
from ._threads import one_pool
from ._validation import check_choices, check_positive, check_whole

__all__ = ["LabelRankingModel"]

_LARGE = 400  # rows of a factor from which learning goes coarse to fine


class LabelRankingModel(LabelRanker, Learner, BaseEstimator):
    """The private half of `LabelRankingGP`."""

    kernel: Any
    graph: str
    ties: bool
    inference: str
    noise: float
    link: str
    standardize: bool
    tol: float
    max_iter: int
    classes_: np.ndarray
    n_features_in_: int

    def log_evidence(
        self, theta: Any = None, eval_gradient: bool = False
    ) -> float | tuple[float, np.ndarray]:
        """Log marginal likelihood of the preferences at other parameters.

        Parameters
        ----------
        theta : array-like, default=None
            ``[kernel_.theta, log noise_]``, with ties also log ``tie_width_``; None is the fit.
        eval_gradient : bool, default=False
            Whether the gradient in theta is wanted too.

        Returns
        -------
        value : float
        gradient : ndarray, only if ``eval_gradient``
        """
        fit, theta = self._at(theta)
        with one_pool(len(fit.problem.y)):
            found = replace(fit.problem, prior=None).evaluate(theta)
        return (found.value, found.gradient) if eval_gradient else found.value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = self._inputs() == "gram"
        return tags

    def _check_parameters(self) -> None:
        check_choices(
            self,
            graph=GRAPHS,
            ties=(True, False),
            inference=tuple(ENGINES),
            link=("probit", "logit"),
            standardize=(True, False),
            optimizer=("lbfgs", None),
        )
        check_positive(self, "noise", "tol")
        check_whole(self, restarts=0, max_iter=1, max_evaluations=1)

    def _inputs(self) -> str:
        """What the kernel takes; a wrong kernel is for `fit` to refuse."""
        try:
            return "features" if self.kernel is None else translate(self.kernel).inputs
        except (TypeError, ValueError):
            return "features"

    def _validated(self, X: Any, reset: bool = False) -> np.ndarray:
        finite: Any = "allow-nan" if self._inputs() == "ratings" else True
        return validate_data(self, X, dtype=np.float64, ensure_all_finite=finite, reset=reset)

    def _problem(self, X: np.ndarray, edges: Edges, weights: np.ndarray) -> LabelProblem:
        """Rows of which nothing was said stay out."""
        n, d = X.shape
        kernel: Kernel = (
            Gaussian(np.sqrt(d)) if self.kernel is None else translate(self.kernel, d)
        )
        gram = kernel.inputs == "gram"
        if gram:
            kernel = kernel.prepared(X)  # refuses what is not square before rows are dropped
        order, L = np.arange(n), len(self.classes_)
        if np.any(weights != 1.0):
            # Weights over many decades magnify rounding, which depends on the order of rows.
            order = canonical_order(X, weights, *edges.counts(n, L).T, gram=gram)
        edges = edges.renumbered(order)
        scaled = self.standardize and kernel.inputs == "features"
        self._scaling = Scaling.of(X[order], weights[order]) if scaled else Scaling.none(d)
        kept, design = Labels(edges.at, edges.better, edges.worse, n, L).compact()
        self._kept = order[kept]
        Z = X[np.ix_(self._kept, self._kept)] if gram else self._scaling(X[self._kept])
        kernel.check(Z.shape[1])
        likelihood = self._likelihood()
        level = np.where(edges.tied, 1, likelihood.n_levels - 1)
        problem = LabelProblem(
            Z, level, weights[order][edges.at], kernel.prepared(Z), likelihood,
            engine=self.inference, tol=self.tol, max_iter=self.max_iter, design=design,
        )  # fmt: skip
        return replace(problem, prior=self._prior(problem))

    def _likelihood(self) -> Symmetric:
        """Where learning starts: a tie is where the noise decides."""
        noise = float(self.noise)
        steps = [0.5 * noise] * self.ties
        return Symmetric.of(steps, ties=self.ties, sigma=noise, link=self.link)

    def _is_large(self, problem: LabelProblem) -> bool:
        """Whether a share of the rows is much cheaper than all of them."""
        side = min(len(problem.y), len(problem.X) * (len(self.classes_) - 1))
        return side > _LARGE and problem.kernel.inputs != "gram"

    def _settle(self, fit: Fit[Any]) -> None:
        """Keep what was found, and what predicts."""
        self.fit_, self.kernel_ = fit, fit.kernel
        problem, a, likelihood = fit.problem, fit.best.approximation, fit.likelihood
        with one_pool(len(problem.y)):
            K = self.kernel_(problem.X)
            self.predictor_ = LabelPredictor.of(problem.design, K, a)
        self.noise_ = float(likelihood.sigma)
        self.tie_width_ = float(likelihood.steps[0]) if self.ties else 0.0
        self.relevance_ = self.kernel_.feature_relevance(self.n_features_in_)
        self.log_evidence_ = a.log_evidence
        self.converged_ = bool(fit.converged and a.converged)
        self.n_iter_ = fit.n_evaluations

    def _cross(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Kernel inputs, and their prior covariances with what was learnt from."""
        Z = X[:, self._kept] if self.kernel_.inputs == "gram" else self._scaling(X)
        return Z, self.kernel_(Z, self.fit_.problem.X)

    def _warn_unless_settled(self) -> None:
        if not self.fit_.best.approximation.converged:
            self._warn_of_unsettled(self.inference, self.tol)
        elif not self.fit_.converged:
            self._warn_of_cut_search("the evidence")
