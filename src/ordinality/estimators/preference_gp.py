"""Gaussian processes for preferences: utilities of items from comparisons and ratings.

A comparison is an ordinal observation of a difference of two utilities, a rating one of a
single utility; both share one latent function.

Chu & Ghahramani (2005), "Preference learning with Gaussian processes", ICML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp, ndtri
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from ..gp.criteria import ENGINES, ItemObjective, Objective, ObjectiveValue, noise_variance
from ..gp.design import Combinations
from ..gp.factorised import factorised_ep
from ..gp.hyperpriors import JUDGE_SPREAD
from ..gp.likelihoods import Blurred, LearntLikelihood, Ordinal, Several, Symmetric
from ..gp.optimise import Fit
from ..gp.posterior.choose import prior_of
from ..gp.posterior.inducing_items import InducingItems, basis_of, features_of
from ..gp.predict import Coefficients, ItemPredictor, LatentPredictor, choice_probabilities
from ..gp.stream import Settled
from ..kernels.base import Kernel
from ..kernels.foreign import translate
from ..kernels.items import PerItem
from ..levels import Order
from .base_gp import (
    POINTS,
    Learner,
    inducing_points,
    is_rectangular,
    n_distinct,
)
from .fitting import (
    FitLog,
    atomic,
    canonical_order,
    check_choices,
    check_positive,
    check_weights,
    check_whole,
)
from .fold_in import AnswerSites
from .preference_data import (
    Answers,
    Covariates,
    Items,
    NamedItems,
    all_different,
    answer_levels,
    check_item_numbers,
    check_pairs,
    check_ratings,
    difference_variances,
    encode_answers,
    encode_judges,
    named_judges,
    rating_order,
)
from .snapshot import (
    RATIOS,
    CovariateIntervals,
    CovariatePosteriors,
    Snapshot,
    Utility,
    check_ratios,
    log_prior_of_ratios,
    varied,
)
from .threads import one_pool

__all__ = ["PreferenceGP", "Utility"]

# Variance of the items' own effects where learning starts, the features' being one.
_OWN = 0.3
_LARGE = 400  # rows of a factor from which learning goes coarse to fine
_BATCH = 1000  # items predicted at once: bounds the memory for their covariances
_ENTRIES = 10**7  # pairs or items, times items learnt from, at once: some 300 megabytes
_TOGETHER = 500  # alternatives whose joint covariance is computed at once

# Rows of matrices (`Objective.effort`) from which points are chosen, and up to which exact
# inference is possible. At 3000 it takes twice as long, 10 s.
_EXACT, _LARGEST = 3000, 20_000
# The same of the items and answers from which theta is learnt, exactly, before all answers are
# seen through points. Of 10,000 items with 20 answers each, 600 gave it as well as 1200. The
# factorised evidence takes less time, but finds too small effects of items.
_LEARNT = 1500
# Gap of sites and moments at the worst of all answers; the error of the evidence is its square.
_SETTLED = 1e-3
# As how many judges the prior of their spread counts beside those who are known.
_SPREAD_COUNTS = 4


class PreferenceGP(Learner, ClassifierMixin, BaseEstimator):
    """Gaussian process for comparisons of items, and ratings beside them.

    Every item has a utility, a smooth function of its features plus an effect of its own. An
    answer to "which of these two?" is an ordinal observation of the difference of two
    utilities, a rating one of a single utility. Kernel, noise, the width of ties and the
    thresholds of ratings are learnt by maximising the evidence. What the presentation of a
    pair adds to the difference, such as the side, can be learnt beside (``covariates``).

    Parameters
    ----------
    items : array-like of shape (n, d) or (n,), int or None, default=None
        Features of the items, a row each; or, if they have none, their names, or how many
        there are. None: as many as the pairs name.
    kernel : kernel, str or None, default=None
        From `ordinality.kernels`, or a scikit-learn kernel; its values are where learning
        starts. None is `kernels.LinearGaussian` with a scale for each feature: a linear
        function plus a smooth one. "gaussian" is the paper's ``Gaussian(sqrt(d))``, "ard" has
        a length scale for each feature. "precomputed" takes the (n, n) covariances of items as
        ``items``.
    key : str, default=None
        Column of the data frame ``items`` that has the names of the items; the other columns
        are features.
    inducing : "auto", int, array-like of shape (M, d) or None, default="auto"
        Inducing points: items are seen through the values of the smooth function at M points,
        each with an independent rest, which costs n M^2 instead of n^3. A number chooses as
        many among the items, an array gives them, None is exact. "auto" is exact below
        3000 answers or 2000 items, with ``inference`` other than "ep" and for kernels that have
        no rectangular gradients; otherwise 500 points, and none for items without features.
    item_effects : bool, default=True
        Whether each item also has an effect of its own, whose variance is learnt.
    ties : bool, default=False
        Whether an answer may be 0, neither; how close two items must be is learnt.
    grades : int, default=1
        How strong an answer may be: 2 has +1 "better" and +2 "much better", and so on.
    inference : {"ep", "laplace", "variational"}, default="ep"
        Approximation of the posterior: expectation propagation (most accurate), Laplace (the
        paper's, fastest), or the variational Gaussian (a lower bound).
    noise : float, default=1.0
        Noise of one utility as a judge feels it, where learning starts.
    link : {"probit", "logit"}, default="probit"
        Normal or logistic noise.
    hyperprior : "weak", None or mapping, default="weak"
        Prior of the learnt parameters; see `ordinality.gp.hyperpriors`.
    standardize : bool, default=True
        Whether features are shifted and scaled to unit spread first, and covariates scaled to
        a root mean square of one.
    levels : array-like, default=None
        The labels of ratings in order, lowest first. None: the order they carry; numbers are
        sorted.
    optimizer : {"lbfgs", None}, default="lbfgs"
        None keeps kernel, noise and thresholds as given.
    n_restarts : int, default=0
        Further starts, drawn around the first; the best is kept.
    tol : float, default=1e-6
        Tolerance of the inference engine.
    max_iter : int, default=200
        Most iterations of the inference engine.
    max_evaluations : int, default=150
        Most evaluations of the evidence, per start.
    random_state : int, RandomState or None, default=None
        Chooses restarts; None is a fixed seed, so equal calls give equal models.
    n_jobs : int, default=None
        Restarts run in this many threads.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    item_names_ : ndarray of shape (n,) or None
        Names of the items, if they have any: items are then given by name or by number.
    classes_ : ndarray of shape (K,)
        The answers there are, -1 and +1 by default: columns of ``predict_proba``.
    kernel_ : kernel or None
        Learnt kernel, of the standardised features.
    item_variance_ : float
        Variance of the items' own effects, on the same scale; 0 without them.
    noise_ : float or ndarray
        Learnt noise; one for each of ``judges_`` if these are named.
    judges_ : ndarray or None
        Names of the judges, sorted; None if they were not named.
    covariate_names_ : ndarray of shape (c,) or None
        Names of the covariates, x0, x1 and so on if they had none; None without covariates.
    covariate_coef_ : ndarray of shape (c,) or None
        Posterior mean of the coefficient of each covariate, at the learnt noise: what one unit
        of it adds to a difference of utilities, over the noise of a difference. That is
        sqrt(2) times ``noise_``, of several judges the geometric mean.
    covariate_sd_ : ndarray of shape (c,) or None
        Posterior standard deviations of the coefficients; see also `covariate_intervals`.
    steps_ : ndarray
        Thresholds of answers above zero (for each judge): half the width of a tie, and so on.
    rating_levels_ : ndarray or None
        Levels of ratings, lowest first; None without ratings.
    thresholds_ : ndarray or None
        Learnt thresholds between the levels of ratings.
    rating_noise_ : float or None
        Learnt noise of ratings.
    relevance_ : ndarray of shape (d,)
        How much each standardised feature matters: 1 / length_scale**2.
    log_evidence_ : float
        Log marginal likelihood (a lower bound for ``inference="variational"``). With inducing
        points it is no bound otherwise, and cannot be compared across points.
    inducing_points_ : ndarray of shape (M, d) or None
        The inducing points, in the units of the items; None if inference was exact or the
        items have no features.
    unexplained_ : float
        Share of the prior variance of the smooth function at the items that the inducing
        points do not explain, 0 if inference was exact. A warning says where it is large.
    converged_ : bool
        Whether both the inference engine and the search for parameters converged.
    n_iter_ : int
        Evaluations of the evidence.

    References
    ----------
    Chu & Ghahramani (2005), "Preference learning with Gaussian processes", ICML.

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> pairs = [[0, 1], [0, 2], [1, 2], [3, 0], [3, 2]]  # the first was preferred
    >>> model = PreferenceGP().fit(pairs)
    >>> model.rank()  # of items 0, 1, 2 and 3
    array([2, 3, 4, 1])
    >>> model.predict([[3, 1], [2, 0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        items: Any = None,
        kernel: Any = None,
        *,
        key: Any = None,
        inducing: Any = "auto",
        item_effects: bool = True,
        ties: bool = False,
        grades: int = 1,
        inference: str = "ep",
        noise: float = 1.0,
        link: str = "probit",
        hyperprior: Any = "weak",
        standardize: bool = True,
        levels: Any = None,
        optimizer: str | None = "lbfgs",
        n_restarts: int = 0,
        tol: float = 1e-6,
        max_iter: int = 200,
        max_evaluations: int = 150,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.items = items
        self.kernel = kernel
        self.key = key
        self.inducing = inducing
        self.item_effects = item_effects
        self.ties = ties
        self.grades = grades
        self.inference = inference
        self.noise = noise
        self.link = link
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.levels = levels
        self.optimizer = optimizer
        self.n_restarts = n_restarts
        self.tol = tol
        self.max_iter = max_iter
        self.max_evaluations = max_evaluations
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @atomic
    def fit(
        self,
        pairs: Any,
        answers: Any = None,
        *,
        ratings: Any = None,
        judges: Any = None,
        sample_weight: Any = None,
        covariates: Any = None,
        covariate_spread: Any = None,
    ) -> Self:
        """Learn utilities from comparisons, and from ratings beside them.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            The two items compared: names, or numbers of rows of ``items``, counted from 0.
            None at all, with ``items``, is the prior: a model for the first question.
        answers : array-like of shape (m,), default=None
            +1 if the first was preferred, -1 if the second; 0 for a tie; larger numbers for
            stronger answers. None: the first always was.
        ratings : (items, levels), default=None
            Numbers of items that were rated, and the levels they got.
        judges : array-like of shape (m,), default=None
            Who answered; each judge has a noise of their own, and all who are None one.
        sample_weight : array-like of shape (m,), default=None
            Weights of the answers: 2 counts as two equal answers, 0 as none.
        covariates : array-like, data frame or mapping of shape (m, c), default=None
            What the presentation adds, a row for each answer: first less second item. A column
            of ones is the bias to the first, such as the left side. Before any answer a
            coefficient is normal with the standard deviation of the noise of a difference, for
            a covariate with a root mean square of one. Needs exact inference.
        covariate_spread : mapping of str to float, default=None
            Of some covariates by name: the standard deviation before any answer of what one
            unit adds, in place of that, over the noise of a difference.

        Returns
        -------
        self : PreferenceGP
            The fitted model.
        """
        self._check_parameters()
        rated, labels = check_ratings(ratings)
        self.item_names_, items = NamedItems.of(self.items, self.key, pairs, rated)
        pairs = check_pairs(self._numbers(pairs, "pairs"))
        rated = check_item_numbers(self._numbers(rated, "ratings"), None, "ratings")
        self.classes_, self.n_features_in_ = answer_levels(self.grades, self.ties), 2
        self._items = self._read_items(items, np.append(pairs, rated))
        self.judges_, nobody = named_judges(judges, len(pairs))
        self._has_nobody = nobody or self.judges_ is None
        weight = check_weights(sample_weight, len(pairs)) if len(pairs) else np.ones(0)
        self._covariates = Covariates.of(
            covariates, len(pairs), weight, self.standardize, covariate_spread
        )
        self.covariate_names_ = self._covariates.names if len(self._covariates) else None
        self._answers = self._comparisons(pairs, answers, judges, sample_weight, covariates)
        order = None if labels is None else rating_order(labels, self.levels)
        self.rating_levels_ = None if order is None else order.levels
        if order is not None:
            rated = self._items.twin[check_item_numbers(rated, len(self._items), "ratings")]
            ratings = self._rating_answers(rated, order.encode(labels))
            self._answers = self._answers.joined(ratings)
        self._judge_weights = self._answers.judge_weights(self._n_judges)
        objective = self._objective(order)
        if not len(objective.y):  # the prior, at the parameters where learning would start
            first = objective.evaluate(objective.theta)
            self._keep(Fit(objective, first, 1, (), True))
            return self
        points = self._points(objective)
        if points is None:
            self._keep(self._learn_exact(objective))
        else:
            self._keep(self._learn_items(ItemObjective(**vars(objective), **points)))
        self._warn_unless_converged()
        self._warn_of_points()
        return self

    @atomic
    def update(
        self,
        pairs: Any,
        answers: Any = None,
        *,
        items: Any = None,
        ratings: Any = None,
        judges: Any = None,
        sample_weight: Any = None,
        covariates: Any = None,
    ) -> Self:
        """Add answers to a fitted model; kernel, noise and thresholds stay as they were learnt.

        The posterior is computed anew from where it was. Parameters are not searched for. With
        inducing points the answers are folded into it, in a time that does not depend on how
        many came before; ``log_evidence_`` then adds up the log probabilities of answers given
        those before them.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            The two items compared, as for `fit`.
        answers : array-like of shape (m,), default=None
            Answers to the pairs, as for `fit`.
        items : array-like, default=None
            Items that are new, of the same form as the parameter ``items``; they are counted on
            from the last.
        ratings : (items, levels), default=None
            Items that were rated and the levels they got, if the model was fitted to ratings.
        judges : array-like of shape (m,), default=None
            Who answered. A judge who is new has the median noise and steps until the next
            `fit`; so have those who are None, if there were none of them.
        sample_weight : array-like of shape (m,), default=None
            Weights of the answers.
        covariates : array-like, data frame or mapping of shape (m, c), default=None
            Covariates of the presentation, as for `fit`. None: no difference in any of them.

        Returns
        -------
        self : PreferenceGP
            The updated model.
        """
        check_is_fitted(self, "predictor_")
        if items is not None:
            self._admit_items(items)
        self._admit_judges(*named_judges(judges, len(pairs)))
        new = self._comparisons(pairs, answers, judges, sample_weight, covariates)
        if ratings is not None:
            new = new.joined(self._new_ratings(ratings))
        self._judge_weights = self._judge_weights + new.judge_weights(self._n_judges)
        if isinstance(self.fit_.problem, ItemObjective):
            if len(new.weight):
                self._fold(new)
                self._warn_unless_converged()
            return self
        now = self._answers.joined(new)
        old, best = self.fit_.problem, self.fit_.best
        likelihood = old.likelihood
        if isinstance(likelihood, Several):
            likelihood = replace(likelihood, kind=now.part)
        objective = replace(old, likelihood=likelihood, **self._observations(now))
        with one_pool(len(objective.y)):
            start = now.carried(best.start, self._answers) if len(best.start) else None
            found = objective.evaluate(best.theta, start)
        self._answers = now
        self._keep(replace(self.fit_, problem=objective, best=found))
        self._warn_unless_converged()
        return self

    def utility(self, X: Any = None) -> Utility:
        """Utility of items: of all of them, or of new ones with features X.

        Comparisons leave a shift of all utilities open, and ``std`` includes what the prior
        says about that; differences are surer than ``std`` suggests.

        Parameters
        ----------
        X : array-like of shape (q, d), default=None
            Features of new items; None is all items of the model.

        Returns
        -------
        mean : ndarray of shape (n,) or (q,)
            Posterior means of the utilities.
        std : ndarray of shape (n,) or (q,)
            Posterior standard deviations.
        """
        check_is_fitted(self, "predictor_")
        new = None if X is None else self._new_inputs(X, "X")
        items, kernel = self._items, self.fit_.kernel
        n = len(items if new is None else new)
        mean, variance = np.empty(n), np.empty(n)
        for batch in gen_batches(n, _BATCH):
            if new is None:
                which = np.arange(n)[batch]
                prior = items.variances(kernel, which)
                view = self._view(which)
            else:
                prior = kernel.diag(new[batch])
                view = self._view_of_new(new[batch])
            mean[batch] = self.predictor_.mean(view)
            variance[batch] = self.predictor_.variance(view, prior)
        return Utility(mean, np.sqrt(variance))

    def posterior(self, items: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the utilities of items of the model, together.

        Parameters
        ----------
        items : array-like of shape (q,), default=None
            Items by name or number; None is all of them.

        Returns
        -------
        mean : ndarray of shape (q,)
            Posterior means.
        covariance : ndarray of shape (q, q)
            Posterior covariances.
        """
        check_is_fitted(self, "predictor_")
        n = len(self._items)
        which = np.arange(n)
        if items is not None:
            which = check_item_numbers(self._numbers(items, "items"), n, "items")
        prior = self._items.covariance(self.fit_.kernel, which)
        view = self._view(which)
        return self.predictor_.mean(view), self.predictor_.covariance(view, prior)

    def snapshot(self, ratios: Any = RATIOS) -> Snapshot:
        """The posterior with the ratio of signal to noise integrated out, as it is now.

        The fit has one noise, the most probable one. After questions that the model itself has
        chosen that is too sure. Here kernel, ratios of noises of judges and the steps of
        answers in units of noise are held, and the posterior is computed for several noises.

        Parameters
        ----------
        ratios : array-like of shape (G,) or None, default=(0, 0.25, ..., 5.6)
            Ratios of signal to noise: the standard deviation of utilities before any answer
            over the noise of one of them. At 0, answers are coin flips. None: the learnt ratio
            alone, which is also all that a model with inducing points has.

        Returns
        -------
        snapshot : Snapshot
            Means and covariances of all items for each ratio, and the weight of each.

        Examples
        --------
        >>> from ordinality import PreferenceGP
        >>> model = PreferenceGP(3).fit([[0, 1], [0, 2], [1, 2], [1, 0], [2, 0], [2, 1]])
        >>> bool(model.snapshot().weights[0] > 0.2)  # a coin: more likely than before
        True
        """
        check_is_fitted(self, "predictor_")
        every = np.arange(len(self._items))
        prior = self._items.covariance(self.fit_.kernel, every)
        signal, typical = float(np.sqrt(np.mean(np.diagonal(prior)))), self._typical_noise
        learnt_alone = ratios is None or isinstance(self.fit_.problem, ItemObjective)
        at = np.array([signal / typical]) if learnt_alone else check_ratios(ratios)
        mean, cov = np.zeros((len(at), len(every))), np.repeat(prior[None], len(at), axis=0)
        log_weights, model = log_prior_of_ratios(at), self
        effects: list[Any] = []
        approximations: list[Any] = [None] * len(at)
        effect: Coefficients | None
        for g, ratio in enumerate(at):
            if ratio == 0.0:
                log_evidence, effect = self._coin(signal**2)
            else:
                if not learnt_alone:
                    model = model._with_noise(signal / ratio, signal**2)
                approximations[g] = model.fit_.best.approximation
                mean[g], cov[g] = model.posterior(every)
                log_evidence, effect = model.log_evidence_, model._effects
                if effect is not None:
                    effect = replace(effect, link=model._view(every) @ effect.link)
            log_weights[g] += log_evidence
            effects.append(effect)
        return Snapshot(
            at, np.exp(log_weights - logsumexp(log_weights)), at / signal, mean, cov,
            self.classes_, self.judges_, self._unit_likelihoods(typical), self.item_names_,
            self._judge_spread, self._covariate_posteriors(effects),
            self._sites(approximations, at / signal, typical),
        )  # fmt: skip

    def covariate_intervals(self, level: float = 0.9) -> CovariateIntervals:
        """Intervals for the coefficients of covariates, the ratio integrated out.

        Parameters
        ----------
        level : float, default=0.9
            Probability of each interval.

        Returns
        -------
        mean : ndarray of shape (c,)
            Means over all ratios of signal to noise of `snapshot`, in the units of
            ``covariate_coef_``.
        lower : ndarray of shape (c,)
            Lower ends.
        upper : ndarray of shape (c,)
            Upper ends.

        Examples
        --------
        >>> import numpy as np
        >>> from ordinality import PreferenceGP
        >>> pairs = [[0, 1], [1, 2], [2, 0], [1, 0], [2, 1], [0, 2]] * 3
        >>> model = PreferenceGP(3).fit(pairs, covariates=np.ones((18, 1)))  # always the left
        >>> bool(model.covariate_intervals().lower[0] > 0.0)
        True
        """
        return self.snapshot().covariate_intervals(level)

    def item_numbers(self, items: Any) -> Any:
        """Numbers of items.

        Parameters
        ----------
        items : array-like
            Names, or numbers, which are returned as they are.

        Returns
        -------
        numbers : array-like of int
            Of the same shape.
        """
        check_is_fitted(self, "predictor_")
        return self._numbers(items, "items")

    def rank(self, X: Any = None) -> np.ndarray:
        """Place of each item by mean utility, 1 for the best.

        Parameters
        ----------
        X : array-like of shape (q, d), default=None
            Features of new items; None ranks all items of the model.

        Returns
        -------
        rank : ndarray of int, shape (n,) or (q,)
            Of two items with equal means the first has the better place.
        """
        order = np.argsort(-self.utility(X).mean, kind="stable")
        return 1 + np.argsort(order)

    def predict(self, pairs: Any) -> np.ndarray:
        """Most probable answer to each pair.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            The two items of each pair, by name or number.

        Returns
        -------
        answers : ndarray of shape (m,)
            Of ``classes_``.
        """
        check_is_fitted(self, "predictor_")
        if len(self.classes_) > 2:
            return self.classes_[np.argmax(self.predict_proba(pairs), axis=1)]
        pairs = check_pairs(self._numbers(pairs, "pairs"), len(self._items))
        which, place = np.unique(pairs, return_inverse=True)
        mean = np.empty(len(which))
        for batch in gen_batches(len(which), _BATCH):
            mean[batch] = self.predictor_.mean(self._view(which[batch]))
        left, right = mean[place.reshape(pairs.shape)].T  # the larger mean decides
        return np.where(left > right, 1, -1)

    def predict_proba(
        self, pairs: Any, judge: Any = None, covariates: Any = None
    ) -> np.ndarray:
        """Probability of each answer to each pair of items.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            The two items of each pair, by name or number.
        judge : label, default=None
            Who is asked; None is a judge drawn as often as each answered. The noise of one whom
            the model does not know is drawn from the spread of those whom it knows.
        covariates : array-like, data frame or mapping of shape (m, c), default=None
            Covariates of the presentation, as for `fit`. None: no difference in any of them.

        Returns
        -------
        proba : ndarray of shape (m, K)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self, "predictor_")
        pairs = check_pairs(self._numbers(pairs, "pairs"), len(self._items))
        swapped = pairs[:, 0] > pairs[:, 1]  # one way round, as in learning
        ordered = np.where(swapped[:, None], pairs[:, ::-1], pairs)
        Z = self._covariates.checked(covariates, len(pairs))
        Z = np.where(swapped[:, None], -Z, Z)
        mean, variance = np.empty(len(pairs)), np.empty(len(pairs))
        items, kernel = self._items, self.fit_.kernel
        for batch in self._batches(len(pairs), len(np.unique(ordered))):
            which, place = np.unique(ordered[batch], return_inverse=True)
            place = place.reshape(-1, 2)
            prior = items.differences(kernel, which, place)
            view = self._view(which)
            mean[batch], variance[batch] = self.predictor_.differences(view, place, prior)
            if covariates is not None:
                own, across = self._presented(Z[batch], view, place)
                mean[batch] += own
                variance[batch] = np.maximum(variance[batch] + across, 0.0)
        return self._answer_proba(mean, variance, judge, swapped)

    def predict_pairs(self, X_left: Any, X_right: Any, judge: Any = None) -> np.ndarray:
        """Probability of each answer to pairs of new items.

        Parameters
        ----------
        X_left : array-like of shape (m, d)
            Features of the first item of each pair. All are taken for items not seen before;
            `predict_proba` knows those of the model.
        X_right : array-like of shape (m, d)
            Features of the second item of each pair.
        judge : label, default=None
            Who is asked; None is a judge drawn as often as each answered. The noise of one whom
            the model does not know is drawn from the spread of those whom it knows.

        Returns
        -------
        proba : ndarray of shape (m, K)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self, "predictor_")
        left, right = self._new_inputs(X_left, "X_left"), self._new_inputs(X_right, "X_right")
        if len(left) != len(right):
            raise ValueError(
                f"X_left has {len(left)} rows and X_right {len(right)}; wanted one row in each "
                "for every pair."
            )
        rows, first = np.arange(len(left)), np.argmax(left != right, axis=1)
        swapped = left[rows, first] > right[rows, first]
        left, right = (
            np.where(swapped[:, None], *sides) for sides in ((right, left), (left, right))
        )
        kernel, mean, variance = self.fit_.kernel, np.empty(len(left)), np.empty(len(left))
        for batch in self._batches(len(left), 2 * len(left)):
            Z = np.concatenate([left[batch], right[batch]])
            place = np.arange(len(Z)).reshape(2, -1).T
            prior = difference_variances(kernel, Z, place)
            view = self._view_of_new(Z)
            mean[batch], variance[batch] = self.predictor_.differences(view, place, prior)
        return self._answer_proba(mean, variance, judge, swapped)

    def predict_choice(
        self, alternatives: Any, cases: Any = None, judge: Any = None
    ) -> np.ndarray:
        """Probability of each alternative to be chosen from those on offer with it.

        That is, that its utility plus noise is the largest; the widths of ties play no part.

        Parameters
        ----------
        alternatives : array-like of shape (q,) or (q, d)
            Numbers of items of the model; or features, a row for each, and then they are taken
            for items not seen before.
        cases : array-like of shape (q,), default=None
            Alternatives with equal labels are on offer together; None is all of them.
        judge : label, default=None
            Who chooses; None is a judge drawn as often as each answered.

        Returns
        -------
        proba : ndarray of shape (q,)
            Sums to one over each case. Exact for two alternatives; for more, an average over
            fixed points, with errors of about 0.001 (``link="logit"``: 0.005). The cost grows
            with the cube of their number: a fifth of a second for a hundred.

        Examples
        --------
        >>> from ordinality import PreferenceGP
        >>> model = PreferenceGP().fit([[0, 1], [0, 2], [1, 2], [3, 0], [3, 2]])
        >>> cases = ["mon", "mon", "mon", "tue", "tue"]
        >>> model.predict_choice([3, 1, 2, 0, 1], cases).round(2)
        array([0.64, 0.27, 0.09, 0.61, 0.39])
        """
        check_is_fitted(self, "predictor_")
        given = check_array(
            self._numbers(alternatives, "alternatives") if np.ndim(alternatives) == 1
            else alternatives, ensure_2d=False, dtype=None, input_name="alternatives",
        )  # fmt: skip
        known = given.ndim == 1
        asked = (
            check_item_numbers(given, len(self._items), "alternatives")
            if known
            else self._new_inputs(given, "alternatives")
        )
        judges, proba = self._judge_likelihoods(judge), np.ones(len(asked))
        for rows in _cases_of_one_size(cases, len(asked)):
            some = asked[rows.ravel()]
            mean, covariance = self.posterior(some) if known else self._posterior_of_new(some)
            each = np.arange(rows.size).reshape(rows.shape)
            blocks = covariance[each[:, :, None], each[:, None, :]]
            found = [w * choice_probabilities(mean[each], blocks, part) for w, part in judges]
            proba[rows] = np.sum(found, axis=0)
        return proba

    def predict_ratings(self, X: Any = None) -> np.ndarray:
        """Probability of each rating: of all items, or of new ones with features X.

        Parameters
        ----------
        X : array-like of shape (q, d), default=None
            Features of new items; None is all items of the model.

        Returns
        -------
        proba : ndarray of shape (n, L) or (q, L)
            Columns in the order of ``rating_levels_``.
        """
        check_is_fitted(self, "predictor_")
        if self.rating_levels_ is None:
            raise ValueError(
                "the model was fitted without ratings; pass ratings=(items, levels) to fit."
            )
        mean, std = self.utility(X)
        return _parts(self.fit_.likelihood)[-1].proba(mean, std**2)

    def score(self, pairs: Any, answers: Any = None, sample_weight: Any = None) -> float:
        """Share of answers predicted correctly.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            The two items of each pair, by name or number.
        answers : array-like of shape (m,), default=None
            The true answers. None: the first always won.
        sample_weight : array-like of shape (m,), default=None
            Weights of the answers.

        Returns
        -------
        score : float
            Between 0 and 1.
        """
        predicted = self.predict(pairs)
        truth = self.classes_[encode_answers(answers, len(predicted), self.classes_)]
        weights = check_weights(sample_weight, len(predicted))
        return float(np.average(predicted == truth, weights=weights))

    def log_evidence(
        self, theta: Any = None, eval_gradient: bool = False
    ) -> float | tuple[float, np.ndarray]:
        """Log marginal likelihood of the answers at other parameters.

        Parameters
        ----------
        theta : array-like, default=None
            ``[kernel_.theta, log(item_variance_ + 0.01)]``, then for each judge log noise and
            the log steps between thresholds, then for ratings log noise, first threshold, log
            gaps; None is the fit.
        eval_gradient : bool, default=False
            Whether the gradient in theta is wanted too.

        Returns
        -------
        value : float
            The log marginal likelihood.
        gradient : ndarray
            Its gradient in theta; only if ``eval_gradient``.
        """
        return self._criterion_at(theta, eval_gradient)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False  # without answers, the first item always won
        return tags

    # Learning

    def _check_parameters(self) -> None:
        check_choices(
            self,
            inference=tuple(ENGINES),
            link=("probit", "logit"),
            optimizer=("lbfgs", None),
            standardize=(True, False),
            item_effects=(True, False),
            ties=(True, False),
        )
        check_positive(self, "noise", "tol")
        check_whole(self, grades=1, n_restarts=0, max_iter=1, max_evaluations=1)

    def _read_items(self, given: Any, named: np.ndarray) -> Items:
        """The items; ``given`` are features or a number, ``named`` the numbers mentioned."""
        if given is None and not len(named):
            raise ValueError(
                "there are no items, no pairs and no ratings, so there is nothing to learn; "
                "pass `items`, or at least one comparison or rating."
            )
        inputs = translate(self.kernel).inputs
        numbered = self.item_effects or np.ndim(given) == 0
        items = Items.of(given, named, inputs, self.standardize, numbered)
        if self.kernel is not None and not items.X.shape[1]:
            raise ValueError(
                f"kernel={self.kernel!r} needs features, but the items have none; pass a row "
                "of features for each item as `items`, or leave the kernel out."
            )
        return items

    def _numbers(self, values: Any, what: str) -> Any:
        """Numbers of items that users give by name or number."""
        return NamedItems(self.item_names_, None).numbers(values, what)

    def _comparisons(
        self, pairs: Any, answers: Any, judges: Any, sample_weight: Any, covariates: Any
    ) -> Answers:
        pairs = check_pairs(self._numbers(pairs, "pairs"), len(self._items))
        m = len(pairs)
        level = encode_answers(answers, m, self.classes_)
        part = encode_judges(judges, m, self.judges_)
        weight = check_weights(sample_weight, m) if m else np.ones(0)
        Z = self._covariates.scaled(covariates, m)
        twins = self._items.twin[pairs]
        return Answers.of(part, twins, level, weight, len(self.classes_), Z)

    def _rating_answers(self, rated: np.ndarray, ranks: np.ndarray) -> Answers:
        return Answers.ratings(self._n_judges, rated, ranks, len(self._covariates))

    def _new_ratings(self, ratings: Any) -> Answers:
        """Ratings of a fitted model, of the levels that it knows."""
        if self.rating_levels_ is None:
            raise ValueError(
                "ratings are given, but the model was fitted without any, so that their "
                "thresholds are not known; pass all ratings to fit."
            )
        rated, labels = check_ratings(ratings)
        rated = check_item_numbers(self._numbers(rated, "ratings"), len(self._items), "ratings")
        ranks = Order(self.rating_levels_, "stated").encode(labels)
        return self._rating_answers(self._items.twin[rated], ranks)

    def _admit_items(self, items: Any) -> None:
        """Add items after the last, with the scaling that was learnt."""
        names, given = NamedItems.of(items, self.key)
        if (names is None) != (self.item_names_ is None):
            raise ValueError(
                "some items have names and some have none; name all of them, or none."
            )
        if names is not None:
            both = np.concatenate([self.item_names_, names])
            self.item_names_ = all_different(both, "items")
        self._items = self._items.with_more(given)
        if isinstance(self.predictor_, ItemPredictor):
            self.predictor_ = self.predictor_.with_more(len(self._items))

    def _admit_judges(self, names: np.ndarray | None, nobody: bool) -> None:
        """Give judges who are not known the median noise and steps of those who are."""
        known = np.empty(0) if self.judges_ is None else self.judges_
        new = np.empty(0) if names is None else names[~np.isin(names, known)]
        extra = int(nobody and not self._has_nobody)
        if not len(new) + extra:
            return
        J, all_judges, fit, answers = len(known), self._n_judges, self.fit_, self._answers
        typical = self._unit_likelihoods(1.0)[-1]
        own = _parts(fit.likelihood)
        # First those with names, then nobody, then ratings.
        parts = (
            *own[:J], *(typical,) * len(new), *own[J:all_judges], *(typical,) * extra,
            *own[all_judges:],
        )  # fmt: skip

        def moved(part: np.ndarray) -> np.ndarray:
            return part + len(new) * (part >= J) + extra * (part >= all_judges)

        if len(new):
            self.judges_ = new if self.judges_ is None else np.concatenate([known, new])
        self._has_nobody = self._has_nobody or nobody
        self._answers = replace(answers, part=moved(answers.part))
        weights = self._judge_weights
        more = np.zeros(len(new)), weights[J:], np.zeros(extra)
        self._judge_weights = np.concatenate([weights[:J], *more])
        one_kind = np.zeros(len(fit.problem.y), dtype=int)
        kind = moved(getattr(fit.likelihood, "kind", one_kind))
        problem = replace(fit.problem, likelihood=Several(parts, kind))
        problem = replace(problem, prior=self._prior(problem))
        theta = np.concatenate([fit.kernel.theta, problem.likelihood.theta])
        self.fit_ = replace(fit, problem=problem, best=replace(fit.best, theta=theta))

    def _objective(self, order: Order | None) -> Objective:
        """The answers, and kernel and likelihood where learning starts."""
        data = self._observations(self._answers)
        objective = Objective(
            kernel=self._start_kernel(data["X"]), likelihood=self._start_likelihood(order),
            engine=self.inference, tol=self.tol, max_iter=self.max_iter,
            n_coefficients=len(self._covariates), **data,
        )  # fmt: skip
        return replace(objective, prior=self._prior(objective))

    def _points(self, objective: Objective) -> dict[str, Any] | None:
        """Fields of `InducingPoints` from the user's choice; None: exact."""
        auto = isinstance(self.inducing, str) and self.inducing == "auto"
        smooth, X = features_of(objective.kernel, objective.X)
        few = objective.effort < _EXACT or self.inference != "ep"
        featureless = not self._items.X.shape[1]
        able = featureless or is_rectangular(smooth, X)
        if objective.n_coefficients:
            if not (auto or self.inducing is None):
                raise ValueError(
                    "covariates need exact inference, but inducing points are given; use "
                    "inducing=None, or leave the covariates out."
                )
            few = True
        if self.inducing is None or (auto and (few or not able)):
            self._check_affordable(objective)
            return None
        if self.inference != "ep":
            raise ValueError(
                f"inference={self.inference!r} needs exact inference, but inducing points are "
                "given; use inference='ep' or inducing=None."
            )
        if featureless:
            if auto:
                return {"count": 1}
            raise ValueError(
                f"inducing={self.inducing!r} states points among features, but the items have "
                "none; use inducing='auto' or None."
            )
        if not able:
            smooth.pullback_paired(X[:1], X[:1], np.zeros(1))  # says what it lacks
        X = X[canonical_order(X)]
        choice = min(POINTS, n_distinct(X)) if auto else self.inducing
        return inducing_points(choice, X, smooth, self._items.scaling, of="items")

    def _check_affordable(self, objective: Objective) -> None:
        """Refuse exact inference on matrices that are too large."""
        m, n = len(objective.y), len(objective.X)
        if objective.effort > _LARGEST:
            raise ValueError(
                f"exact inference of {m} answers about {n} items needs two matrices of "
                f"{min(m, n)} x {min(m, n)} numbers, {16e-9 * min(m, n) ** 2:.0f} GB, and a "
                "time that grows with the cube of the rows; use inducing='auto' with "
                "inference='ep' and a kernel of ordinality over features."
            )

    def _learn_exact(self, objective: Objective) -> Fit[Any]:
        """Search for the best parameters without points."""
        coarse_to_fine = objective.effort > _LARGE and not self._items.gram
        found = self._learn(_ItemSubsets(**vars(objective)), coarse_to_fine)
        return replace(found, problem=objective)

    def _learn_items(self, whole: ItemObjective) -> Fit[Any]:
        """Learn theta exactly on some of the items, then see all answers through points."""
        assert isinstance(whole.design, Combinations)
        theta, count, converged = whole.theta, 1, True
        path: tuple[tuple[int, int], ...] = ()
        if self.optimizer is not None:
            some = whole.design.connected(_LEARNT, np.random.default_rng(0))
            fit = self._learn_exact(whole.among(some))
            theta, path = self._with_all_judges(fit), fit.path
            count, converged = fit.n_evaluations, fit.converged
        with one_pool(len(whole.y)):
            whole = whole.near(theta)
        best = self._settled(whole, theta)
        path = (*path, (len(whole.y), best.approximation.n_iter))
        return Fit(whole, best, count, path, converged)

    def _settled(self, whole: ItemObjective, theta: np.ndarray) -> ObjectiveValue:
        """The posterior of all answers at theta; keeps ``predictor_``."""
        with one_pool(len(whole.y)):
            found, prior = replace(whole, tol=max(self.tol, _SETTLED)).solve(theta)
            unexplained = prior.unexplained(whole.weights)
        zero = np.zeros(len(self._items))
        nothing = ItemPredictor(found.belief.predictor(), zero, zero)
        self.predictor_ = nothing.after(self._answers.seen(), found.belief)
        said = len(whole.y), found.n_iter, found.log_evidence
        FitLog(self).stage("%d observations, %d iterations: evidence %.6g", *said)
        done = Settled(
            found.log_evidence, unexplained, found.n_iter, found.converged, found.residual
        )
        value = found.log_evidence + (0.0 if whole.prior is None else whole.prior.value(theta))
        return ObjectiveValue(theta, value, np.zeros(len(theta)), found.log_evidence, done)

    def _with_all_judges(self, fit: Fit[Any]) -> np.ndarray:
        """Learnt parameters; a judge not heard there has the mean of the others'."""
        theta, likelihood, J = fit.best.theta.copy(), fit.problem.likelihood, self._n_judges
        if J > 1:
            heard = np.isin(np.arange(J), likelihood.kind)
            first, p = fit.problem.kernel.n_theta, len(likelihood.parts[0].theta)
            each = theta[first : first + J * p].reshape(J, p)
            if heard.any():
                each[~heard] = each[heard].mean(axis=0)
        return theta

    def _fold(self, new: Answers) -> None:
        """Fold answers into the belief of a model with inducing points."""
        fit, seen = self.fit_, new.seen()
        problem, kernel, likelihood = fit.problem, fit.kernel, fit.likelihood
        if isinstance(likelihood, Several):
            likelihood = replace(likelihood, kind=new.part)
        with one_pool(len(new.level)):
            basis = basis_of(kernel, problem.support)
            inputs = self._items.inputs(seen, seen)
            prior = InducingItems.on(kernel, inputs, basis, new.design())
            found = factorised_ep(
                prior, likelihood, new.level, weights=new.weight,
                before=self.predictor_.belief(basis, seen), tol=max(self.tol, _SETTLED),
                max_iter=self.max_iter,
            )  # fmt: skip
        self.predictor_ = self.predictor_.after(seen, found.belief)
        a = fit.best.approximation
        done = replace(
            a, log_evidence=a.log_evidence + found.log_evidence, n_iter=found.n_iter,
            converged=found.converged, residual=found.residual,
        )  # fmt: skip
        best = replace(fit.best, approximation=done)
        self._keep(replace(fit, problem=problem.without_rows(), best=best))

    def _observations(self, answers: Answers) -> dict[str, Any]:
        """Answers as fields of an objective."""
        seen = answers.seen()
        return {
            "X": self._items.inputs(seen, seen), "y": answers.level,
            "weights": answers.weight, "design": answers.design(),
        }  # fmt: skip

    def _start_kernel(self, inputs: np.ndarray) -> Kernel:
        d = self._items.X.shape[1]
        if not d:
            return PerItem(None)
        kernel = translate(self.kernel, d)
        kernel.check(d)
        kernel = kernel.prepared(inputs[:, :-1] if self._items.numbered else inputs)
        return PerItem(kernel, _OWN) if self.item_effects else kernel

    def _start_likelihood(self, order: Order | None) -> LearntLikelihood:
        """A part for each judge, all alike, then one for ratings if these have an order."""
        noise, a, n_judges = float(self.noise), self._answers, self._n_judges
        # A tie is where a judge's noise decides; each further grade is one noise further.
        steps = noise * np.concatenate([[0.5] * self.ties, np.ones(self.grades - 1)])
        one = Symmetric.of(steps, ties=self.ties, sigma=noise, link=self.link)
        parts: list[Ordinal] = [one] * n_judges
        if order is not None:
            rated = a.part == n_judges
            # Half a rating more for each level: the shares stay strictly between 0 and 1.
            counts = np.bincount(a.level[rated], a.weight[rated], order.n_levels) + 0.5
            share = np.cumsum(counts)[:-1] / counts.sum()
            thresholds = np.sqrt(1.0 + noise**2) * ndtri(share)
            parts.append(Ordinal(thresholds, noise, self.link))
        return parts[0] if len(parts) == 1 else Several(tuple(parts), a.part)

    def _keep(self, fit: Fit[Objective]) -> None:
        """Keep what was learnt, and what predicts."""
        objective, kernel, likelihood = fit.problem, fit.kernel, fit.likelihood
        a = fit.best.approximation
        if isinstance(objective, ItemObjective):  # learning has kept its predictor
            self._answers, self._effects = self._answers.none(), None
            self.unexplained_ = a.unexplained
            self.inducing_points_ = None
            if self._items.X.shape[1]:
                self.inducing_points_ = self._items.scaling.undone(objective.support)
        else:
            assert isinstance(objective.design, Combinations)
            n, c = len(objective.X), objective.n_coefficients
            self.predictor_ = LatentPredictor(np.zeros(n + c), np.zeros((n + c, n + c)))
            if len(objective.y):
                with one_pool(len(objective.y)):
                    K = objective.covariance(kernel, likelihood)
                    self.predictor_ = LatentPredictor.of(objective.design, K, a)
            self._effects = None
            if c:
                variance = noise_variance(likelihood)[0]
                self.predictor_, effects = self.predictor_.parted(n, variance)
                self._effects = effects.scaled(self._per_unit(variance))
            self.unexplained_, self.inducing_points_ = 0.0, None
        self.fit_ = fit
        by_item = isinstance(kernel, PerItem)
        self.kernel_ = kernel.kernel if by_item else kernel
        self.item_variance_ = kernel.variance if by_item else 0.0
        self.relevance_ = kernel.feature_relevance(self._items.X.shape[1])
        parts = _parts(likelihood)
        named = self.judges_ is not None
        own = _of_judges(parts)[: None if self.judges_ is None else len(self.judges_)]
        noise = np.array([part.sigma for part in own])
        steps = np.array([_above_zero(part) for part in own])
        rated = self.rating_levels_ is not None
        self.noise_ = noise if named else float(noise[0])
        self.steps_ = steps if named else steps[0]
        known = self._effects
        self.covariate_coef_ = None if known is None else known.mean
        self.covariate_sd_ = None if known is None else np.sqrt(np.diagonal(known.cov))
        self.thresholds_ = parts[-1].thresholds if rated else None
        self.rating_noise_ = parts[-1].noise if rated else None
        self.log_evidence_ = a.log_evidence
        self.converged_ = bool(fit.converged and a.converged)
        self.n_iter_ = fit.n_evaluations

    # Other ratios of signal to noise

    def _with_noise(self, noise: float, variance: float) -> PreferenceGP:
        """A copy with another typical noise, and judges and steps in proportion.

        Thresholds of ratings move so that utilities of this prior variance have each level as
        often as before.
        """
        fit, stretch = self.fit_, noise / self._typical_noise
        parts = [_stretched(part, stretch, variance) for part in _parts(fit.likelihood)]
        theta = np.concatenate([fit.kernel.theta, *(part.theta for part in parts)])
        model = copy(self)
        with one_pool(len(fit.problem.y)):
            model._keep(replace(fit, best=fit.problem.evaluate(theta, fit.best.start)))
        return model

    def _sites(self, found: list[Any], slope: np.ndarray, typical: float) -> AnswerSites | None:
        """Sites of the comparisons at each ratio, in typical noises; zero for a coin."""
        if self.inference != "ep" or isinstance(self.fit_.problem, ItemObjective):
            return None
        a, unit = self._answers, self._covariate_unit() * self._covariates.scale
        compared = np.flatnonzero(a.items[:, 1] >= 0)
        tau, nu = np.zeros((2, len(slope), len(compared)))
        for g, approximation in enumerate(found):
            if approximation is not None:
                tau[g] = approximation.tau[compared] / slope[g] ** 2
                nu[g] = approximation.nu[compared] / slope[g]
        return AnswerSites(
            a.items[compared], a.level[compared], a.part[compared], a.weight[compared],
            unit * a.covariates[compared], tau, nu,
            tuple(
                Symmetric.of(
                    part.steps / typical, ties=part.ties, sigma=part.sigma / typical,
                    link=part.link,
                )
                for part in _of_judges(_parts(self.fit_.likelihood))
            ),
        )  # fmt: skip

    def _coin(self, variance: float) -> tuple[float, Coefficients]:
        """Log evidence, and the coefficients, if answers do not depend on the items."""
        problem, likelihood = self.fit_.problem, self.fit_.likelihood
        rated = self._answers.items[:, 1] < 0
        # The noise of ratings takes the place of what utilities of this variance would add.
        spread = np.where(rated, variance, 0.0)
        c = problem.n_coefficients
        if c and len(rated):
            return self._effects_of_a_coin(Blurred(likelihood, spread))
        jet = likelihood.log_expected(problem.y, np.zeros(len(rated)), spread)
        prior = Coefficients(np.zeros(c), np.eye(c), np.zeros((0, c)))
        effects = prior.scaled(1.0 / self._covariates.scale)
        return float(problem.weights @ jet.value), effects

    def _effects_of_a_coin(self, likelihood: Blurred) -> tuple[float, Coefficients]:
        """Log evidence and coefficients if answers depend on the covariates alone."""
        problem, design = self.fit_.problem, self._answers.covariate_design()
        variance = noise_variance(self.fit_.likelihood)[0]
        K = variance * np.eye(design.size)
        sharpest = likelihood.max_precision * max(1.0, np.max(problem.weights))
        with one_pool(len(problem.y)):
            a = ENGINES[self.inference](
                prior_of(design, K, sharpest), likelihood, problem.y, weights=problem.weights,
                tol=self.tol, max_iter=self.max_iter,
            )  # fmt: skip
            effects = LatentPredictor.of(design, K, a).parted(0, variance)[1]
        return a.log_evidence, effects.scaled(self._per_unit(variance))

    # Covariates

    def _per_unit(self, variance: float) -> np.ndarray:
        """From latent coefficients to those of covariates as given, over the noise."""
        return 1.0 / (np.sqrt(variance) * self._covariates.scale)

    def _covariate_unit(self) -> float:
        """The noise of a difference over the typical noise of one utility."""
        return float(np.sqrt(noise_variance(self.fit_.likelihood)[0]) / self._typical_noise)

    def _presented(
        self, Z: np.ndarray, view: np.ndarray, place: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What covariates add to mean and variance of the differences of some items."""
        known = self._effects
        assert known is not None
        Z = Z * np.sqrt(noise_variance(self.fit_.likelihood)[0])
        link = view @ known.link
        with_items = link[place[:, 0]] - link[place[:, 1]]
        return Z @ known.mean, np.sum(Z * (Z @ known.cov + 2.0 * with_items), axis=1)

    def _covariate_posteriors(self, effects: list[Any]) -> CovariatePosteriors | None:
        """Those of a snapshot, from the coefficients at each ratio."""
        if not len(self._covariates):
            return None
        n, c = len(self._items), len(self._covariates)
        unit = self._covariate_unit()
        link = np.zeros((len(effects), n, c))  # of a coin with the items: none
        for g, one in enumerate(effects):
            link[g, : len(one.link)] = one.link
        return CovariatePosteriors(
            self._covariates, np.array([one.mean for one in effects]),
            np.array([one.cov for one in effects]), link, float(unit),
        )  # fmt: skip

    def _unit_likelihoods(self, unit: float) -> tuple[Symmetric, ...]:
        """Likelihoods of the judges in units of a noise; last, of one with median noise."""
        noise = np.atleast_1d(self.noise_)
        steps = self.steps_.reshape(len(noise), -1)
        every = _of_judges(_parts(self.fit_.likelihood))
        noise = np.append(noise, self._typical_noise)
        steps = np.vstack([steps, np.median([_above_zero(one) for one in every], axis=0)])
        return tuple(
            Symmetric.of(
                np.diff(each / unit, prepend=0.0), ties=self.ties, sigma=float(sigma / unit),
                link=self.link,
            )
            for sigma, each in zip(noise, steps, strict=True)
        )  # fmt: skip

    # Prediction

    def _new_inputs(self, X: Any, name: str) -> np.ndarray:
        """Kernel inputs of new items."""
        d = self._items.X.shape[1]
        if not d or self._items.gram:
            raise ValueError(
                f"{name} holds features, but the items of this model have none; ask about "
                "items of the model by their numbers, or fit it to features of the items."
            )
        try:
            X = check_array(X, dtype=np.float64, input_name=name)
        except ValueError as problem:
            if np.asarray(X).dtype.kind not in "OUS":
                raise
            raise ValueError(
                f"{name} holds values that are not numbers ({problem}); encode words as the "
                "items were encoded, such as by `encoded` of what `tables.choices_to_pairs` "
                "returned."
            ) from None
        if X.shape[1] != d:
            raise ValueError(
                f"{name} has {X.shape[1]} features, but the items have {d}; pass the same "
                "columns in the same order."
            )
        return self._items.new(X)

    def _posterior_of_new(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the utilities of new items, from their kernel inputs."""
        view = self._view_of_new(Z)
        prior = self.fit_.kernel(Z)
        return self.predictor_.mean(view), self.predictor_.covariance(view, prior)

    def _view(self, which: np.ndarray) -> Any:
        """What the predictor takes for items of the model."""
        kernel, items = self.fit_.kernel, self._items
        if not isinstance(self.predictor_, ItemPredictor):
            return items.cross(kernel, which, self._answers.seen())
        inputs = items.inputs(which, which)
        return self._view_by_points(inputs, items.twin[which])

    def _view_of_new(self, Z: np.ndarray) -> Any:
        """What the predictor takes for new items."""
        if not isinstance(self.predictor_, ItemPredictor):
            return self.fit_.kernel(Z, self.fit_.problem.X)
        return self._view_by_points(Z, np.full(len(Z), -1))

    def _view_by_points(self, inputs: np.ndarray, number: np.ndarray) -> Any:
        kernel = self.fit_.kernel
        smooth, X = features_of(kernel, inputs)
        cross = smooth(X, self.fit_.problem.support)
        return self.predictor_.view(cross, kernel.diag(inputs), number)

    def _batches(self, m: int, distinct: int) -> Any:
        """Slices of m pairs whose covariances with all that was learnt from fit in memory.

        All at once if the ``distinct`` items do: an item is expensive, a further pair is not.
        """
        n = len(self.fit_.problem.support)
        if distinct * n <= _ENTRIES:
            return [slice(0, m)]
        return gen_batches(m, max(500, _ENTRIES // n))

    def _answer_proba(
        self, mean: np.ndarray, variance: np.ndarray, judge: Any, swapped: np.ndarray
    ) -> np.ndarray:
        """From moments of differences; where ``swapped``, of the second item to the first."""
        judges = self._judge_likelihoods(judge)
        proba = np.sum([w * part.proba(mean, variance) for w, part in judges], axis=0)
        return np.where(swapped[:, None], proba[:, ::-1], proba)

    def _judge_likelihoods(self, judge: Any) -> Sequence[tuple[float, Ordinal]]:
        """That of one judge; or of all, each with the share of answers that it gave."""
        parts, n = _parts(self.fit_.likelihood), self._n_judges
        known = [] if self.judges_ is None else self.judges_.tolist()
        if judge in known:
            return [(1.0, parts[known.index(judge)])]
        if judge is not None:
            return varied(self._unit_likelihoods(1.0)[-1], self._judge_spread)
        share = self._judge_weights
        share = share / share.sum() if share.any() else np.full(n, 1.0 / n)
        return list(zip(share.tolist(), parts[:n], strict=True))

    @property
    def _judge_spread(self) -> float:
        """Spread of log noise of judges whom the model does not know; 0 if none has a name."""
        if self.judges_ is None:
            return 0.0
        noise = np.log(self.noise_)
        J, squares = len(noise), float(np.sum((noise - noise.mean()) ** 2))
        variance = (_SPREAD_COUNTS * JUDGE_SPREAD**2 + squares) / (_SPREAD_COUNTS + J - 1)
        return float(np.sqrt(variance * (1.0 + 1.0 / J)))  # the centre is not known either

    @property
    def _typical_noise(self) -> float:
        """Median noise of the judges."""
        parts = _of_judges(_parts(self.fit_.likelihood))
        return float(np.median([part.sigma for part in parts]))

    @property
    def _n_judges(self) -> int:
        """Number of judges, all without a name counted as one."""
        return (0 if self.judges_ is None else len(self.judges_)) + self._has_nobody


def _parts(likelihood: Any) -> tuple[Ordinal, ...]:
    """Likelihood of each judge, then of ratings."""
    return likelihood.parts if isinstance(likelihood, Several) else (likelihood,)


def _of_judges(parts: tuple[Ordinal, ...]) -> list[Symmetric]:
    """Those of judges among the likelihoods."""
    return [part for part in parts if isinstance(part, Symmetric)]


def _above_zero(part: Ordinal) -> np.ndarray:
    return part.thresholds[part.thresholds > 0]


def _stretched(part: Ordinal, factor: float, variance: float) -> Ordinal:
    """The likelihood with its noise multiplied; see `PreferenceGP._with_noise`."""
    if isinstance(part, Symmetric):
        steps = factor * part.steps
        return Symmetric.of(steps, ties=part.ties, sigma=factor * part.sigma, link=part.link)
    noise = factor * part.noise
    wider = np.sqrt((variance + noise**2) / (variance + part.noise**2))
    return replace(part, noise=noise, thresholds=wider * part.thresholds)


class _ItemSubsets(Objective):
    """An objective whose subsets hold what was said about some of the items among themselves.

    A share of all answers would see almost all of the items, at almost the full cost, and each
    of them so seldom that noise can hardly be told from effects of items.
    """

    def subset(self, index: np.ndarray) -> Objective:
        """As many observations as ``index`` has, of as few items as a fixed shuffle allows."""
        design = self.design
        assert isinstance(design, Combinations)
        turn = np.random.default_rng(0).permutation(len(self.X))
        turn = np.append(turn, np.full(self.n_coefficients, -1))
        last = np.max(np.where(design.value != 0, turn[design.index], 0), axis=1)
        return super().subset(np.sort(np.argsort(last, kind="stable")[: len(index)]))


def _cases_of_one_size(cases: Any, q: int) -> Iterator[np.ndarray]:
    """Rows (b, size) of b cases with ``size`` alternatives, for every size from two on."""
    labels = np.zeros(q, int) if cases is None else column_or_1d(cases)
    if len(labels) != q:
        raise ValueError(
            f"cases has {len(labels)} labels for {q} alternatives; wanted one for each."
        )
    _, place, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    together = np.split(np.argsort(place, kind="stable"), np.cumsum(sizes)[:-1])
    for size in np.unique(sizes[sizes > 1]):
        alike = np.array([rows for rows in together if len(rows) == size])
        for batch in gen_batches(len(alike), max(1, _TOGETHER // size)):
            yield alike[batch]
