"""Rankings from answers: order, intervals, judges, the check, and what is said of the data."""

import json
import re

import numpy as np
import pytest

from ordinality.gp.likelihoods import Symmetric
from ordinality.panel import rank_answers
from ordinality.panel.coin_ratio import coin_log_ratio
from ordinality.panel.judges import GivenAnswers, judge_summaries


def comparisons(n=12, m=300, judges=4, noise=0.5, seed=0):
    """Names of pairs, answers, judges; items are called in their true order."""
    rng = np.random.default_rng(seed)
    u = np.sort(rng.standard_normal(n))[::-1]
    i = rng.integers(n, size=m)
    j = (i + rng.integers(1, n, size=m)) % n
    felt = u[i] - u[j] + np.sqrt(2) * noise * rng.standard_normal(m)
    names = np.array([f"item {k:02d}" for k in range(n)])
    who = np.array([f"judge {k}" for k in rng.integers(judges, size=m)])
    return names[np.column_stack([i, j])], np.where(felt > 0, 1, -1), who


@pytest.fixture(scope="module")
def found():
    pairs, answers, judges = comparisons()
    flips = np.random.default_rng(5).random(len(answers)) < 0.85
    answers = np.where(judges == "judge 3", np.where(flips, 1, -1), answers)
    seconds = np.where(judges == "judge 1", 0.4, 4.0)
    return rank_answers(pairs, answers, judges=judges, seconds=seconds, n_next=4, top=3)


def test_items_come_in_order_of_utility_with_places_around_their_rank(found):
    utility = [one.utility for one in found.items]
    assert utility == sorted(utility, reverse=True)
    assert [one.rank for one in found.items] == list(range(1, 13))
    assert all(1 <= one.places[0] <= one.rank <= one.places[1] <= 12 for one in found.items)
    assert sum(one.p_best for one in found.items) == pytest.approx(3)
    assert sum(one.answers for one in found.items) == 600


def test_the_order_agrees_with_the_truth(found):
    place = {one.item: one.rank for one in found.items}
    true = [place[f"item {k:02d}"] for k in range(12)]
    wrong = sum(a > b for i, a in enumerate(true) for b in true[i:])
    assert wrong < 12  # of 66; the model expects about as many
    assert found.wrong_pairs == pytest.approx(wrong, abs=8)


def test_a_judge_who_answers_left_is_found_and_true_ones_are_not(found):
    flags = {one.judge: one.flag for one in found.judges}
    assert "disagrees with the others" in flags["judge 3"]
    assert "% left" in flags["judge 3"]
    assert flags["judge 1"] == "0.4 s a question"
    assert flags["judge 0"] == flags["judge 2"] == ""


def test_a_tenth_is_kept_aside_and_predicted_better_than_by_a_coin(found):
    assert found.check.answers == 30
    assert found.check.right > 0.5
    assert found.check.log_score < np.log(2)


def test_questions_are_about_different_items_and_the_first_has_the_largest_gain(found):
    gains = [gain for *_, gain in found.next]
    assert len(found.next) == 4
    assert gains[0] == max(gains)
    assert min(gains) > 0
    assert all(left != right for left, right, _ in found.next)


def test_everything_but_the_model_is_json(found):
    said = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert {"items", "judges", "wrong_pairs", "next", "notes"} <= said.keys()
    assert said["items"][0].keys() >= {"item", "rank", "utility", "places", "answers"}


def test_the_same_seed_gives_the_same_ranking():
    pairs, answers, judges = comparisons(n=6, m=60)
    one, other = (rank_answers(pairs, answers, judges=judges, n_next=2) for _ in range(2))
    assert one.as_dict() == other.as_dict()


def test_the_order_of_the_answers_does_not_matter():
    pairs, answers, _ = comparisons(n=6, m=60)
    one, other = rank_answers(pairs, answers), rank_answers(pairs[::-1], answers[::-1])
    np.testing.assert_allclose(
        [item.utility for item in one.items], [item.utility for item in other.items], atol=1e-9
    )


def test_an_item_that_never_lost_has_a_finite_utility_and_the_first_place():
    pairs = [["best", other] for other in "abc"] * 30 + [["a", "b"], ["b", "c"]] * 20
    found = rank_answers(pairs, [1] * len(pairs))
    assert found.items[0].item == "best"
    assert np.isfinite(found.items[0].utility)
    assert [one.item for one in found.items] == ["best", "a", "b", "c"]


def test_coin_flips_are_called_so():
    rng = np.random.default_rng(0)
    pairs, answers, _ = comparisons(n=10, m=300)
    found = rank_answers(pairs, rng.choice([-1, 1], len(answers)))
    assert found.wrong_pairs > 0.4 * found.pairs


def test_parts_that_no_answer_connects_are_named():
    found = rank_answers([["a", "b"], ["c", "d"], ["d", "e"]], [1, 1, 1], items=list("abcdef"))
    alone, parts = found.notes
    assert alone.startswith("No answer is about f")
    assert "2 parts" in parts
    assert "(1) c, d, e; (2) a, b" in parts


def test_ratings_connect_items_and_rank_them():
    found = rank_answers([["a", "b"]], [1], ratings=(["a", "b", "c", "c"], [3, 2, 1, 1]))
    assert not found.notes
    assert [one.item for one in found.items] == ["a", "b", "c"]
    assert [one.answers for one in found.items] == [2, 2, 2]


def test_without_answers_there_is_a_first_question():
    found = rank_answers([], [], items=["a", "b", "c"], n_next=2)
    assert found.check is None
    assert len(found.next) == 2
    assert found.wrong_pairs == pytest.approx(1.5)


def test_one_judge_is_not_asked_the_same_pair_again():
    pairs = [["a", "b"], ["c", "a"]]
    one = rank_answers(pairs, [1, 1], judges=["x", "x"], n_next=9)
    assert [set(pair[:2]) for pair in one.next] == [{"b", "c"}]
    several = rank_answers(pairs, [1, 1], judges=["x", "y"], n_next=9)
    assert len(several.next) == 3


def test_judges_without_names_are_asked_again_only_if_new_pairs_run_out():
    pairs = [["a", "b"], ["c", "a"]]
    assert [set(pair[:2]) for pair in rank_answers(pairs, [1, 1], n_next=1).next] == [{*"bc"}]
    assert len(rank_answers(pairs, [1, 1], n_next=2).next) == 2


def test_chances_of_two_items_add_up_to_one(found):
    chances = found.chances(5)
    assert len(chances) == 5
    assert chances[0][4] + chances[4][0] == pytest.approx(1)
    assert chances[2][2] is None
    assert chances[0][4] > 0.5


def test_the_report_escapes_names_and_fetches_nothing(tmp_path):
    pairs = [["<b>x</b>", "y\x1b"], ["y\x1b", "z"]]
    found = rank_answers(pairs, [1, 1], judges=["k<i>", "l"], n_next=1)
    found.report(tmp_path / "r.html", command="ordinality rank 'a&b.csv'")
    page = (tmp_path / "r.html").read_text()
    assert "&lt;b&gt;x" in page
    assert "a&amp;b.csv" in page
    assert "\x1b" not in page
    assert not re.search(r"<script|https?://|<b>|<i>", page)
    assert page.count("<svg") == 3
    with pytest.raises(FileExistsError, match="exists"):
        found.report(tmp_path / "r.html")


def test_answers_given_together_are_kept_aside_together():
    pairs, answers, _ = comparisons(n=6, m=60)
    assert rank_answers(pairs, answers, groups=np.arange(60) // 3).check.answers == 6


def test_ties_and_grades_are_taken_from_the_answers():
    pairs, answers, judges = comparisons(n=6, m=90)
    answers = np.where(np.arange(90) % 5 == 0, 0, 2 * answers)
    answers[1] = 1
    found = rank_answers(pairs, answers, judges=judges)
    assert found.model.classes_.tolist() == [-2, -1, 0, 1, 2]
    assert 0.1 < np.average([one.equal for one in found.judges]) < 0.3


def test_a_judge_whose_answers_have_no_weight_has_no_misfit():
    pairs, answers, judges = comparisons(n=5, m=60)
    weights = np.where(judges == "judge 2", 0.0, 1.0)
    found = rank_answers(pairs, answers, judges=judges, weights=weights)
    assert [one.misfit is None for one in found.judges] == [False, False, True, False]


def test_a_thousand_equal_answers_are_still_finite():
    pairs = [["a", "b"], ["b", "c"]] * 500
    found = rank_answers(pairs, [1] * 1000, judges=["x", "y", "z", "z"] * 250)
    json.dumps(found.as_dict(), allow_nan=False)
    assert [one.item for one in found.items] == ["a", "b", "c"]


def test_more_than_a_hundred_judges_share_one_noise():
    pairs, answers, _ = comparisons(n=5, m=120)
    found = rank_answers(pairs, answers, judges=[f"j{k}" for k in range(120)])
    assert found.model.judges_ is None
    assert len(found.judges) == 120
    assert "120 judges" in found.notes[0]


@pytest.mark.parametrize(
    ("pairs", "answers", "more", "said"),
    [
        ([["a", "b"]], [1, 1], {}, "1 pairs and 2 answers"),
        ([["a", "b"]], [0.5], {}, "answers hold 0.5"),
        ([["a", "b"]], [11], {}, "from -10 to 10"),
        ([["a", "b"]], [np.nan], {}, "answers hold nan"),
        ([["a", "b"]], [1], {"judges": ["x", "y"]}, "judges has shape"),
        ([["a", "b"]], [1], {"items": ["a", "c"]}, "'b', which is not one of the items"),
        ([], [], {"items": ["a"]}, "number of items is 1"),
        ([], [], {"items": [str(k) for k in range(5001)]}, "at most 5,000 can be ranked"),
        ([["a", "a"]], [1], {"items": ["a", "b"]}, "with itself"),
    ],
)
def test_what_cannot_be_ranked_is_refused_in_words(pairs, answers, more, said):
    with pytest.raises(ValueError, match=said):
        rank_answers(pairs, answers, **more)


# Presentation


def presented(m=240, bias=0.9, length=0.5):
    """Answers of four judges who like the left side and longer texts."""
    rng = np.random.default_rng(3)
    pairs, _, judges = comparisons(m=m)
    u = -np.array([[int(name[-2:]) for name in pair] for pair in pairs]) / 4.0
    longer = rng.standard_normal(m)
    felt = u @ [1, -1] + 0.7 * (bias + length * longer + rng.standard_normal(m))
    return pairs, np.where(felt > 0, 1, -1), judges, {"side": np.ones(m), "length": longer}


@pytest.fixture(scope="module")
def shown():
    pairs, answers, judges, covariates = presented()
    return rank_answers(pairs, answers, judges=judges, covariates=covariates)


def test_effects_of_the_presentation_have_intervals_that_hold_the_truth(shown):
    side, length = shown.covariates
    assert (side.name, length.name) == ("side", "length")
    assert 0.0 < side.interval[0] < 0.9 < side.interval[1]
    assert 0.0 < length.interval[0] < 0.5 < length.interval[1]
    listed = json.loads(json.dumps(shown.as_dict()))["covariates"]
    assert listed[0].keys() == {"name", "coefficient", "interval"}
    assert listed[0]["interval"] == list(side.interval)
    assert shown.model.covariate_names_.tolist() == ["side", "length"]


def test_judges_are_compared_with_what_was_shown_and_so_is_the_check(shown):
    pairs, answers, judges, _ = presented()
    blind = rank_answers(pairs, answers, judges=judges, judge_sides=False)
    assert any("% left" in one.flag for one in blind.judges)
    assert not any("% left" in one.flag for one in shown.judges)
    assert shown.check.log_score < blind.check.log_score - 0.05
    assert blind.covariates == ()


def test_a_judge_without_covariates_is_described_as_with_a_shift_of_zero():
    pairs, answers, judges, _ = presented()
    blind = rank_answers(pairs, answers, judges=judges, judge_sides=False)
    state, numbers = blind.snapshot, blind.model.item_numbers(pairs)
    w = np.ones(len(answers))
    given = GivenAnswers(numbers, answers, judges, w, w, None, True)
    none = given._replace(shift=np.zeros((len(state.ratios), len(answers))))
    one, other = (judge_summaries(state, blind.model, each) for each in (given, none))
    assert one == other == blind.judges


def test_a_judge_who_follows_the_presentation_alone_is_no_coin_to_the_ratio():
    likelihood, shift = Symmetric.of([]), np.array([2.0, -2.0] * 10)
    i, j = np.array([0] * 20), np.array([1] * 20)
    level = np.array([1, 0] * 10)
    mean, cov = np.zeros(2), 0.01 * np.eye(2)
    told, blind = (
        coin_log_ratio(mean, cov, 1.0, (i, j), level, np.ones(20), likelihood, s)
        for s in (shift, 0.0)
    )
    assert told > 5.0 > 0.0 > blind


def test_the_report_has_the_effects(shown, tmp_path):
    shown.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "<h2>Presentation</h2>" in page
    assert f"{shown.covariates[0].coefficient:.3g}" in page


def test_ties_and_grades_are_as_they_are_wanted_and_a_note_counts_what_that_changes():
    pairs, answers, _ = comparisons(m=90)
    answers = answers * np.array([0, 1, 2])[np.arange(90) % 3]
    z = {"z": np.linspace(-1, 1, 90)}
    as_given = rank_answers(pairs, answers, covariates=z)
    assert as_given.model.classes_.tolist() == [-2, -1, 0, 1, 2]
    found = rank_answers(pairs, answers, ties=False, grades=1, covariates=z)
    assert found.model.classes_.tolist() == [-1, 1]
    assert found.notes[:2] == (
        "30 of 90 answers are ties, and are left out.",
        "30 answers are stronger than 1, and count as that.",
    )
    assert found.check.answers == 6
    keep = np.arange(90) % 3 > 0
    by_hand = rank_answers(pairs[keep], np.sign(answers[keep]), covariates={"z": z["z"][keep]})
    assert found.items == by_hand.items
    assert rank_answers(pairs, np.sign(answers), grades=3).model.grades == 3
    with pytest.raises(ValueError, match="grades=11; wanted a number from 1 to 10"):
        rank_answers(pairs, answers, grades=11)


def test_covariates_of_another_length_or_without_a_value_are_refused():
    pairs, answers, _ = comparisons(m=30)
    with pytest.raises(ValueError, match=r"covariate z has shape \(2,\), but there are 30"):
        rank_answers(pairs, answers, covariates={"z": [1, 2]})
    with pytest.raises(ValueError, match="nan in row 0 of 'z'"):
        rank_answers(pairs, answers, covariates={"z": [np.nan] * 30})
