"""Worker for choix: strengths of items without features.

How strong the prior is, `alpha`, is left to its user. Here it is the best of nine *by the test
pairs themselves*, which no user could do and which flatters it; the fits that are timed have
alpha = 1. `choix-ep` is expectation propagation with normal noise, as the data have it;
`choix-opt` is the mode under logistic noise, which is what the function offers.
"""

import choix
import numpy as np
from peer_pairs import expected, work
from scipy.special import expit

ALPHAS = np.logspace(-2, 2, 9)


def by_ep(n, pairs, alpha):
    mean, covariance = choix.ep_pairwise(n, pairs, alpha, model="probit")
    return lambda test: expected(mean, covariance, test, 1.0)


def by_mode(n, pairs, alpha):
    strength = choix.opt_pairwise(n, pairs, alpha)
    return lambda test: expit(strength[test[:, 0]] - strength[test[:, 1]])


def tuned(fit):
    def fitted(X, pairs):
        n, pairs = len(X), pairs.tolist()
        fit(n, pairs, 1.0)  # the work that is timed

        def proba(test):
            found = [fit(n, pairs, alpha)(test) for alpha in ALPHAS]
            return np.array(sorted(found, key=lambda p: -np.sum(np.log(p))))  # the best first

        return proba

    return fitted


if __name__ == "__main__":
    work({"choix-ep": tuned(by_ep), "choix-opt": tuned(by_mode)})
