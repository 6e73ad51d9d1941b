"""Worker for GPflow's two variational models with its ordinal likelihood.

Its bin edges are fixed: they are set from the frequencies of the levels. Length scale, variance
and noise are learnt. Its documentation trains such models in two ways, and both are here:

- VGP as the page on ordinal regression does, 100 steps of L-BFGS. XLA was slower;
  VGPOpperArchambeau was far from the bound after as many steps.
- VGP and SVGP as the page on natural gradients does, full-batch steps in turn with Adam. For
  VGP 30 of them reach the bound of 100 of L-BFGS. SVGP takes 100, with 100 inducing points that
  start at a random subset of the rows: L-BFGS took as long to a lower bound, and Adam on
  minibatches ten times as long.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # before the import, which talks

import gpflow
import numpy as np
import tensorflow as tf
from peer import NOISE, Fit, frequency_thresholds, timed, work

INDUCING = 100


class TimedScipy(gpflow.optimizers.Scipy):
    """The optimiser, keeping the cost of each evaluation: the first one traces the graph."""

    def eval_func(self, *args, **kwargs):
        evaluate = super().eval_func(*args, **kwargs)
        self.laps = []

        def lap(x):
            value, cost = timed(lambda: evaluate(x))
            self.laps.append(cost)
            return value

        return lap


def vgp(X, y, levels):
    def train():
        model = gpflow.models.VGP((X, _column(y)), _kernel(X), _likelihood(y, levels))
        optimizer = TimedScipy()
        found = optimizer.minimize(
            model.training_loss, model.trainable_variables, options={"maxiter": 100}
        )
        return model, optimizer.laps, found.nit

    return _fit(train)


def vgp_natgrad(X, y, levels):
    def train():
        model = gpflow.models.VGP((X, _column(y)), _kernel(X), _likelihood(y, levels))
        return model, _alternate(model, model.training_loss, steps=30), 30

    return _fit(train)


def svgp(X, y, levels):
    def train():
        rows = np.random.default_rng(0).permutation(len(X))[:INDUCING]
        model = gpflow.models.SVGP(
            _kernel(X), _likelihood(y, levels), X[rows].copy(), num_data=len(X)
        )
        loss = model.training_loss_closure((X, _column(y)))
        return model, _alternate(model, loss, steps=100), 100

    return _fit(train)


def _alternate(model, loss, steps):
    """Natural-gradient steps for q, in turn with Adam's for the rest; returns their costs."""
    posterior = [(model.q_mu, model.q_sqrt)]
    gpflow.set_trainable(model.q_mu, False)
    gpflow.set_trainable(model.q_sqrt, False)
    natural = gpflow.optimizers.NaturalGradient(gamma=0.5)
    adam = tf.optimizers.Adam(0.1)

    @tf.function
    def step():
        natural.minimize(loss, posterior)
        with tf.GradientTape() as tape:
            value = loss()
        gradient = tape.gradient(value, model.trainable_variables)
        adam.apply_gradients(zip(gradient, model.trainable_variables, strict=True))

    return [timed(step)[1] for _ in range(steps)]


def _fit(train):
    (model, laps, steps), cost = timed(train)
    compiling = laps[0] - np.median(laps[1:], axis=0)
    predict = model.predict_log_density
    return Fit(cost, compiling, steps, lambda X, y: predict((X, _column(y))).numpy())


def _kernel(X):
    return gpflow.kernels.SquaredExponential(lengthscales=np.sqrt(X.shape[1]))


def _likelihood(y, levels):
    likelihood = gpflow.likelihoods.Ordinal(frequency_thresholds(y, levels))
    likelihood.sigma.assign(NOISE)
    return likelihood


def _column(y):
    return y[:, None].astype(float)


if __name__ == "__main__":
    work({"gpflow-vgp": vgp, "gpflow-vgp-natgrad": vgp_natgrad, "gpflow-svgp": svgp})
