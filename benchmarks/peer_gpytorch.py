"""Worker for GPyTorch's SVGP with a cumulative probit likelihood, which it does not have.

Whitened, learnt inducing points that start at random rows, Adam on batches of 1024 rows; the
kernel has unit variance, as ours has, because noise and thresholds are learnt. Training is in
single precision, GPyTorch's default: on 10,000 rows with 500 points it came to the log score
that double precision had after 92 s in 66 s. Steps of 0.03 were faster at first, and ended
0.006 worse.
"""

import gpytorch
import numpy as np
import torch
from peer import NOISE, frequency_thresholds
from peer_curves import Training, standardised, work

BATCH, STEP = 1024, 0.01
FAR = 1e4  # an outer threshold in units of the noise: beyond it the density is zero


class CumulativeProbit(torch.nn.Module):
    """Level k is seen if f plus noise falls between thresholds k and k + 1."""

    def __init__(self, thresholds):
        super().__init__()
        thresholds = torch.tensor(thresholds, dtype=torch.float32)
        self.first = torch.nn.Parameter(thresholds[:1].clone())
        self.log_gaps = torch.nn.Parameter(torch.log(torch.diff(thresholds)))
        self.log_noise = torch.nn.Parameter(torch.log(torch.tensor(NOISE)))
        nodes, weights = np.polynomial.hermite_e.hermegauss(20)
        self.nodes = torch.tensor(nodes, dtype=torch.float32)[:, None]
        self.weights = torch.tensor(weights / weights.sum(), dtype=torch.float32)[:, None]

    def edges(self):
        inner = torch.cat([self.first, self.first + torch.cumsum(self.log_gaps.exp(), 0)])
        far = torch.full((1,), FAR)
        return torch.cat([-far, inner, far])

    def log_prob(self, y, f, noise):
        edges = self.edges()
        lower, upper = (edges[y] - f) / noise, (edges[y + 1] - f) / noise
        # In the left tail differences keep their digits.
        flip = lower > 0
        a, b = torch.where(flip, -upper, lower), torch.where(flip, -lower, upper)
        log_a, log_b = torch.special.log_ndtr(a), torch.special.log_ndtr(b)
        return log_b + torch.log1p(-torch.exp(log_a - log_b))

    def expected_log_prob(self, y, f):
        at = f.mean + f.variance.sqrt() * self.nodes
        return (self.weights * self.log_prob(y, at, self.log_noise.exp())).sum()

    def proba(self, f):
        mean, var = f.mean.double(), f.variance.double()  # small probabilities are no zeros
        noise = torch.sqrt(self.log_noise.exp() ** 2 + var)
        levels = torch.arange(len(self.log_gaps) + 2)[:, None]
        return self.log_prob(levels, mean, noise).exp().T


class SVGP(gpytorch.models.ApproximateGP):
    def __init__(self, Z, ard):
        d = Z.shape[1]
        q = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
        super().__init__(
            gpytorch.variational.VariationalStrategy(self, Z, q, learn_inducing_locations=True)
        )
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.RBFKernel(ard_num_dims=d if ard else None)
        self.covar_module.lengthscale = np.sqrt(d)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(
            self.mean_module(x), self.covar_module(x)
        )


def start(X, y, levels, points, ard):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rng, scaled = np.random.default_rng(0), standardised(X)
    X, labels = torch.tensor(scaled(X), dtype=torch.float32), torch.as_tensor(y)
    model = SVGP(X[rng.choice(len(X), points, replace=False)], ard)
    likelihood = CumulativeProbit(frequency_thresholds(y, levels))
    adam = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=STEP)
    batches = iter(())

    def step():
        nonlocal batches
        rows = next(batches, None)
        if rows is None:
            batches = iter(torch.split(torch.as_tensor(rng.permutation(len(X))), BATCH))
            rows = next(batches)
        adam.zero_grad()
        fitted = likelihood.expected_log_prob(labels[rows], model(X[rows])) / len(rows)
        loss = model.variational_strategy.kl_divergence() / len(X) - fitted
        loss.backward()
        adam.step()

    def proba(X_test):
        model.eval()
        with torch.no_grad():
            test = torch.tensor(scaled(X_test), dtype=torch.float32)
            p = likelihood.proba(model(test)).numpy()
        model.train()
        return p

    return Training(step, proba)


if __name__ == "__main__":
    work(start)
