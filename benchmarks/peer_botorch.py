"""Worker for BoTorch's `PairwiseGP`, fitted as its tutorial on comparisons does.

Gaussian kernel with a length scale for each feature and a variance, priors as they come;
features scaled to [0, 1]; Laplace's approximation; `fit_gpytorch_mll` with its defaults. It
gives a posterior of utilities, from which the probability of an answer follows exactly: noise
of one on each utility, as its likelihood has.
"""

import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models.pairwise_gp import PairwiseGP, PairwiseLaplaceMarginalLogLikelihood
from botorch.models.transforms.input import Normalize
from peer_pairs import expected, work


def fit(X, pairs):
    X = torch.tensor(X)
    model = PairwiseGP(X, torch.tensor(pairs), input_transform=Normalize(d=X.shape[1]))
    fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))

    def proba(test):
        with torch.no_grad():
            found = model.posterior(X).distribution
            mean, covariance = found.mean.numpy(), found.covariance_matrix.numpy()
        return expected(mean, covariance, test, np.sqrt(2.0))

    return proba


if __name__ == "__main__":
    work({"botorch": fit})
