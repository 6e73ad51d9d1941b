"""Worker for `OrdinalGP` as it comes: every default.

Two fits in one new process. The first one also loads the compiled loops, or compiles them where
this machine has not yet; what it takes longer than the second is counted as compiling.
"""

import numpy as np
from peer import Fit, timed, work

from ordinality import OrdinalGP


def default(X, y, levels):
    def fit():
        return OrdinalGP(levels=list(range(levels))).fit(X, y)

    _, first = timed(fit)
    model, again = timed(fit)

    def log_likelihood(X_test, y_test):
        return np.log(model.predict_proba(X_test)[np.arange(y_test.size), y_test])

    return Fit(first, first - again, model.n_iter_, log_likelihood)


if __name__ == "__main__":
    work({"ordinality": default})
