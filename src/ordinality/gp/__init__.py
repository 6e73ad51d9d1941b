"""Gaussian processes seen through ordered levels.

A latent vector ``g ~ N(0, K)`` (`kernels`, `items`) is seen by observations (`design`) that
report the level between whose thresholds a noisy view of it falls (`likelihoods`,
`comparisons`). Every approximation replaces each observation by a Gaussian site, after which
the posterior is one expression (`forms`, `posterior`): `laplace`, `ep` and `variational` are
three rules for the sites. `evidence` learns the parameters; `prediction` looks at new inputs.
`labels` and `label_model` are the same for several functions of one input under one kernel.
"""
