"""Boosting of thresholded ensembles for ordered labels.

The model is a score ``H(x) = sum_t alpha_t h_t(x)`` and K-1 ordered thresholds theta; level k
is predicted where ``theta_k < H(x) <= theta_{k+1}``. Each round adds one function h_t with
outputs in [-1, 1], chooses its weight alpha_t, and finds the best thresholds anew. Each module
holds one term of this:

- `losses`: the loss that all three choices lower, an exponential of the margins
  ``+-(H(x_n) - theta_k)`` or of the differences ``H(x_n) - H(x_m)``; its derivatives; alpha_t;
  theta for given scores, in closed form or by pooling;
- `thresholds`: theta by counting errors;
- `learners`: what h_t and its trainer are, stumps, small trees, any classifier of scikit-learn;
- `perceptron`: halfspaces and smooth halfspaces as h_t;
- `ensemble`: H, the rounds of ORBoost and RankBoost, and the margins of a fitted ensemble.

Lin & Li (2006), *Large-margin thresholded ensembles for ordinal regression*.
"""
