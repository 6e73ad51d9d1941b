"""The test suite on every supported Python, and with the oldest dependencies allowed.

    nox                     # all of it, where the interpreters exist
    nox -s tests-3.13       # one Python
    nox -s oldest           # Python 3.11 with the lowest versions that pyproject.toml allows

Each session has an environment of its own. Sessions whose interpreter is missing are skipped.
"""

import nox

nox.needs_version = ">=2025.10"
nox.options.error_on_missing_interpreters = False
nox.options.default_venv_backend = "venv"

PYTHONS = ("3.11", "3.12", "3.13")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the suite with the newest dependencies."""
    session.install("-e", ".[dev]")
    session.run("pytest", *session.posargs)


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """Run the suite with the lowest version of every direct dependency."""
    session.install("uv")  # pip cannot choose the lowest versions
    session.run("uv", "pip", "install", "--resolution", "lowest-direct", "-e", ".[dev]")
    session.run("pytest", *session.posargs)
