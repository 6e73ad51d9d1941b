"""Thresholded ensembles: ORBoost with all or with left and right margins, and RankBoost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ..boosting.ensemble import Ensemble, boost, rank_boost
from ..boosting.learners import Trainer
from ._boosting import ThresholdedEnsemble
from ._rows import Rows
from ._validation import check_choices

__all__ = ["OrdinalBoost", "RankBoost"]


class OrdinalBoost(ThresholdedEnsemble):
    """Boosting for ordered labels: a vote of simple functions, cut by thresholds (ORBoost).

    Each round adds the function that opposes the gradient of an exponential loss over margins
    best, weighs it by the step that lowers the loss most, and moves the thresholds to where
    they are best. `predict` gives the level between whose thresholds the vote falls; it does
    not go by the probabilities, which come from a link calibrated on left-out rows.

    Parameters
    ----------
    margins : {"all", "left-right"}, default="all"
        Which thresholds a row must keep away from: all of them (bounds the absolute error), or
        the two next to its label (bounds the classification error).
    learner : {"perceptron", "sigmoid", "stump", "tree"} or classifier, default="perceptron"
        Functions that vote: halfspaces learnt by random coordinate descent; the same with
        smooth edges, the best on the paper's benchmarks; one cut on one feature; small trees;
        or any scikit-learn classifier that takes sample weights, whose predictions are votes
        of +1 and -1.
    n_estimators : int, default=200
        Rounds.
    gamma : float, default=4.0
        Steepness of sigmoids.
    depth : int, default=3
        Cuts on the way to a leaf of a tree, at most 12.
    updates : int, default=200
        Line searches for each perceptron or sigmoid.
    bins : int, default=None
        For stumps and trees: cuts are looked for between so many bins of equal frequency, 2 to
        256. None: stumps try every cut up to 50,000 distinct rows and 256 bins above, trees
        use 256.
    standardize : bool, default=True
        Whether features are shifted and scaled to unit spread first; stumps and trees do
        without.
    calibration_folds : int or None, default=5
        Parts in which rows are left out in turn to calibrate probabilities; each costs one
        more fit. None: no probabilities, and `predict_proba` does not exist.
    validation_fraction : float, default=None
        Share of each level held out to stop early: the round with the least error of these
        rows (absolute for ``margins="all"``, else classification) is kept.
    patience : int, default=50
        Rounds without improvement after which early stopping gives up.
    tol : float, default=1e-4
        What counts as an improvement.
    warm_start : bool, default=False
        Whether `fit` adds rounds to the model there is, up to ``n_estimators``; on the same
        data the result is that of one long run. Scaling and seeds of the first fit are kept,
        probabilities are calibrated anew.
    levels : array-like of shape (K,), default=None
        The labels in order, lowest first. None: the order `y` carries, else sorted.
    random_state : int, RandomState or None, default=None
        Chooses directions, folds and held-out rows; None is a fixed seed, so equal calls give
        equal models.
    n_jobs : int, default=None
        The folds of the calibration run in this many threads.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    levels_ : ndarray of shape (K,)
        Labels in order. ``classes_`` holds the same, sorted.
    thresholds_ : ndarray of shape (K - 1,)
        Ascending, on the scale of the vote.
    weights_ : ndarray of shape (T,)
        Weight of each function in the vote; some may be negative.
    learners_ : list of T functions
        Each maps scaled features (n, d) to votes (n,) in [-1, 1].
    n_estimators_ : int
        Functions kept, T.
    n_iter_ : int
        Rounds run; more than ``n_estimators_`` if early stopping went back.
    train_loss_ : ndarray of shape (T + 1,)
        Mean exponential loss of the rows learnt from, before the first round and after each.
    validation_score_ : ndarray of shape (n_iter_,)
        Minus the error of the held-out rows after each round; only with
        ``validation_fraction``.
    feature_importances_ : ndarray of shape (d,)
        Share of each feature in the vote; zeros if a scikit-learn classifier does not tell.
    link_ : OrdinalLink or None
        What turns votes into probabilities: its ``thresholds``, ``width`` and ``proba``.
    ensemble_ : Ensemble
        All of the above as the workshop holds it, thresholds after each round included.

    See Also
    --------
    RankBoost : orders the rows first and finds thresholds afterwards.

    Notes
    -----
    A fit does not depend on the order of the rows, and a weight of two is exactly the row
    twice. Rows that agree in all features share a fold, so that the probabilities are those of
    rows not met before. Where the link holds another level to be more probable than the one
    that `predict` gives, `predict_proba` lends the latter as much; ``link_.proba`` of
    `predict_score` is the link's own word.

    References
    ----------
    Lin & Li (2006), "Large-margin thresholded ensembles for ordinal regression: theory and
    practice", ALT 2006, LNCS 4264.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalBoost
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> y = np.array(["low", "mid", "high"])[np.digitize(np.hypot(*X.T), [0.5, 0.9])]
    >>> model = OrdinalBoost(n_estimators=50, levels=["low", "mid", "high"]).fit(X, y)
    >>> model.predict([[0.1, 0.1], [-0.6, 0.4], [0.9, -0.9]])
    array(['low', 'mid', 'high'], dtype='<U4')
    >>> bool(np.all(np.diff(model.train_loss_) <= 0))
    True
    """

    def __init__(
        self,
        margins: str = "all",
        *,
        learner: Any = "perceptron",
        n_estimators: int = 200,
        gamma: float = 4.0,
        depth: int = 3,
        updates: int = 200,
        bins: int | None = None,
        standardize: bool = True,
        calibration_folds: int | None = 5,
        validation_fraction: float | None = None,
        patience: int = 50,
        tol: float = 1e-4,
        warm_start: bool = False,
        levels: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.margins = margins
        self.learner = learner
        self.n_estimators = n_estimators
        self.gamma = gamma
        self.depth = depth
        self.updates = updates
        self.bins = bins
        self.standardize = standardize
        self.calibration_folds = calibration_folds
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.tol = tol
        self.warm_start = warm_start
        self.levels = levels
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_choices(self, margins=("all", "left-right"))
        super()._check_parameters()

    def _boost(
        self,
        rows: Rows,
        coach: Trainer,
        rounds: int,
        rng: np.random.Generator,
        start: Ensemble | None = None,
        watch: Callable[..., bool] | None = None,
    ) -> Ensemble:
        return boost(
            rows.X, rows.y, len(self.levels_), coach, margins=cast(Any, self.margins),
            rounds=rounds, weights=rows.weights, rng=rng, start=start, watch=watch,
        )  # fmt: skip

    def _absolute(self) -> bool:
        return self.margins == "all"

    def _log_terms(self, first: float, total: float) -> float:
        return float(np.log(total))


class RankBoost(ThresholdedEnsemble):
    """Boosting that orders pairs of rows, with thresholds found by counting (RankBoost-AE).

    Each round adds the function that orders rows of different level better, weighed by how
    badly each pair is ordered so far; thresholds with the least error on the training rows cut
    the finished vote. They have no say in which functions are chosen, and in the paper it
    predicts worse than `OrdinalBoost`; it is for comparison, and for when the order of rows is
    what is wanted (`predict_score`).

    Parameters
    ----------
    thresholding : {"absolute", "zero-one"}, default="absolute"
        Error of the training rows that the thresholds minimise; also the one that early
        stopping watches.
    learner, n_estimators, gamma, depth, updates, bins, standardize, calibration_folds, \
validation_fraction, patience, tol, warm_start, levels, random_state, n_jobs, verbose
        As for `OrdinalBoost`.

    Attributes
    ----------
    train_loss_ : ndarray of shape (T + 1,)
        Mean exponential loss over pairs of rows of different level; one before the first
        round.
    levels_, thresholds_, weights_, learners_, n_estimators_, n_iter_, validation_score_, \
feature_importances_, link_, ensemble_
        As for `OrdinalBoost`.

    References
    ----------
    Freund, Iyer, Schapire & Singer (2003), "An efficient boosting algorithm for combining
    preferences", JMLR 4; Lin & Li (2006), section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import RankBoost
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> y = np.digitize(np.hypot(*X.T), [0.5, 0.9])
    >>> model = RankBoost(learner="sigmoid", n_estimators=50).fit(X, y)
    >>> model.predict([[0.1, 0.1], [-0.6, 0.4], [0.9, -0.9]])
    array([0, 1, 2])
    """

    def __init__(
        self,
        thresholding: str = "absolute",
        *,
        learner: Any = "perceptron",
        n_estimators: int = 200,
        gamma: float = 4.0,
        depth: int = 3,
        updates: int = 200,
        bins: int | None = None,
        standardize: bool = True,
        calibration_folds: int | None = 5,
        validation_fraction: float | None = None,
        patience: int = 50,
        tol: float = 1e-4,
        warm_start: bool = False,
        levels: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.thresholding = thresholding
        self.learner = learner
        self.n_estimators = n_estimators
        self.gamma = gamma
        self.depth = depth
        self.updates = updates
        self.bins = bins
        self.standardize = standardize
        self.calibration_folds = calibration_folds
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.tol = tol
        self.warm_start = warm_start
        self.levels = levels
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_choices(self, thresholding=("absolute", "zero-one"))
        super()._check_parameters()

    def _boost(
        self,
        rows: Rows,
        coach: Trainer,
        rounds: int,
        rng: np.random.Generator,
        start: Ensemble | None = None,
        watch: Callable[..., bool] | None = None,
    ) -> Ensemble:
        return rank_boost(
            rows.X, rows.y, len(self.levels_), coach,
            thresholding=cast(Any, self.thresholding),
            rounds=rounds, weights=rows.weights, rng=rng, start=start, watch=watch,
        )  # fmt: skip

    def _absolute(self) -> bool:
        return self.thresholding == "absolute"

    def _log_terms(self, first: float, total: float) -> float:
        return first  # all pairs weigh one before the first round
