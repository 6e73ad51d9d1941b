"""What a fitted model makes of the columns of a table."""

from .effects import Effect, effects

__all__ = ["Effect", "effects"]
