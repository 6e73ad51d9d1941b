"""Cost of logistic noise: processor time of one evaluation of EP's evidence, over probit's.

    python benchmarks/links.py

Smooth functions of eight features in five levels. The last two columns are evaluations of a
whole fit.
"""

from __future__ import annotations

import time

from ordinality import OrdinalGP
from ordinality.datasets import smooth_ordinal


def evaluation_time(model: OrdinalGP, repeats: int) -> float:
    """Least processor time of an evaluation at the fit, from no sites."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        model.log_evidence(eval_gradient=True)
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    print("   n  probit ms  logit ms  ratio  evaluations")
    for n in (200, 500, 1000):
        data = smooth_ordinal(n, 5, d=8, noise=0.3, seed=1)
        times, counts = [], []
        for link in ("probit", "logit"):
            model = OrdinalGP(link=link, coarse_to_fine=False).fit(data.X, data.y)
            times.append(1e3 * evaluation_time(model, 2000 // n + 3))
            counts.append(model.n_iter_)
        ratio = times[1] / times[0]
        print(f"{n:4d} {times[0]:10.1f} {times[1]:9.1f} {ratio:6.2f}  {counts[0]} {counts[1]}")


if __name__ == "__main__":
    main()
