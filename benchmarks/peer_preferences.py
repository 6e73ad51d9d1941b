"""Worker for `PreferenceGP` as it comes, and with the settings of its peers.

- `ordinality`: every default.
- `ordinality-smooth`: no effects of items, as BoTorch's model.
- `ordinality-ard`: a length scale for each feature, as it has.
- `ordinality-laplace`: inference as BoTorch's and the paper's.
- `ordinality-plain`: no features, as choix.
"""

from functools import partial

import numpy as np
from peer_pairs import work

from ordinality import PreferenceGP
from ordinality.kernels import Gaussian


def fit(X, pairs, **options):
    model = PreferenceGP(X, **options).fit(pairs)
    return lambda test: model.predict_proba(test)[:, 1]


def ard(X, pairs):
    d = X.shape[1]
    return fit(X, pairs, kernel=Gaussian(np.full(d, np.sqrt(d))))


if __name__ == "__main__":
    work(
        {
            "ordinality": fit,
            "ordinality-smooth": partial(fit, item_effects=False),
            "ordinality-ard": ard,
            "ordinality-laplace": partial(fit, inference="laplace"),
            "ordinality-plain": lambda X, pairs: fit(len(X), pairs),
        }
    )
