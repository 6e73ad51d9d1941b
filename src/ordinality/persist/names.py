"""Stable names of the types in a model file, and the types of others that it may hold.

A file stores a type of ours under a name and a version, such as ``OrdinalGP@1``, and never
under the module it lives in. Moving a class changes one line below and no file. The version is
raised when the attributes of the type change so that files of the old version mislead.
"""

from __future__ import annotations

from typing import Any

__all__ = ["OURS", "PACKAGE", "THEIRS", "name_of", "trusted_types", "type_name"]

PACKAGE = "ordinality"  # the module of every type of ours in a schema

# Where each type of ours lives today. All are of version 1.
_PLACES = """
    boosting.cumulative_trees: CumulativeTrees MultinomialTrees
    boosting.ensemble: Ensemble
    boosting.forest: Forest
    boosting.learners: ClippedFunction DecisionStump DecisionTree
    boosting.perceptron: Halfspace SoftHalfspace
    cumulative.group_effects: EffectPosterior
    estimators.boost_learners: Vote
    estimators.calibration: OrdinalLink
    estimators.fitting: Scaling
    estimators.label_ranking_gp: LabelRankingGP
    estimators.label_ranking_svm: LabelRankingSVM LabelRankingSVMCV
    estimators.least_squares_ordinal_gp: LeastSquaresOrdinalGP
    estimators.low_rank_imputer: LowRankImputer
    estimators.ordinal_boost: OrdinalBoost RankBoost
    estimators.ordinal_conformal: OrdinalConformal
    estimators.ordinal_gp: OrdinalGP
    estimators.ordinal_regression: OrdinalRegression
    estimators.ordinal_stack: OrdinalStack
    estimators.ordinal_svm: OrdinalSVM OrdinalSVMCV
    estimators.ordinal_trees: OrdinalTrees
    estimators.preference_data: Answers Covariates Items
    estimators.preference_gp: PreferenceGP
    estimators.preference_svm: PreferenceSVM PreferenceSVMCV
    estimators.random_terms: RandomEffects RandomTerm
    estimators.rounded_regressor: RoundedRegressor
    gp.criteria: InducingLabelObjective InducingObjective ItemObjective LabelObjective
    gp.criteria: Objective ObjectiveValue
    gp.design: Combinations Direct Labels
    gp.hyperpriors: Hyperprior
    gp.least_squares: InducingLeastSquares LeastSquares Score
    gp.likelihoods: Jet LogLinear Ordinal Several Symmetric
    gp.optimise: Fit
    gp.posterior.inducing: InducingPredictor
    gp.posterior.observations: Factor Predictor
    gp.predict: Coefficients InducingLabelPredictor ItemPredictor LabelPredictor LatentPredictor
    gp.predict: Piece=_Piece
    gp.site_loop: Approximation
    gp.stream: Settled Stream
    kernels.base: Constant Product Sum
    kernels.features: FixedPolynomial Linear Polynomial Spline
    kernels.foreign: Foreign
    kernels.given: Correlation Precomputed
    kernels.items: PerItem
    kernels.linear_gaussian: LinearGaussian
    kernels.stationary: Gaussian Matern RationalQuadratic
    levels: Order
"""


def _places() -> dict[str, tuple[str, str]]:
    found = {}
    for line in _PLACES.strip().splitlines():
        module, names = line.split(":")
        for entry in names.split():
            name, _, renamed = entry.partition("=")
            found[f"{name}@1"] = (f"{PACKAGE}.{module.strip()}", renamed or name)
    return found


#: Stable name to (module, class).
OURS = _places()
_NAMES = {place: name for name, place in OURS.items()}

# Types of scikit-learn that a file may hold: those whose prediction is Python and NumPy, which
# check every index, and those with compiled loops whose arrays `sklearn_parts` checks (trees,
# SVR, OneHotEncoder). Nearest neighbours, histogram boosting, SVC and text vectorisers are not
# among them.
_ESTIMATORS = """
    compose._column_transformer: ColumnTransformer make_column_selector
    compose._target: TransformedTargetRegressor
    cross_decomposition._pls: PLSRegression
    decomposition._factor_analysis: FactorAnalysis
    decomposition._fastica: FastICA
    decomposition._kernel_pca: KernelPCA
    decomposition._nmf: NMF
    decomposition._pca: PCA
    decomposition._truncated_svd: TruncatedSVD
    discriminant_analysis: LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis
    dummy: DummyClassifier DummyRegressor
    ensemble._bagging: BaggingRegressor
    ensemble._forest: ExtraTreesClassifier ExtraTreesRegressor
    ensemble._forest: RandomForestClassifier RandomForestRegressor
    ensemble._gb: GradientBoostingRegressor
    ensemble._stacking: StackingRegressor
    ensemble._voting: VotingRegressor
    ensemble._weight_boosting: AdaBoostRegressor
    feature_selection._from_model: SelectFromModel
    feature_selection._univariate_selection: SelectKBest SelectPercentile
    feature_selection._variance_threshold: VarianceThreshold
    gaussian_process._gpr: GaussianProcessRegressor
    impute._base: MissingIndicator SimpleImputer
    kernel_approximation: Nystroem RBFSampler
    kernel_ridge: KernelRidge
    linear_model._base: LinearRegression
    linear_model._bayes: ARDRegression BayesianRidge
    linear_model._coordinate_descent: ElasticNet ElasticNetCV Lasso LassoCV
    linear_model._glm.glm: GammaRegressor PoissonRegressor TweedieRegressor
    linear_model._huber: HuberRegressor
    linear_model._least_angle: Lars LassoLars LassoLarsIC
    linear_model._logistic: LogisticRegression LogisticRegressionCV
    linear_model._omp: OrthogonalMatchingPursuit
    linear_model._perceptron: Perceptron
    linear_model._quantile: QuantileRegressor
    linear_model._ransac: RANSACRegressor
    linear_model._ridge: Ridge RidgeCV RidgeClassifier RidgeClassifierCV
    linear_model._stochastic_gradient: SGDClassifier SGDRegressor
    linear_model._theil_sen: TheilSenRegressor
    naive_bayes: BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB
    neural_network._multilayer_perceptron: MLPRegressor
    pipeline: FeatureUnion Pipeline
    preprocessing._data: Binarizer KernelCenterer MaxAbsScaler MinMaxScaler Normalizer
    preprocessing._data: PowerTransformer QuantileTransformer RobustScaler StandardScaler
    preprocessing._discretization: KBinsDiscretizer
    preprocessing._encoders: OneHotEncoder OrdinalEncoder
    preprocessing._function_transformer: FunctionTransformer
    preprocessing._label: LabelBinarizer LabelEncoder
    preprocessing._polynomial: PolynomialFeatures
    preprocessing._target_encoder: TargetEncoder
    svm._classes: LinearSVC LinearSVR NuSVR SVR
    tree._classes: DecisionTreeClassifier DecisionTreeRegressor
    tree._classes: ExtraTreeClassifier ExtraTreeRegressor
"""
_PARTS = """
    _loss.link: HalfLogitLink IdentityLink Interval LogLink LogitLink MultinomialLogit
    _loss.loss: AbsoluteError HalfBinomialLoss HalfGammaLoss HalfMultinomialLoss
    _loss.loss: HalfPoissonLoss HalfSquaredError HuberLoss PinballLoss
    gaussian_process.kernels: CompoundKernel ConstantKernel DotProduct ExpSineSquared
    gaussian_process.kernels: Exponentiation Matern PairwiseKernel Product RBF
    gaussian_process.kernels: RationalQuadratic Sum WhiteKernel
"""


def _listed(text: str) -> frozenset[str]:
    lines = [line.split(":") for line in text.strip().splitlines()]
    return frozenset(f"sklearn.{at.strip()}.{n}" for at, names in lines for n in names.split())


#: Types of scikit-learn that may be built as objects, by their qualified names.
THEIRS = _listed(_ESTIMATORS) | _listed(_PARTS)


def name_of(module: str, qualified: str) -> str | None:
    """Stable name of a type of ours, such as ``OrdinalGP@1``; None for any other."""
    return _NAMES.get((module, qualified))


def type_name(value: Any) -> str | None:
    """Stable name, without version, of the type of an object; None if it is not ours."""
    name = name_of(type(value).__module__, type(value).__qualname__)
    return None if name is None else name.partition("@")[0]


def trusted_types() -> list[str]:
    """Types to trust when skops itself reads a model of this package.

    `ordinality.load` needs no such list. Other tools save scikit-learn models by calling skops
    themselves, and ask which types may be built: hand them this list. It names the types that
    skops does not trust by default. skops then checks types alone: unlike `ordinality.load` it
    does not check contents, so trust such a file only as far as you trust its author.

    Returns
    -------
    list of str
        Fully qualified names, sorted.

    Examples
    --------
    >>> import numpy as np, skops.io
    >>> from ordinality import OrdinalGP, persist
    >>> model = OrdinalGP().fit(np.arange(9.0)[:, None], [1, 1, 1, 2, 2, 2, 3, 3, 3])
    >>> stored = skops.io.dumps(model)
    >>> loaded = skops.io.loads(stored, trusted=persist.trusted_types())
    >>> loaded.predict([[0.0], [8.0]])
    array([1, 3])
    """
    ours = {f"{module}.{qualified}" for module, qualified in OURS.values()}
    theirs = _listed(_PARTS) | {"sklearn.compose._column_transformer.make_column_selector"}
    return sorted(ours | theirs | {"sklearn.tree._tree.Tree", "numpy.dtype"})
