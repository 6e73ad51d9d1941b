"""Scales are recognised as people write them, and never across families."""

import random

import pytest

from ordinality.scales import suggest

# What each is called, and labels in the order that must be found.
SCALES = [
    ("low to high", ["low", "medium", "high"]),
    ("low to high", ["Very Low", "low", "Medium", "HIGH", "very_high"]),
    ("low to high", ["low", "med", "high", "vhigh"]),
    ("low to high", ["none", "low", "moderate", "high"]),
    ("low to high", ["very low", "low", "somewhat low", "medium", "extremely high"]),
    ("low to high", ["low", "low-medium", "medium-high", "high"]),
    (
        "a Likert scale of agreement",
        [
            "Strongly disagree",
            "Disagree",
            "Neither agree nor disagree",
            "Agree",
            "Strongly agree",
        ],
    ),
    (
        "a Likert scale of agreement",
        ["strongly_disagree", "somewhat_disagree", "neutral", "somewhat_agree", "agree"],
    ),
    ("a Likert scale of agreement", ["completely disagree", "tend to agree", "agree"]),
    ("poor to excellent", ["poor", "fair", "good", "very good", "excellent"]),
    ("poor to excellent", ["unacc", "acc", "good", "vgood"]),
    ("poor to excellent", ["very bad", "bad", "ok", "good"]),
    (
        "a Likert scale, dissatisfied to satisfied",
        ["very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"],
    ),
    ("a Likert scale, unlikely to likely", ["very unlikely", "unlikely", "likely"]),
    ("a Likert scale, worse to better", ["much worse", "worse", "same", "much better"]),
    (
        "a scale of degree, least first",
        ["not important", "slightly important", "important", "very important"],
    ),
    ("a scale of degree, least first", ["not at all likely", "not very likely", "likely"]),
    ("a scale of degree, least first", ["not satisfied", "somewhat satisfied", "satisfied"]),
    ("a scale of degree, least first", ["not at all", "a little", "somewhat", "very much"]),
    ("never to always", ["Never", "Rarely", "Sometimes", "Often", "Always"]),
    ("none to severe", ["none", "mild", "moderate", "severe"]),
    ("school grades, worst first", ["F", "D", "C", "B", "A"]),
    ("school grades, worst first", ["C", "B-", "B", "B+", "A-", "A+"]),
    ("bond ratings, worst first", ["D", "CCC", "B", "BB", "BBB-", "BBB+", "A", "AAA"]),
    ("bond ratings, worst first", ["Caa", "Ba", "Baa3", "Baa1", "Aa", "Aaa"]),
    ("sizes, smallest first", ["XS", "S", "M", "L", "XL", "XXL", "3XL"]),
    ("sizes, smallest first", ["small", "medium", "large", "huge"]),
    ("stages in Roman numerals", ["I", "II", "III", "IV", "V"]),
    ("stages in Roman numerals", ["Stage I", "Stage IIA", "Stage IIB", "Stage IV"]),
    ("labels that begin with a number", ["1 - bad", "2 - ok", "10 - superb"]),
    ("labels that begin with a number", ["1 (never)", "2", "3", "4 (always)"]),
    ("labels that end in a number", ["level 1", "level 2", "level 10"]),
    ("intervals of numbers", ["<10", "10-20", ">20"]),
    ("intervals of numbers", ["0", "1-2", "3+"]),
    ("intervals of numbers", ["none", "1", "2 or more"]),
    ("intervals of numbers", ["under 18", "18 to 29", "30–64", "65 and over"]),
    ("intervals of numbers", ["$0-$9", "$10-$99", "$100+"]),
    ("intervals of numbers", ["[0, 0.5)", "[0.5, 1.5)", "[1.5, 10]"]),
    ("intervals of numbers", ["2", "3", "4", "5more"]),
    ("intervals of numbers", ["less than 1 year", "1-3 years", "more than 3 years"]),
    ("ordinal numbers", ["first", "second", "third"]),
    ("primary to tertiary", ["primary", "secondary", "tertiary"]),
    ("education, least first", ["primary school", "high school", "bachelor", "phd"]),
    ("no to yes", ["no", "maybe", "yes"]),
]


@pytest.mark.parametrize(("what", "order"), SCALES, ids=lambda value: str(value)[:40])
def test_a_scale_is_recognised_in_any_order_and_writing(what, order):
    shuffled = random.Random(1).sample(order, len(order))
    assert suggest(shuffled) == (tuple(order), what)
    assert suggest(reversed(order)) == (tuple(order), what)
    loud = [f" {label.upper()}  " for label in shuffled]
    assert [label.strip() for label in suggest(loud).order] == [o.upper() for o in order]


@pytest.mark.parametrize(
    "labels",
    [
        ["red", "green", "blue"],
        ["January", "February", "March"],
        ["Mon", "Tue", "Wed"],
        ["Monday", "Sunday"],
        ["low", "medium", "high", "unknown"],  # one too many
        ["low", "agree"],  # of two families
        ["poor", "high"],
        ["ok", "okay", "good"],  # two words for one step
        ["medium", "middle", "high"],
        ["6 weeks", "2 months"],  # of two units
        ["0-10", "5-20"],  # they overlap
        ["level 1", "grade 2"],
        ["<script>", "low"],
        ["A", "G"],
        ["", "low"],
        ["low"],
        [],
        [1, 2, 3],
        ["low", 2],
        ["low", None],
    ],
    ids=str,
)
def test_what_is_no_scale_has_no_suggestion(labels):
    assert suggest(labels) is None


def test_labels_given_often_count_once():
    assert suggest(["high", "low", "high"]).order == ("low", "high")
