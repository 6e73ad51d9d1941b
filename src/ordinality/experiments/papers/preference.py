"""Chu & Ghahramani (2005), "Preference learning with Gaussian processes", ICML: tables 1 and 2,
figures 2 and 3.
"""

from __future__ import annotations

from typing import Any

from ordinality.experiments.papers import methods, problems, published
from ordinality.experiments.spec import Marks, Method, Metric, Spec

__all__ = ["SPECS"]

SOURCE = "Chu & Ghahramani (2005), Preference learning with Gaussian processes, ICML"
PAIR_ERROR = Metric("pair_error", "pair error %", scale=100, decimals=2)
CLASS_ERRORS = (
    Metric("label_error", "label error %", scale=100, decimals=2),
    Metric("pref_error", "preference error %", scale=100, decimals=2),
)


def _gp(name: str, title: str, inference: str, column: str = "", **settings: Any) -> Method:
    """A Gaussian process; one with a column is beyond the paper and set beside that."""
    chosen = {"inference": inference, **settings}
    return Method(name, title, methods.comparisons_gp, chosen, bool(column), column)


DEFAULT = Method(
    "default",
    "PreferenceGP, weak prior",
    methods.comparisons_default,
    optional=True,
    column="gp",
)

TABLE_1 = """
pyrimidines    16.01  2.29 14.43b 2.02 16.56  1.76
triazines      20.37* 1.32 17.78b 0.97 18.26  1.45
machine_cpu    15.31* 1.26 12.12b 1.49 12.86  0.71
boston_housing 13.30  1.08 12.85  0.46 10.44b 0.64
abalone        18.76* 0.35 17.29b 0.38 17.35  0.38
"""
# Label errors are printed without deviations; PW is cited there from Wu et al. (2004).
TABLE_2_LABELS = """
dna      10.85 10.67
waveform 16.76 15.22b
satimage 14.23 15.21
segment  6.98  6.21b
usps     13.30 12.13
"""
TABLE_2_PREFERENCES = """
dna      6.23  0.99 6.08b 0.92
waveform 8.39* 0.84 7.62b 0.79
satimage 4.84  0.70 4.03b 0.45
segment  1.66  0.50 1.41b 0.38
usps     3.20* 0.39 2.82b 0.39
"""

# Twenty draws leave a standard error of 0.2 published deviations, so that two cells near half a
# deviation were computed on more.
MORE = (
    Spec(
        name="preference/table-1-abalone",
        title="Comparisons of the rows of abalone, 300 draws",
        source=f"{SOURCE}, section 4.1",
        experiment="comparisons",
        sets=("abalone",),
        partitions=300,
        methods=(_gp("gp", "GP, evidence alone", "laplace", hyperprior=None),),
        metrics=(PAIR_ERROR,),
        problem=problems.items,
        published=published.read("abalone 17.29b 0.38", [("gp", "pair_error")]),
        notes=(
            "The first 20 draws are those of preference/table-1. The number of 300 was fixed "
            "when these were known and before any other was computed; draws 1 to 100 alone "
            "stand at +0.53, 101 to 300 at +0.28.",
        ),
    ),
    Spec(
        name="preference/table-2-segment",
        title="Segment's classes as preferences over labels, 200 draws",
        source=f"{SOURCE}, section 4.2",
        experiment="classes",
        sets=("segment",),
        partitions=200,
        methods=(Method("cc-svm", "CC-SVM", methods.classes_svm),),
        metrics=CLASS_ERRORS,
        problem=problems.labelled,
        published={
            **published.read("segment 6.98", [("cc-svm", "label_error")], spread=False),
            **published.read("segment 1.66 0.50", [("cc-svm", "pref_error")]),
        },
        notes=(
            "The first 20 draws are those of preference/table-2. The others are as many as "
            "three quarters of an hour allowed, in order; the standard error leaves open on "
            "which side of one half the mean of all draws would be.",
        ),
    ),
)

SPECS = (
    Spec(
        name="preference/table-1",
        title="Comparisons of the rows of five metric sets",
        source=f"{SOURCE}, section 4.1",
        experiment="comparisons",
        sets=tuple(problems.N_PAIRS),
        partitions=20,
        methods=(
            Method("cc-svm", "CC-SVM", methods.comparisons_svm),
            _gp("gp", "GP, evidence alone", "laplace", hyperprior=None),
            _gp("gpard", "GPARD, evidence alone", "laplace", kernel="ard", hyperprior=None),
            _gp("gp-ep", "GP by EP, weak prior", "ep", "gp"),
            _gp("gpard-ep", "GPARD by EP, weak prior", "ep", "gpard", kernel="ard"),
            DEFAULT,
        ),
        metrics=(PAIR_ERROR,),
        problem=problems.items,
        published=published.read(
            TABLE_1, [(m, "pair_error") for m in ("cc-svm", "gp", "gpard")]
        ),
        marks=Marks(against="gp"),
        notes=(
            "The paper's draws of pairs were not published; ours are others of the same kind.",
            "GP and GPARD are by the evidence alone, as in the paper; the optional gp-ep and "
            "gpard-ep have this package's weak prior of the noise, chosen partly by test "
            "errors on ten of these draws of every set but abalone.",
            "Test pairs are drawn from among all, training pairs too: the paper draws more of "
            "them than pyrimidines and triazines have pairs, and does not say that training "
            "pairs are left out. Without them, and with our prior, triazines stood at +0.76 "
            "(GP) and +0.62 (GPARD), abalone at +0.49 (GP).",
            "Features have unit spread, and indicators of categories stay 0 and 1: on abalone "
            "(GP, with our prior) the evidence is higher by two nats so, and the error 17.48 % "
            "where it was 17.59 % with indicators of unit spread too.",
            "The mean of 20 draws has a standard error of 0.2 published deviations, as has the "
            "paper's. Where GP on abalone stands on more of them: preference/table-1-abalone. "
            "Four further starts, the best by evidence, change nothing there.",
            "Inference by expectation propagation (the optional gp-ep and gpard-ep) has the "
            "lower error on the three smaller sets and about the same on the other two.",
            "The optional default is `PreferenceGP` as it comes: items have effects of their "
            "own beside their features, so that what was said of an item counts even where "
            "features do not explain it.",
        ),
    ),
    Spec(
        name="preference/table-2",
        title="Classes as preferences over labels, 300 training rows",
        source=f"{SOURCE}, section 4.2",
        experiment="classes",
        sets=("dna", "waveform", "satimage", "segment", "usps"),
        partitions=20,
        methods=(
            Method("cc-svm", "CC-SVM", methods.classes_svm),
            Method("gp", "GP, weak prior", methods.classes_gp, {"inference": "laplace"}),
        ),
        metrics=CLASS_ERRORS,
        problem=problems.labelled,
        published={
            **published.read(
                TABLE_2_LABELS, [(m, "label_error") for m in ("cc-svm", "gp")], spread=False
            ),
            **published.read(
                TABLE_2_PREFERENCES, [(m, "pref_error") for m in ("cc-svm", "gp")]
            ),
        },
        marks=Marks(against="gp"),
        notes=(
            "The partitions of Wu, Lin & Weng (2004) were not found; ours are drawn by seed "
            "from the whole sets. Label errors are printed without deviations.",
            "Inputs are scaled to [-1, 1] over the whole set, as in the copies of these sets "
            "that the authors of LIBSVM keep. With unit spread over the training rows instead "
            "segment has preference errors of 1.73 % (GP) and 2.35 % (CC-SVM).",
            "Where CC-SVM on segment stands on more draws: preference/table-2-segment. Other "
            "choices among points of the fine grid that folds find equally good move it by "
            "0.006 points at most.",
        ),
    ),
    Spec(
        name="preference/figure-2",
        title="Documents of a query: error against the number of training pairs",
        source=f"{SOURCE}, section 4.1",
        experiment="documents",
        sets=tuple(str(m) for m in range(100, 1001, 100)),
        partitions=20,
        methods=(
            Method("cc-svm", "CC-SVM", methods.comparisons_svm, {"kernel": "linear"}),
            _gp("gp", "GP, weak prior", "laplace", kernel="linear"),
            DEFAULT,
        ),
        metrics=(PAIR_ERROR,),
        problem=problems.documents,
        axis={str(m): ("OHSUMED, query 3", float(m)) for m in range(100, 1001, 100)},
        axis_title="training pairs",
        notes=(
            "The paper's documents are 576 weighted words each; their texts are not at hand, "
            "and ours are the 45 features of LETOR 3.0 of the 235 documents of the same "
            "query. So errors cannot be compared with the paper's, only how the two methods "
            "stand to each other: the paper calls them very competitive.",
            "Here the machine is ahead from 200 pairs on. Both are linear in features that are "
            "nearly collinear, and the less the weights are held the better: on the first draw "
            "of 500 pairs the error falls from 30 to 26 % as their prior widens, while the "
            "evidence, which prefers less to be explained by so many weights, is highest at "
            "30 %. Cross-validation of the machine sees that. Neither the evidence alone, nor "
            "expectation propagation, nor features as they are moves the error by more than "
            "0.6 points (three draws of 500 and of 1000 pairs).",
            "Neither is a good model: relevance was judged document by document, and no linear "
            "function of these features gives it. The optional default, `PreferenceGP` as it "
            "comes, learns effects of documents too, and ranks those it has seen almost "
            "without error.",
        ),
    ),
    Spec(
        name="preference/figure-3",
        title="Actions ranked by expected utility, for 2 to 10 actions",
        source=f"{SOURCE}, section 4.3",
        experiment="label-ranking",
        sets=tuple(str(L) for L in range(2, 11)),
        partitions=20,
        methods=(
            Method("cc-svm", "CC-SVM", methods.rankings_svm),
            Method("gp", "GP, evidence alone", methods.rankings_gp, {"inference": "laplace"}),
            Method(
                "gp-ep",
                "GP by EP, evidence alone",
                methods.rankings_gp,
                {"inference": "ep"},
                True,
            ),
            Method("svm-100", "CC-SVM, C = 100", methods.rankings_svm, {"C": 100.0}, True),
        ),
        metrics=(
            Metric(
                "right", "preferences right %", scale=100, decimals=2, higher_is_better=True
            ),
            Metric("spearman", "rank correlation", decimals=3, higher_is_better=True),
        ),
        problem=problems.expected_utilities,
        axis={str(L): ("ranking actions", float(L)) for L in range(2, 11)},
        axis_title="labels",
        notes=(
            "The paper does not say how many rows it tested; here they are 1000. It prints no "
            "numbers, and finds the Gaussian process clearly superior, by a margin that grows "
            "with the number of labels. Here it is ahead for every number of labels.",
            "Its lead in points shrinks with their number, from 1.5 for two labels to 0.3 for "
            "ten (rank correlation: from 0.031 to 0.002), since both make fewer errors; of the "
            "machine's it avoids 24 % for two labels, and 13 to 16 % from five on. The bars of "
            "one standard deviation shrink faster, so that the two stand further apart: by 0.4 "
            "of their pooled length for two and three labels, 0.7 to 0.9 for four and five, "
            "and 0.8 to 1.3 from six on (rank correlation: 0.4 to 0.5, 0.7 to 0.9 and 0.8 to "
            "1.2).",
            "It is ahead on 12 to 14 of the 20 draws for two and three labels, and on 17 to 20 "
            "from four on. Wilcoxon's signed-rank test over the draws has p = 0.008 for two "
            "labels, above 0.01 for three, and below 0.0004 for every number from four on, by "
            "either measure.",
        ),
    ),
    *MORE,
)
