"""Forms of the posterior under Gaussian sites: one module for each, and the choice.

Sites ``exp(nu_i h_i - tau_i h_i^2 / 2)`` on ``h = A g``, ``g ~ N(0, K)``, give every
approximation and every design the same posterior of g,

    precision = K^-1 + Lambda,    Lambda = A' diag(tau) A,    precision @ mean = A' nu.

A *form* says which matrix is factorised to find it. Each form is a prior, made once for a
kernel matrix, whose ``given(tau)`` is the posterior under some sites. Engines ask it for the
moments of h only, and for ``alpha = nu - tau E[h]``, with ``K^-1 E[g] = A' alpha``; they never
see which form it is. With m observations of n latent values, or of L labels at n inputs under
a kernel matrix of rank r:

============  ===================================  ================  ===========================
module        factorised                           step of EP        chosen
============  ===================================  ================  ===========================
observations  ``I + sq A K A' sq``, m x m          2/3 m^3           for `Direct`, or m to 1.2 n
whitened      ``I + U' Lambda U``, ``K = U U'``    2 n^3             from m = 1.5 n, for any K
precision     ``K^-1 + Lambda``, n x n             n^3               from m = 1.2 n, if K can be
                                                                     inverted
contrasts     the whitened form of L - 1           N^3 + 3 n N^2,    for labels, from m = 1.25 N
              contrasts of the labels              N = r (L - 1)
one_vs_rest   one n x n matrix for each label      (5 L + 17) n^3    for labels, where one label
                                                                     of each input is compared
                                                                     with others and L is large
============  ===================================  ================  ===========================

Instead of all latent values, observations may see those at M inducing points (`inducing`; for
labels the contrasts there, `inducing_labels`), in a time that grows with m M^2.

The half log determinant that enters the evidence, of ``B = I + sq A K A' sq``, is the same
number in all of them.
"""
