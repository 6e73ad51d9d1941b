"""Metrics of predictions of ordered labels.

Functions of labels take ``(y_true, y_pred)``; functions of probabilities ``(y_true, proba)``
with the columns of ``proba``, shape (n, K), in order of level. Two keywords mean the same
everywhere. ``levels`` lists the labels, lowest first. By default the order is the one that the
labels carry (ordered Categorical, Enum), or the numbers sorted; text without an order is
refused, because the alphabet is rarely the intended order. A level that does not occur counts
only if it is listed: from 1 to 5 is one step if no other label occurs, and four with
``levels=[1, 2, 3, 4, 5]``.
``sample_weight`` counts a row that many times. A number that the data do not define, such as a
correlation with a constant, is NaN.

`pair_error` and `top_k_overlap` measure comparisons and utilities, which are numbers.
`judge_fit`, `left_share`, `repeat_agreement` and `root_likelihood` describe the answers of a
judge, `scale_separation` a scale that answers gave.

`scorer` makes a scorer for scikit-learn's ``scoring=``, which finds the order itself.
`cross_val_level_proba` gives the out-of-fold probabilities that these functions take.
"""

from ordinality.metrics.of_judges import (
    JudgeFit,
    LeftShare,
    RepeatAgreement,
    judge_fit,
    left_share,
    repeat_agreement,
    root_likelihood,
    scale_separation,
)
from ordinality.metrics.of_labels import (
    kendall_tau,
    linear_kappa,
    macro_mae,
    max_mae,
    mean_absolute_error,
    off_by_one_accuracy,
    quadratic_kappa,
    spearman,
    zero_one_error,
)
from ordinality.metrics.of_probabilities import (
    Reliability,
    ScoreDecomposition,
    log_score,
    ordinal_c_index,
    ranked_probability_score,
    reliability,
    score_decomposition,
)
from ordinality.metrics.of_rankings import pair_error, top_k_overlap
from ordinality.metrics.scorers import Scorer, cross_val_level_proba, scorer

__all__ = [
    "JudgeFit",
    "LeftShare",
    "Reliability",
    "RepeatAgreement",
    "ScoreDecomposition",
    "Scorer",
    "cross_val_level_proba",
    "judge_fit",
    "kendall_tau",
    "left_share",
    "linear_kappa",
    "log_score",
    "macro_mae",
    "max_mae",
    "mean_absolute_error",
    "off_by_one_accuracy",
    "ordinal_c_index",
    "pair_error",
    "quadratic_kappa",
    "ranked_probability_score",
    "reliability",
    "repeat_agreement",
    "root_likelihood",
    "scale_separation",
    "score_decomposition",
    "scorer",
    "spearman",
    "top_k_overlap",
    "zero_one_error",
]
