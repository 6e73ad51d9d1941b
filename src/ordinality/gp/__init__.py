"""Gaussian processes observed through ordered levels.

A latent vector ``g ~ N(0, K)`` is seen by observations, each of which sees a weighted sum of a
few entries plus noise and reports the level between whose thresholds that falls.

================  ==============================================================================
`design`          what each observation sees of the latent vector
`likelihoods`     thresholds and noise: log p of a level with its derivatives, in three views;
                  `quadrature` where a view has no closed form
`laplace`,        three engines, each a rule for the Gaussian site that stands for an
`ep`,             observation; `site_loop` iterates the rules of the last two to their fixed
`variational`     point and defines the `Approximation` that all return
`posterior`       the posterior under given sites, by whichever matrix is cheapest to factorise
`criteria`        evidence, variational bound and leave-one-out score as functions of the free
                  parameters, with exact gradients
`hyperpriors`     priors of the free parameters
`optimise`        the search for the best parameters, coarse to fine on large sets
`predict`         latent values at new inputs, and probabilities of choices among several
`least_squares`   PLSOR: regression on the ranks with an ordinal link, which needs no engine
================  ==============================================================================

Arrays go in and frozen values come out; kernels are in `ordinality.kernels`.
"""
