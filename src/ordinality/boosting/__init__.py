"""Thresholded ensembles: a weighted vote of confidence functions, cut by ordered thresholds.

The score ``H(x) = sum_t alpha_t h_t(x)`` lies between two of K-1 thresholds, and that is the
level. `losses` holds the exponential losses over margins (all of them, or the two next to the
level) and over pairs, in the log domain; `thresholds` the best thresholds for given scores, by
closed form, by pooling, or by counting; `learners`, `perceptron` and `trees` (on features made
small by `binning`) the confidence functions and how each is learnt; `ensemble` the rounds;
`margins` what an ensemble leaves between its scores and its thresholds.

Lin & Li (2006), *Large-margin thresholded ensembles for ordinal regression*.
"""
