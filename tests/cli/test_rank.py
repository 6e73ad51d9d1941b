"""``ordinality rank``: what it prints, writes and refuses."""

import csv
import io
import json
import re

import numpy as np
import pytest

import ordinality

ROWS = [
    *["tea,milk,tea,kim,2"] * 6,
    *["milk,soup,milk,kim,3"] * 5,
    *["tea,soup,tea,lee,4"] * 6,
    *["soup,milk,tie,lee,2"] * 3,
    *["milk,tea,tea,lee,2"] * 4,
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    path = tmp_path_factory.mktemp("rank") / "answers.csv"
    path.write_text("left,right,winner,judge,seconds\n" + "\n".join(ROWS) + "\n")
    return path


@pytest.fixture(scope="module")
def battles(tmp_path_factory):
    rng = np.random.default_rng(0)
    lines = ["left,right,winner,length_diff,prompt"]
    for k in range(150):
        (a, b), z = rng.choice(4, 2, replace=False), rng.normal()
        won = "left" if b - a + 0.8 + 0.5 * z + rng.normal() > 0 else "right"
        lines.append(f"m{a},m{b},{won},{'' if k == 1 else round(z, 3)},{k // 3}")
    path = tmp_path_factory.mktemp("rank") / "battles.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_pipe_gets_the_ranking_as_csv_and_the_sentences_beside_it(run, answers):
    found = run("rank", answers, "--top", 1, "--next", 1)
    assert found.exit_code == 0
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    assert [row["item"] for row in rows] == ["tea", "milk", "soup"]
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert "pairs are expected to be in the wrong order" in found.stderr
    assert re.search(r"Ask next: \w+ or \w+\?", found.stderr)
    assert "Judges: 2" in found.stderr


def test_json_has_the_whole_result(run, answers):
    found = json.loads(run("rank", answers, "--json", "--next", 2).stdout)
    assert found.keys() >= {"items", "judges", "wrong_pairs", "next", "notes"}
    assert found["items"][0]["item"] == "tea"
    assert len(found["next"]) == 2
    assert [one["judge"] for one in found["judges"]] == ["kim", "lee"]


def test_the_same_ranking_comes_from_python(run, answers):
    printed = json.loads(run("rank", answers, "--json").stdout)
    said = ordinality.tables.comparisons(ordinality.tables.read(answers))
    found = ordinality.panel.rank_answers(
        said.pairs, said.answers, judges=said.judges, seconds=said.seconds
    )
    assert printed["items"] == json.loads(json.dumps(found.as_dict()["items"]))


def test_model_report_and_judges_are_written(run, answers, tmp_path):
    model, report, judges = (tmp_path / name for name in ("m.skops", "r.html", "j.csv"))
    files = ["--out", model, "--report", report, "--judges-out", judges]
    assert run("rank", answers, *files).exit_code == 0
    loaded = ordinality.load(model)
    assert loaded.item_names_[loaded.rank().argmin()] == "tea"
    assert "tea" in report.read_text()
    assert [row["judge"] for row in csv.DictReader(judges.read_text().splitlines())] == [
        "kim",
        "lee",
    ]
    again = run("rank", answers, *files)
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert run("rank", answers, *files, "--force").exit_code == 0


def test_the_table_of_judges_has_their_sides(run, tmp_path):
    table, judges = tmp_path / "a.csv", tmp_path / "j.csv"
    both = ["tea,milk,left,kim", "milk,tea,left,kim", "tea,milk,left,lee", "milk,tea,right,lee"]
    table.write_text("\n".join(["left,right,winner,judge", *both * 10]))
    assert run("rank", table, "--judge-sides", "--judges-out", judges).exit_code == 0
    side = {row["judge"]: row for row in csv.DictReader(judges.read_text().splitlines())}
    assert float(side["kim"]["side_lower"]) > 0
    assert float(side["kim"]["side"]) > float(side["lee"]["side"])


def test_sides_of_judges_need_judges(run, tmp_path):
    table = tmp_path / "a.csv"
    table.write_text("left,right,winner\ntea,milk,tea\nmilk,tea,tea\n")
    found = run("rank", table, "--judge-sides")
    assert found.exit_code == 2
    assert "--judge-sides needs the answers of several judges" in found.stderr


def test_items_with_features_rank_those_never_compared(run, answers, tmp_path):
    items, model = tmp_path / "items.csv", tmp_path / "m.skops"
    items.write_text("name,sugar\ntea,3\nmilk,2\nsoup,1\njam,9\n")
    found = run("rank", answers, "--items", items, "--features", "sugar", "--out", model)
    assert found.exit_code == 0
    assert "No answer is about jam" in found.stderr
    assert len(found.stdout.splitlines()) == 5
    assert ordinality.load(model).item_names_.tolist() == ["tea", "milk", "soup", "jam"]


def test_a_table_of_the_package_is_ranked(run):
    found = run("rank", "@baseball", "--json")
    items = [one["item"] for one in json.loads(found.stdout)["items"]]
    # Agresti (1990): the abilities of the Bradley-Terry model come in this order.
    assert items == [
        "Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore"
    ]  # fmt: skip


def test_other_formats_and_ratings_are_ranked(run, tmp_path):
    ranks, stars = tmp_path / "ranks.csv", tmp_path / "stars.csv"
    ranks.write_text("judge,tea,milk,soup\nkim,1,2,3\nlee,1,3,2\n")
    stars.write_text("item,rating\ntea,5\nmilk,4\nsoup,1\njam,3\n")
    both = run("rank", ranks, "--format", "ranking", "--ratings", stars, "--json")
    assert {one["item"] for one in json.loads(both.stdout)["items"]} == {
        "tea", "milk", "soup", "jam"
    }  # fmt: skip
    alone = json.loads(run("rank", stars, "--format", "ratings", "--json").stdout)
    assert [one["item"] for one in alone["items"]] == ["tea", "milk", "jam", "soup"]


@pytest.mark.parametrize(
    ("text", "args", "says"),
    [
        ("left,right,winner\nx,y,z\n", [], "winner is 'z' in row 2"),
        ("left,right,winner\nx,y,x\n", ["--key", "name"], "--key names columns of items"),
        ("left,right,winner\nx,y,x\n", ["--judges-out", "{}/j.csv"], "do not name judges"),
        ("left,right,winner\nx,y,x\n", ["--level", "1"], "0<x<1"),
        ("left,right,winner\nx,y,x\n", ["--out", "{}/m.pkl"], "should end in .skops"),
        (
            "item,rating\nx,1\ny,2\n",
            ["--format", "ratings", "--ratings", "{}/a.csv"],
            "already",
        ),
    ],
)
def test_a_mistake_is_one_sentence(run, tmp_path, text, args, says):
    (tmp_path / "a.csv").write_text(text)
    found = run("rank", tmp_path / "a.csv", *(arg.format(tmp_path) for arg in args))
    assert found.exit_code == 2
    assert says in found.stderr
    assert not found.stdout


# Answers that cannot be used. A suffix, the content, arguments, and what is said.
PAIRS = "left,right,winner\ntea,milk,tea\n"
RANKING, RATINGS = ["--format", "ranking"], ["--format", "ratings"]
CHOICE, BEST_WORST = ["--format", "choice"], ["--format", "best-worst"]
MALFORMED = {
    "no bytes": ("", [], "is empty; expected a table"),
    "blank lines": ("\n\n\n", [], "is empty; expected a table"),
    "names alone": ("left,right,winner\n", [], "names columns but has no rows"),
    "a picture": (bytes(range(256)), [], "is not text"),
    "a zero byte": (b"left,right,winner\nt\x00,milk,milk\n", [], "is not text"),
    "control characters": ("left,right,winner\nt\x1b[2J,milk,milk\n", [], "is not text"),
    "a page": ("<html>Not found</html>", [], "names columns but has no rows"),
    "JSON": ('{"left": "tea", "right": "milk"}', [], "closing quotation mark in line 1"),
    "no names": ("tea,milk,tea\nmilk,soup,milk\n", [], "has 2 columns named 'tea'"),
    "a column twice": ("left,left,right,winner\na,a,b,a\n", [], "2 columns named 'left'"),
    "two of one meaning": (
        "left,a,right,winner\ntea,tea,milk,tea\n", [], "'left', 'a', which mean the same"
    ),
    "two winners": (
        "left,right,winner,answer\ntea,milk,tea,1\n", [], "'winner', 'answer', which mean"
    ),
    "no winner": ("left,right\ntea,milk\n", [], "has no column winner or answer; it has"),
    "other names": ("first,second,won\ntea,milk,tea\n", [], "no column left or a, right or b"),
    "too many cells": (PAIRS + "tea,milk,tea,jam\n", [], "has 4 cells in line 3"),
    "too few cells": (PAIRS + "tea\n", [], "has 1 cell in line 3"),
    "an open quotation": (PAIRS + '"tea,milk,tea\n', [], "quotation mark in line 3"),
    "an unknown word": (PAIRS + "tea,milk,first\n", [], "winner is 'first' in row 3"),
    "another item": (PAIRS + "tea,milk,soup\n", [], "winner is 'soup' in row 3"),
    "a name with other letters": (PAIRS + "Tea,milk,tea\n", [], "must be 'Tea' or 'milk'"),
    "names and sides": (PAIRS + "tea,milk,left\n", [], "winner is 'left' in row 3"),
    "a date": ("left,right,winner\ntea,milk,2020-01-01\n", [], "'2020-01-01' in row 2"),
    "an answer too strong": (
        "left,right,winner\ntea,milk,1\ntea,soup,11\n", [], "'11' in row 3 .* from -10 to 10"
    ),
    "half an answer": (
        "left,right,winner\ntea,milk,1\ntea,soup,0.5\n", [], "'0.5' in row 3 .* whole number"
    ),
    "infinity": ("left,right,winner\ntea,milk,inf\n", [], "winner is 'inf' in row 2"),
    "an item with itself": ("left,right,winner\na,a,a\n", [], "row 2 of an item with itself"),
    "empty cells": ("left,right,winner\n,milk,milk\ntea,,tea\n", [], r"2 rows \(first: row 2"),
    "no answers": ("left,right,winner\ntea,milk,\n", [], "row 2 with an empty cell"),
    "a weight below zero": (
        "left,right,winner,weight\ntea,milk,tea,-2\n", [], "weight is '-2' in row 2"
    ),
    "a weight beyond all others": (
        "left,right,winner,weight\ntea,milk,tea,1e300\n", [], "a number from 0 to 1,000,000,000"
    ),
    "a weight in words": (
        "left,right,winner,weight\ntea,milk,tea,much\n", [], "weight is 'much' in row 2"
    ),
    "no weight": ("left,right,winner,weight\ntea,milk,tea,0\n", [], "weights are zero"),
    "half a game": (
        "left,right,winner,count\ntea,milk,tea,1.5\n", [], "count is 1.5 in row 2"
    ),
    "too many games": (
        "left,right,winner,count\ntea,milk,tea,99999999999\n", [], "more than 10,000,000"
    ),
    "no games": ("left,right,winner,count\ntea,milk,tea,0\n", [], "compares nothing"),
    "seconds below zero": (
        "left,right,winner,seconds\ntea,milk,tea,-1\n", [], "seconds is '-1' in row 2"
    ),
    "seconds in words": (
        "left,right,winner,seconds\ntea,milk,tea,fast\n", [], "seconds is 'fast' in row 2"
    ),
    "a rank in words": ("judge,tea,milk\nkim,1,best\n", RANKING, "'best' in row 2"),
    "one rank": ("judge,tea,milk\nkim,1,\n", RANKING, "row 2 with fewer than two ranks"),
    "one item to rank": ("judge,tea\nkim,1\n", RANKING, "ranks 1 item; at least two"),
    "two ranks of an item": ("rank 1,rank 2\ntea,tea\n", RANKING, "Row 2 .* 'tea' twice"),
    "pairs as a ranking": (PAIRS, RANKING, "rank of left is 'tea' in row 2"),
    "a ranking as pairs": ("judge,tea,milk\nkim,1,2\n", [], "no column left or a"),
    "ratings as pairs": ("item,rating\ntea,3\n", [], "no column left or a"),
    "a rating in words": ("item,rating\ntea,3\nmilk,good\n", RATINGS, "'good' in row 3"),
    "one rating": ("item,rating\ntea,3\nmilk,3\n", RATINGS, "has 1 different value"),
    "40 ratings": (
        "item,rating\n" + "".join(f"i{k},{k}\n" for k in range(40)), RATINGS, "40 different"
    ),
    "best not shown": (
        "a,b,best,worst\ntea,milk,jam,tea\n", BEST_WORST, "Row 2 .* 'jam' as best or worst"
    ),
    "best and worst": (
        "a,b,best,worst\ntea,milk,tea,tea\n", BEST_WORST, "Row 2 .* the best and the worst"
    ),
    "shown twice": (
        "a,b,c,best,worst\ntea,tea,jam,tea,jam\n", BEST_WORST, "Row 2 .* shows 'tea' twice"
    ),
    "no worst": ("a,b,best\ntea,milk,tea\n", BEST_WORST, "has no column worst"),
    "nothing chosen": ("case,item,chosen\n1,a,0\n1,b,0\n", CHOICE, "case 1 has no row"),
    "two chosen": ("case,item,chosen\n1,a,1\n1,b,1\n", CHOICE, "case 1 has 2 rows"),
    "chosen in words": ("case,item,chosen\n1,a,yes\n1,b,no\n", CHOICE, "'yes' in row 2"),
    "no item": ("case,item,chosen\n1,a,1\n1,,0\n", CHOICE, "item is empty in row 3"),
    "a case of one": ("case,item,chosen\n1,a,1\n", CHOICE, "1 case with one alternative"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "args", "says"), MALFORMED.values(), ids=MALFORMED)
def test_a_table_that_cannot_be_ranked_is_one_line(run, tmp_path, content, args, says):
    path = tmp_path / "answers.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = run("rank", path, *args)
    assert found.exit_code == 2
    (line,) = found.stderr.splitlines()
    assert line.startswith("Error: ")
    assert re.search(says, line)
    assert line.endswith((".", '""'))
    assert not found.stdout


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("\ufeff" + PAIRS, ""),
        (PAIRS.replace("\n", "\r\n"), ""),
        (PAIRS.replace(",", ";"), ""),
        (PAIRS.replace(",", "\t"), ""),
        (PAIRS.encode("utf-16"), ""),
        ("left,right,winner\n tea , milk , tea \n", ""),
        ("winner,judge,right,left\ntea,7,milk,tea\n", "Judges: 1"),
        (PAIRS + "tea,,tea\nmilk,milk,milk\n", "row 3 with an empty cell"),
        (PAIRS + "jam,soup,jam\n", "fall into 2 parts"),
        ("left,right,winner,judge\ntea,milk,tea,\n", "judge is empty in row 2"),
    ],
)
def test_an_odd_table_is_ranked_and_what_was_left_out_is_said(run, tmp_path, content, says):
    path = tmp_path / "answers.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = run("rank", path)
    assert found.exit_code == 0
    assert next(csv.DictReader(io.StringIO(found.stdout)))["item"] in ("tea", "jam")
    assert says in found.stderr


def test_too_many_items_are_refused_before_anything_is_learnt(run, tmp_path):
    path = tmp_path / "answers.csv"
    rows = "".join(f"i{2 * k},i{2 * k + 1},i{2 * k}\n" for k in range(5000))
    path.write_text("left,right,winner\n" + rows)
    found = run("rank", path)
    assert found.exit_code == 2
    assert "items is 10,000, and at most 5,000 can be ranked; rank a part" in found.stderr


def test_covariates_are_learnt_printed_and_in_the_object(run, battles):
    options = ["--covariates", "side,length_diff", "--group", "prompt"]
    found = run("rank", battles, *options)
    assert found.exit_code == 0
    assert "Left out row 3 without length_diff" in found.stderr
    assert re.search(r"side: coefficient [\d.]+ \(90%: [\d.]+ to [\d.]+\)", found.stderr)
    effects = json.loads(run("rank", battles, *options, "--json").stdout)["covariates"]
    assert [one["name"] for one in effects] == ["side", "length_diff"]
    assert effects[0]["interval"][0] > 0.0
    assert effects[1]["interval"][0] < 0.5 < effects[1]["interval"][1]
    wrong = run("rank", battles, "--covariates", "tokens")
    assert wrong.exit_code == 2
    assert "no column 'tokens'; it has left, right" in wrong.stderr


def test_ties_and_grades_are_as_they_are_asked_for(run, answers):
    without = run("rank", answers, "--no-ties")
    assert "3 of 24 answers are ties, and are left out." in without.stderr
    for options in (["--ties"], ["--grades", 3], []):
        found = run("rank", answers, *options)
        assert found.exit_code == 0
        assert "left out" not in found.stderr
    assert run("rank", answers, "--grades", 0).exit_code == 2


def test_fit_says_how_to_rank_a_table_of_comparisons(run, answers):
    for target in ("winner", "rating"):
        found = run("fit", answers, "--target", target)
        assert found.exit_code == 2
        assert f"ordinality rank {answers}" in found.stderr


@pytest.mark.parametrize(
    ("head", "target", "kind"),
    [("case,alternative,chosen", "chosen", "choice"), ("x,y,best,worst", "best", "best-worst")],
)
def test_fit_says_how_to_rank_a_table_of_choices(run, tmp_path, head, target, kind):
    path = tmp_path / "answers.csv"
    path.write_text(head + "\n" + ",".join("1" for _ in head.split(",")) + "\n")
    found = run("fit", path, "--target", target)
    assert found.exit_code == 2
    assert found.stderr.rstrip().endswith(f"ordinality rank {path} --format {kind}")
