"""Worker for ``probit``: the Laplace approximation, every parameter learnt.

Its README learns the length scale alone and hands over the true noise and cutpoints, which
nobody has. So here its own differentiable objective, compiled, is maximised over length scale,
noise and cutpoints: the parameters `OrdinalGP` learns. Tried, and not better: its variational
approximation (about as fast, a lower likelihood) and its closed-form derivatives of the
likelihood (gradients that are not numbers).

Its Newton steps are undamped, and with ten levels they can run away close to the optimum. The
search then ends with the best parameters so far: going on costs time and loses them.
"""

from contextlib import suppress

import jax
import jax.numpy as jnp
import numpy as np
from mlkernels import EQ
from peer import NOISE, Fit, frequency_thresholds, timed, work
from probit.approximators import LaplaceGP
from probit.utilities import log_probit_likelihood, probit_predictive_distributions
from scipy.optimize import minimize

jax.config.update("jax_enable_x64", True)  # as its example does


def laplace(X, y, levels):
    gp = LaplaceGP(
        data=(jnp.asarray(X), jnp.asarray(y)),
        prior=lambda length_scale: EQ().stretch(length_scale),
        log_likelihood=log_probit_likelihood,
        tolerance=1e-5,  # as in its README
    )
    (theta, posterior, steps, compiling), cost = timed(lambda: _learn(gp, X, y, levels))

    def log_likelihood(X_test, y_test):
        mean, variance = gp.predict(jnp.asarray(X_test), _parameters(theta), *posterior)
        p = np.asarray(probit_predictive_distributions(_parameters(theta)[1], mean, variance))
        return np.log(p[np.arange(y_test.size), y_test])

    return Fit(cost, compiling, steps, log_likelihood)


def _learn(gp, X, y, levels):
    cut = frequency_thresholds(y, levels)
    start = np.concatenate(
        [[0.5 * np.log(X.shape[1]), np.log(NOISE), cut[0]], np.log(np.diff(cut))]
    )
    objective = gp.objective()
    value_and_grad, spent = _compiled(
        jax.value_and_grad(lambda theta: objective(_parameters(theta))), start
    )
    theta, evaluations = _lowest(value_and_grad, start)
    posterior, more = _compiled(
        lambda theta: gp.approximate_posterior(_parameters(theta)), theta
    )
    return theta, jax.block_until_ready(posterior(theta)), evaluations, spent + more


def _lowest(value_and_grad, start):
    """The lowest point that L-BFGS meets before its end, or before a value is not a number."""
    seen = []

    def objective(theta):
        value, gradient = (np.asarray(part) for part in value_and_grad(theta))
        if not np.isfinite(value):
            raise FloatingPointError
        seen.append((float(value), theta.copy()))
        return value, gradient

    with suppress(FloatingPointError):
        minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 100})
    return min(seen, key=lambda pair: pair[0])[1], len(seen)


def _parameters(theta):
    """Length scale, noise and cutpoints from logs, the way `probit` nests them."""
    inner = jnp.cumsum(jnp.concatenate([theta[2:3], jnp.exp(theta[3:])]))
    ends = jnp.array([jnp.inf])
    return jnp.exp(theta[0]), (jnp.exp(theta[1]), jnp.concatenate([-ends, inner, ends]))


def _compiled(function, argument):
    return timed(lambda: jax.jit(function).lower(argument).compile())


if __name__ == "__main__":
    work({"probit": laplace})
