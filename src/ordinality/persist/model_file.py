"""Model files: save and load one fitted model, and read its description.

The file is a zip archive as skops writes it, arrays and a schema, with two changes. Types of
ours have stable names (`names`), and ``ordinality.json`` describes the model, which `metadata`
reads without building anything. `load` checks the archive, its sizes and the headers of its
arrays before anything is built, then the types (`trust`), the contents (`contents`, `layouts`,
`sklearn_parts`) and the predictions for two rows. `save` makes the same checks.
docs/model-files.md describes the format.
"""

from __future__ import annotations

import io
import json
import math
import os
import warnings
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ordinality import __version__, estimators
from ordinality._files import put
from ordinality._text import nested_deeper

from .contents import check_answers, check_model
from .names import trusted_types
from .sklearn_parts import ContentError, check_trees
from .trust import LOADERS, ModelFileError, from_stable_names, to_stable_names

__all__ = ["load", "metadata", "save"]

FORMAT = 2  # of model files; raised when an older reader would misunderstand a new file
ABOUT, SCHEMA = "ordinality.json", "schema.json"

# No member of a saved model packs better than this: schemas reach a factor of about 60.
LARGEST_RATIO, UNSUSPICIOUS = 400, 2**24
LARGEST_FILE, LARGEST_TEXT = 2**34, 2**28  # bytes once unpacked: all members; one of text
# Levels of a schema; that of a pipeline with a table of encoders has 24. skops follows a schema
# by recursion, and the depth that fits on the stack differs between versions of Python.
DEEPEST = 200


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    summary: Mapping[str, Any] | None = None,
    force: bool = False,
) -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of this package, or a scikit-learn ``Pipeline`` that ends in one.
    path : str or path
        Name of the file; it ends in ``.skops``.
    summary : mapping, default=None
        Further values for `metadata`: scores, counts, the table's name; as JSON can hold them.
    force : bool, default=False
        Whether a file of that name may be replaced.

    Raises
    ------
    ModelFileError
        If the model is not fitted, is not of this package, or holds something that `load`
        would refuse, such as a function of your own.
    FileExistsError
        If the file exists and ``force`` is not set.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from ordinality import OrdinalGP, persist
    >>> model = OrdinalGP().fit(np.arange(9.0)[:, None], [1, 1, 1, 2, 2, 2, 3, 3, 3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "growth.skops")
    ...     persist.save(model, file, summary={"plot": "north"})
    ...     persist.load(file).predict([[0.0], [8.0]])
    array([1, 3])
    """
    path = Path(path)
    if path.suffix != ".skops":
        raise ModelFileError(f"the name of a model file ends in .skops, got {path.name!r}.")
    if path.exists() and not force:
        raise FileExistsError(
            f"{path} exists; choose another name, or set `force` to replace it."
        )
    about = _description(model, summary)
    put(path, _packed(model, about))


def load(path: str | os.PathLike[str]) -> Any:
    r"""Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path
        Name of the file.

    Returns
    -------
    estimator or Pipeline
        As it was saved: its predictions are the same in every digit.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is corrupt, names a type that is not on the list, or
        holds arrays that do not make a model. Nothing in it has been run.

    Warns
    -----
    UserWarning
        If another minor version of scikit-learn wrote the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ordinality import persist
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "pickle.skops")
    ...     _ = file.write_bytes(b"cos\nsystem\n(S'ls'\ntR.")
    ...     persist.load(file)
    Traceback (most recent call last):
    ordinality.persist.ModelFileError: pickle.skops is not a model file: ...
    """
    path = Path(path)
    # Read at once: what is checked is what is built, even if the file changes meanwhile.
    raw, name = path.read_bytes(), path.name
    with _opened(io.BytesIO(raw), name) as archive:
        about = _about(archive, name)
        schema = _read_json(archive, SCHEMA, name)
        found = _members(archive, name)
    _compare_versions(about, name)
    model = _built(found, schema, name)
    _compare_descriptions(about, model, name)
    return model


def metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the description of a model file, without building the model.

    Parameters
    ----------
    path : str or path
        Name of the file.

    Returns
    -------
    dict
        ``format``; ``versions`` of the packages that wrote it; ``model``, the name of the
        estimator, and ``steps``, those of its pipeline; ``levels`` in order and
        ``feature_names`` where there are any (else None); ``n_features``; ``created``, in UTC;
        ``summary`` as it was given to `save`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ordinality import RoundedRegressor, persist
    >>> model = RoundedRegressor(levels=["low", "high"]).fit([[0], [1]], ["low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.skops")
    ...     persist.save(model, file, summary={"rows": 2})
    ...     about = persist.metadata(file)
    >>> about["model"], about["levels"], about["summary"]
    ('RoundedRegressor', ['low', 'high'], {'rows': 2})
    """
    path = Path(path)
    with open(path, "rb") as file, _opened(file, path.name) as archive:
        return _about(archive, path.name)


# ---------------------------------------------------------------- writing


def _description(model: Any, summary: Mapping[str, Any] | None) -> dict[str, Any]:
    last = _estimator(model)
    if last is None:
        raise ModelFileError(
            f"a {type(model).__name__} cannot be saved: expected an estimator of ordinality or "
            "a Pipeline that ends in one (of a search, take best_estimator_)."
        )
    try:
        check_is_fitted(last)
    except NotFittedError:
        raise ModelFileError(
            f"this {type(last).__name__} is not fitted yet; call fit before saving it."
        ) from None
    names = getattr(model, "feature_names_in_", None)
    levels = getattr(last, "levels_", None)
    packages = ("scikit-learn", "numpy", "skops")
    return {
        "format": FORMAT,
        "versions": {"ordinality": __version__} | {p: version(p) for p in packages},
        "model": type(last).__name__,
        "steps": [type(s).__name__ for _, s in model.steps] if last is not model else [],
        "levels": None if levels is None else [_plain(level) for level in levels],
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": getattr(model, "n_features_in_", None),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "summary": dict(summary or {}),
    }


def _plain(value: Any) -> Any:
    """A NumPy value as JSON can write it; anything else becomes text."""
    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    return value if isinstance(value, str | int | float | list) else str(value)


def _estimator(model: Any) -> Any:
    """The estimator of ours that a model is, or ends in; None if there is none."""
    last = model
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    ours = {getattr(estimators, name) for name in estimators.__all__}
    return last if type(last) in ours else None


def _packed(model: Any, about: dict[str, Any]) -> bytes:
    """The bytes of a file, once they have passed the checks of `load`."""
    import skops.io

    try:
        packed = skops.io.dumps(model)
    except Exception as error:  # a part of another package that skops cannot store
        raise ModelFileError(
            f"this model has a part that cannot be stored in a model file ({error}); use parts "
            "of scikit-learn instead."
        ) from error
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    schema = to_stable_names(json.loads(found[SCHEMA]))
    found[SCHEMA] = json.dumps(schema).encode()
    _built(found, schema, "the model")
    buffer = io.BytesIO()
    # Level 1: covariances hardly compress, and schemas compress well at any level.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in found.items():
            archive.writestr(name, content)
        archive.writestr(ABOUT, json.dumps(about, indent=2, default=_plain))
    return buffer.getvalue()


# ---------------------------------------------------------------- reading


def _about(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    about = _read_json(archive, ABOUT, name)
    found = about.get("format")
    if type(found) is not int or found != FORMAT:  # True == 1, and is not a format
        older = type(found) is int and found < FORMAT
        raise ModelFileError(
            f"{name} has format {found!r}, and ordinality {__version__} reads format {FORMAT}; "
            + ("fit and save the model again." if older else "update ordinality.")
        )
    if not isinstance(about.get("versions"), dict):
        raise ModelFileError(
            f"{name} is corrupt: {ABOUT} does not say which versions wrote it."
        )
    return about


def _compare_versions(about: dict[str, Any], name: str) -> None:
    wrote, here = str(about["versions"].get("scikit-learn")), version("scikit-learn")
    if wrote.split(".")[:2] != here.split(".")[:2]:
        warnings.warn(
            f"{name} was written with scikit-learn {wrote} and is read with {here}: its "
            f"preprocessing may behave differently. Install scikit-learn {wrote}, or fit and "
            "save the model again.",
            UserWarning,
            stacklevel=3,
        )


def _compare_descriptions(about: dict[str, Any], model: Any, name: str) -> None:
    """Refuse a model other than the described one, such as a pipeline that lacks a step."""
    actual = json.loads(json.dumps(_description(model, None), default=_plain))
    for key in ("model", "steps", "levels", "feature_names", "n_features"):
        if about.get(key) != actual[key]:
            raise ModelFileError(
                f"{name} is corrupt: {ABOUT} gives {key} as {about.get(key)!r:.80}, but the "
                f"model has {actual[key]!r:.80}."
            )


def _built(found: dict[str, bytes], schema: dict[str, Any], name: str) -> Any:
    """The model of a file, from the contents of its members; every part is checked."""
    import skops.io

    _check_arrays(found, name)
    translated = json.dumps(from_stable_names(schema, name)).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for member, content in (found | {SCHEMA: translated}).items():
            archive.writestr(member, content)
    try:
        check_trees(schema, found)
        with warnings.catch_warnings():
            # scikit-learn would warn for every step; `load` has done so once, where it matters.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            model = skops.io.loads(buffer.getvalue(), trusted=_trusted())
        if _estimator(model) is None:
            raise ModelFileError(
                f"{name} holds a {type(model).__name__}; expected a model of ordinality."
            )
        check_model(model)
        check_answers(model)
    except ModelFileError:
        raise
    except ContentError as wrong:
        raise ModelFileError(f"{name} is not valid: {wrong}.") from None
    except Exception as error:  # parts of the right types that do not make a model
        raise _corrupt(name, error) from None
    return model


def _trusted() -> list[str]:
    listed = {name for types in LOADERS.values() if types is not None for name in types}
    return sorted(listed | set(trusted_types()))


# ---------------------------------------------------------------- archive


def _opened(file: BinaryIO, name: str) -> zipfile.ZipFile:
    """The archive of a model file: our members, each name once, and plausible sizes."""
    try:
        archive = zipfile.ZipFile(file)
    except Exception:  # zipfile reports by many kinds of error that this is not an archive
        raise ModelFileError(
            f"{name} is not a model file: it is not a zip archive, or it is truncated; "
            "write it again with ordinality.save."
        ) from None
    found = archive.infolist()
    names = [member.filename for member in found]
    for wanted in (SCHEMA, ABOUT):
        if wanted not in names:
            raise ModelFileError(
                f"{name} is not a model file of ordinality: there is no {wanted} in it; "
                "write it with ordinality.save."
            )
    if len(set(names)) < len(names):
        raise ModelFileError(
            f"{name} has two members of the same name, which no saved model has; it was not "
            "opened."
        )
    _check_sizes(found, name)
    return archive


def _check_sizes(found: list[zipfile.ZipInfo], name: str) -> None:
    total = sum(member.file_size for member in found)
    for member in found:
        packed_well = member.file_size > LARGEST_RATIO * max(member.compress_size, 1)
        text = member.filename.endswith(".json")
        if (
            total > LARGEST_FILE
            or (packed_well and member.file_size > UNSUSPICIOUS)
            or (text and member.file_size > LARGEST_TEXT)
        ):
            raise ModelFileError(
                f"{name} would unpack {member.filename} to {member.file_size:,} bytes of "
                f"{total:,} in all, which no saved model does; it was not opened."
            )


def _read_json(archive: zipfile.ZipFile, member: str, name: str) -> dict[str, Any]:
    """One member of text as a dict."""
    try:
        found = json.loads(archive.read(member))
    except Exception as error:  # zlib, encoding, encryption, recursion: the file is corrupt
        raise _corrupt(name, error) from None
    if not isinstance(found, dict):
        raise ModelFileError(f"{name} is corrupt: {member} is not a JSON object.")
    if nested_deeper(found, DEEPEST):
        raise ModelFileError(
            f"{name} is not valid: {member} is nested too deeply, as no saved model is."
        )
    return found


def _members(archive: zipfile.ZipFile, name: str) -> dict[str, bytes]:
    """The content of every member but our description."""
    try:
        return {each: archive.read(each) for each in archive.namelist() if each != ABOUT}
    except Exception as error:
        raise _corrupt(name, error) from None


def _check_arrays(found: dict[str, bytes], name: str) -> None:
    """Refuse members that are not arrays, and headers that claim another size.

    NumPy allocates what a header claims before it reads the rest.
    """
    for member, content in found.items():
        if member == SCHEMA:
            continue
        try:
            file = io.BytesIO(content)
            header = {(1, 0): np.lib.format.read_array_header_1_0,
                      (2, 0): np.lib.format.read_array_header_2_0}  # fmt: skip
            shape, _, dtype = header[np.lib.format.read_magic(file)](file)
            wanted = math.prod(shape) * dtype.itemsize
            sound = dtype.itemsize > 0 and not dtype.hasobject and min(shape, default=1) >= 0
        except Exception as error:
            raise _corrupt(name, error) from None
        if not sound or wanted != len(content) - file.tell():
            raise ModelFileError(
                f"{name} is corrupt: the header of {member} claims {shape} values of {dtype}, "
                f"but {len(content) - file.tell():,} bytes follow."
            )


def _corrupt(name: str, error: BaseException) -> ModelFileError:
    """The error for a file that cannot be read."""
    return ModelFileError(
        f"{name} is truncated or corrupt ({type(error).__name__}: {error}); copy it again, or "
        "fit and save the model again."
    )
