"""Worker for GPflow's SVGP with a cumulative probit likelihood that learns its thresholds.

As `peer_gpytorch.py`: whitened, learnt inducing points that start at random rows, Adam on
batches of 1024 rows, a kernel of unit variance. GPflow's own ordinal likelihood keeps its
thresholds where they are put. The first step traces the graph and is not counted.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # before the import, which talks

import gpflow
import numpy as np
import tensorflow as tf
from peer import NOISE, frequency_thresholds
from peer_curves import Training, standardised, work

BATCH, STEP = 1024, 0.01
FAR = 1e4  # an outer threshold in units of the noise: beyond it the density is zero


class CumulativeProbit(gpflow.likelihoods.ScalarLikelihood):
    """Level k is seen if f plus noise falls between thresholds k and k + 1."""

    def __init__(self, thresholds):
        super().__init__()
        self.first = gpflow.Parameter(thresholds[:1])
        self.gaps = gpflow.Parameter(np.diff(thresholds), transform=gpflow.utilities.positive())
        self.noise = gpflow.Parameter(NOISE, transform=gpflow.utilities.positive())

    def _scalar_log_prob(self, X, F, Y):
        return self.log_interval(F, tf.cast(Y, tf.int32), self.noise)

    def log_interval(self, f, y, noise):
        inner = tf.concat([self.first, self.first + tf.cumsum(self.gaps)], 0)
        far = tf.constant([FAR], tf.float64)
        edges = tf.concat([-far, inner, far], 0)
        lower, upper = (tf.gather(edges, y) - f) / noise, (tf.gather(edges, y + 1) - f) / noise
        # In the left tail differences keep their digits.
        flip = lower > 0
        a, b = tf.where(flip, -upper, lower), tf.where(flip, -lower, upper)
        log_a, log_b = _log_ndtr(a), _log_ndtr(b)
        return log_b + tf.math.log1p(-tf.exp(log_a - log_b))


def _log_ndtr(x):
    import tensorflow_probability as tfp

    return tfp.distributions.Normal(np.float64(0), np.float64(1)).log_cdf(x)


def start(X, y, levels, points, ard):
    rng, scaled = np.random.default_rng(0), standardised(X)
    X, labels = scaled(X), y[:, None].astype(float)
    d, likelihood = X.shape[1], CumulativeProbit(frequency_thresholds(y, levels))
    kernel = gpflow.kernels.SquaredExponential(
        lengthscales=np.full(d, d**0.5) if ard else d**0.5
    )
    gpflow.set_trainable(kernel.variance, False)
    Z = X[rng.choice(len(X), points, replace=False)]
    model = gpflow.models.SVGP(kernel, likelihood, Z, num_data=len(X), whiten=True)
    adam, rows = tf.optimizers.Adam(STEP), iter(())

    @tf.function(input_signature=[tf.TensorSpec((None, d), tf.float64),
                                  tf.TensorSpec((None, 1), tf.float64)])  # fmt: skip
    def update(X, y):
        with tf.GradientTape() as tape:
            loss = model.training_loss((X, y)) / len(labels)
        gradient = tape.gradient(loss, model.trainable_variables)
        adam.apply_gradients(zip(gradient, model.trainable_variables, strict=True))

    def step():
        nonlocal rows
        if (some := next(rows, None)) is None:
            order = rng.permutation(len(X))
            rows = iter(np.split(order, range(BATCH, len(order), BATCH)))
            some = next(rows)
        update(X[some], labels[some])

    def proba(X_test):
        mean, var = model.predict_f(scaled(X_test))
        every = tf.range(levels)[None, :]
        noise = tf.sqrt(likelihood.noise**2 + var)
        return np.exp(likelihood.log_interval(mean, every + 0 * tf.cast(mean, tf.int32), noise))

    step()
    return Training(step, proba)


if __name__ == "__main__":
    work(start)
