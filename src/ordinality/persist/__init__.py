"""Model files: a fitted model as data, checked as it is read; never a pickle."""

from .model_file import load, metadata, save
from .names import trusted_types
from .trust import ModelFileError

__all__ = ["ModelFileError", "load", "metadata", "save", "trusted_types"]
