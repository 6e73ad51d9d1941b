"""Worker for `OrdinalGP` with inducing points, everything else as it comes.

The compiled loops are loaded before the clock starts, as the peers import what they have.
"""

from peer_curves import Training, work

from ordinality import OrdinalGP


def start(X, y, levels, points, ard, **options):
    kernel = "ard" if ard else None
    OrdinalGP(kernel, inducing=10).fit(X[:300], y[:300])  # loads or compiles
    model = OrdinalGP(kernel, inducing=points, levels=list(range(levels)), **options)
    return Training(lambda: model.fit(X, y), model.predict_level_proba, once=True)


if __name__ == "__main__":
    work(start)
