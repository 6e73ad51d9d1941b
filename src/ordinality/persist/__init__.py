"""Model files: exactly our types and scikit-learn's are trusted, never a pickle."""

from .files import load, metadata, save
from .trust import ModelFileError

__all__ = ["ModelFileError", "load", "metadata", "save"]
