"""What a fitted model makes of the columns of a table: marginal effects with intervals."""

from .effects import Effect, Effects, effects

__all__ = ["Effect", "Effects", "effects"]
