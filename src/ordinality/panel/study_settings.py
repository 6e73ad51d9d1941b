"""How a study is run: what may be answered, its goal, its quota, and who sees what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

__all__ = ["StudySettings"]


@dataclass(frozen=True)
class StudySettings:
    """Settings of a study, of which the store may have some only."""

    kind: str = "pair"  # of question: one of `set_questions.KINDS`
    size: int = 4  # items of a question that asks for an order, 3 to 5
    ties: bool = True
    grades: int = 1
    seed: int = 0
    top: int = 5  # how many of the best matter; 0 is the order
    level: float = 0.95  # probability at which the goal is reached
    stop: bool = True  # ask no more when it is settled
    quota: int | None = None  # answers of a judge who has no quota of their own
    checks: float = 0.15  # share of questions
    open: bool = False  # whether everybody with the open link is a judge
    show_progress: bool = True  # to judges: how far the goal is
    show_ranking: bool = False  # to judges, while the study runs
    thanks: str = ""
    code: str = ""  # shown when the quota is reached
    back: str = ""  # address of the link on the last page

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> StudySettings:
        """Settings as they are stored; others in the store are passed over."""
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})

    def as_dict(self) -> dict[str, Any]:
        """As values that JSON has."""
        return asdict(self)
