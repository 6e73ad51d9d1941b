"""What the documents promise: examples that run, true names, commands that are tested."""

import doctest
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

import ordinality
from ordinality import estimators
from ordinality.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)  # what commands print
GENERATED = {"api.md", "results.md"}  # by docs/build.py
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in PAGES if page.name not in GENERATED]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.FAIL_FAST

TRY = (
    'python3 -m venv .venv && .venv/bin/pip install -q ".[cli,plot,trees]" && '
    ".venv/bin/ordinality fit @wine --target rating --out wine.skops --report wine.html"
)
TEST = 'python3 -m venv .venv && .venv/bin/pip install -q -e ".[dev]" && .venv/bin/pytest'


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run(page, monkeypatch):
    monkeypatch.chdir(ROOT)  # as a reader would try them
    # A closing fence is no output: blank lines in its place keep the line numbers.
    text = re.sub(r"^```.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    said = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert not said, "".join(said)


def test_the_readme_shows_what_the_command_prints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # With time enough for a machine that has other things to do.
    args = [*TRY.split("/bin/ordinality ")[1].split(), "--budget", "600"]
    printed = CliRunner().invoke(main, args).stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wine.html", "wine.skops"]
    assert_alike(SHOWN[0], printed)


def test_the_readme_shows_the_ranking_of_a_terminal(monkeypatch):
    monkeypatch.setattr("ordinality.cli.rank.on_terminal", lambda: True)
    assert_alike(SHOWN[1], CliRunner().invoke(main, ["rank", "@baseball"]).stdout)


def assert_alike(shown, printed):
    for ours, theirs in zip(shown.split(), printed.split(), strict=True):
        # Another BLAS moves the last digit that is shown.
        if re.fullmatch(r"-?\d+(\.\d+)?", ours):
            assert float(theirs) == pytest.approx(float(ours), rel=0.02, abs=0.002)
        else:
            assert theirs == ours


@pytest.mark.parametrize("command", [TRY, TEST], ids=["try", "test"])
def test_the_readme_shows_each_set_up_command_on_one_line_once(command):
    assert README.splitlines().count(command) == 1


def test_the_checks_run_the_test_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    (reading,) = re.findall(r'test_command="\$\((.*)\)"', script)
    found = subprocess.run(
        ["bash", "-c", reading], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout == TEST + "\n"


def public_names():
    """Names of the package and of its public rooms, by their homes."""
    for name in ordinality.__all__:
        yield f"ordinality.{name}"
        names = getattr(getattr(ordinality, name), "__all__", ())  # of a module, not a class
        yield from (f"ordinality.{name}.{inner}" for inner in names)


def test_the_reference_has_every_public_name(tmp_path):
    build = [sys.executable, str(ROOT / "docs" / "build.py"), "api", "--out", str(tmp_path)]
    subprocess.run(build, check=True, timeout=120)
    page = (tmp_path / "api.md").read_text(encoding="utf-8")
    assert not [name for name in public_names() if name not in page and "__" not in name]


def test_every_estimator_and_command_appears_on_the_pages():
    text = " ".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert all(f"`{name}`" in text for name in estimators.__all__)
    assert all(f"ordinality {command}" in text for command in COMMANDS)


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            generated = Path(link).name in GENERATED or link.endswith(".svg")
            assert generated or (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_version_has_an_entry_in_the_changelog():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {ordinality.__version__}" in changelog


def test_the_notation_names_modules_that_exist():
    text = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    for module in set(re.findall(r"`(ordinality(?:\.\w+)+)`", text)):
        try:
            import_module(module)
        except ModuleNotFoundError:
            home, _, name = module.rpartition(".")
            assert hasattr(import_module(home), name), module


def test_the_evidences_on_the_page_are_those_of_the_reference(vectors):
    page = (ROOT / "docs" / "gaussian-processes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (−[\d.]+) \| (−[\d.]+) \| −[\d.]+ \| (−[\d.]+) \|$", page, re.M)
    shown = [[float(cell.replace("−", "-")) for cell in row] for row in rows]
    expected = [
        [float(case[name]["log_evidence"]) for name in ("exact", "ep", "laplace")]
        for case in vectors["gpor"]
    ]
    assert len(shown) == len(expected)
    for ours, theirs in zip(shown, expected, strict=True):
        assert ours == pytest.approx(theirs, abs=5.1e-5)  # four decimals are shown
