"""Whether answers bear out what a model says of itself: two tests that may be looked at always.

A model that chooses its questions and its moment to stop cannot be checked by a rule of two
standard errors: looked at after every answer, it passes 3 to 10 % of coin flippers. A bet can
be looked at as often as one likes. Before each answer the model states a probability p of the
answer that comes, and one unit is bet

    E   on p against a coin:         mean over l of prod (1/2 + l (p - 1/2)) / (1/2),
    M   on a flatter p against p:    mean over l of prod (1/2 + l (p - 1/2)) / p.

If the answers are coin flips, E is a martingale that starts from one, whatever the model and
whatever rule asks, and ever reaches 50 with a probability of 2 % at most (Ville's inequality).
If the model is right, so is M.

Ramdas, Gruenwald, Vovk & Shafer (2023), "Game-theoretic statistics and safe anytime-valid
inference", Statistical Science 38.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

__all__ = ["Trust"]

# Shares l of what the model claims beyond one half. Against a coin, 0 would not move; against
# the model, 1 would not.
_AGAINST_COIN = np.array([0.25, 0.5, 0.75, 1.0])
_AGAINST_MODEL = np.array([0.0, 0.25, 0.5, 0.75])

_THRESHOLD = float(np.log(50.0))
_CHECKS = 20  # from which on answers that do not beat a coin are worth a warning


@dataclass(frozen=True)
class Trust:
    """Two betting tests over the answers of a session.

    State the probability of each answer *before* it is learnt from. Random pairs that are asked
    as checks serve both tests, chosen questions the first one alone. A tie moves neither; of
    answers of several grades the side counts.

    Parameters
    ----------
    log_bets : tuple of tuple of float
        Log stakes of the two tests, for each share that is bet.
    log_peak : float, default=0.0
        The largest log stake that the test against a coin has had.
    n_checks : int, default=0
        Number of check questions.

    Examples
    --------
    >>> from ordinality.elicitation import Trust
    >>> trust = Trust()
    >>> for _ in range(10):
    ...     trust = trust.add(0.9)          # nine in ten was said, and ten times it came so
    >>> trust.better_than_coin
    True
    >>> trust.settled(0.97)
    True
    >>> coin = Trust()
    >>> for p in [0.9, 0.1] * 10:
    ...     coin = coin.add(p, check=True)
    >>> coin.settled(0.97), coin.contradicted
    (False, True)
    """

    log_bets: tuple[tuple[float, ...], tuple[float, ...]] = ((0.0,) * 4, (0.0,) * 4)
    log_peak: float = 0.0
    n_checks: int = 0

    @classmethod
    def of(cls, p: Sequence[float], first_time: Sequence[bool], check: Sequence[bool]) -> Trust:
        """The tests after several answers.

        Parameters
        ----------
        p : sequence of float
            Probability of each answer that came, as it was stated before.
        first_time : sequence of bool
            Whether the pair had not been asked before.
        check : sequence of bool
            Whether it was a check question.

        Returns
        -------
        trust : Trust
            With all of them added.
        """
        return cls()._with(np.asarray(p, float), first_time, check)

    def add(self, p: float, first_time: bool = True, check: bool = False) -> Trust:
        """Add one answer.

        Parameters
        ----------
        p : float
            Probability of the answer that came, among "left" and "right", as it was stated
            before. One half for a tie.
        first_time : bool, default=True
            Whether the pair had not been asked before. People repeat themselves: a second
            answer is no news.
        check : bool, default=False
            Whether the pair was drawn at random, to check the model.

        Returns
        -------
        trust : Trust
            The tests with this answer.
        """
        return self._with(np.array([p], float), [first_time], [check])

    def _with(self, p: np.ndarray, first_time: Sequence[bool], check: Sequence[bool]) -> Trust:
        """The tests with several answers more, p of shape (m,)."""
        odd = p[~((p > 0.0) & (p < 1.0))]
        if odd.size:
            raise ValueError(f"p is {odd[0]}; a probability must lie between 0 and 1.")
        coin, model = (np.array([bets]) for bets in self.log_bets)
        claim = (p - 0.5)[:, None]
        bets = np.log(1.0 + 2.0 * _AGAINST_COIN * claim) * np.array(first_time)[:, None]
        coin = np.cumsum(np.concatenate([coin, bets]), axis=0)
        bets = np.log(0.5 + _AGAINST_MODEL * claim) - np.log(p)[:, None]
        model = np.sum(np.concatenate([model, bets * np.array(check)[:, None]]), axis=0)
        return replace(
            self, log_bets=(tuple(coin[-1].tolist()), tuple(model.tolist())),
            log_peak=max(self.log_peak, float(np.max(_log_mean(coin)))),
            n_checks=self.n_checks + int(np.sum(check)),
        )  # fmt: skip

    @property
    def log_against_coin(self) -> float:
        """Log stake of the bet against a coin."""
        return float(_log_mean(np.array(self.log_bets[0])))

    @property
    def log_against_model(self) -> float:
        """Log stake of the bet against the model."""
        return float(_log_mean(np.array(self.log_bets[1])))

    @property
    def better_than_coin(self) -> bool:
        """Whether the answers have shown, at some time, that they are no coin flips."""
        return self.log_peak >= _THRESHOLD

    @property
    def contradicted(self) -> bool:
        """Whether the check questions come out worse than the model expects."""
        return self.log_against_model >= _THRESHOLD

    @property
    def warning(self) -> bool:
        """Whether the answers do not agree enough to settle an order, after 20 checks."""
        return self.n_checks >= _CHECKS and not self.better_than_coin

    def settled(self, probability: float, level: float = 0.95) -> bool:
        """Whether an event may be called settled.

        Parameters
        ----------
        probability : float
            Of the event, by `top_k_probability` or the like.
        level : float, default=0.95
            That it must reach.

        Returns
        -------
        settled : bool
            Whether it does, the answers are better than a coin, and the checks do not
            contradict the model.
        """
        return probability >= level and self.better_than_coin and not self.contradicted


def _log_mean(log_values: np.ndarray) -> np.ndarray:
    """Logarithm of the mean over the last axis."""
    found: np.ndarray = logsumexp(log_values, axis=-1) - np.log(log_values.shape[-1])
    return found
