import dataclasses
import json

import narwhals
import numpy as np
import polars
import pytest

import ordinality
from ordinality import persist
from ordinality.inspect import Effect, effects
from ordinality.tables import Table, TableError
from ordinality.workbench import (
    evaluation,
    labelled_rows,
    model,
    problem_of,
    study,
    study_of,
)
from ordinality.workbench.problem import build_pipeline, level_proba
from ordinality.workbench.study import json_value, threshold_sentences

LEVELS = ["none", "some", "full"]


def test_a_study_in_three_lines(frame, tmp_path):
    found = study(frame, "effect", order=LEVELS, model="linear", drop=["weight", "patient"])
    found.save(tmp_path / "trial.skops")
    again = ordinality.load(tmp_path / "trial.skops")
    np.testing.assert_array_equal(
        again.predict(found.problem.frame), found.pipeline.predict(found.problem.frame)
    )


def test_the_summary_is_json_and_is_stored_in_the_file(found, tmp_path):
    summary = found.summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["levels"] == LEVELS
    assert sum(summary["counts"]) == summary["rows"] == 90
    assert summary["model"]["name"] == "linear"
    assert set(summary["scores"]) == {"linear", "frequencies", "rounded"}
    found.save(tmp_path / "trial.skops")
    assert persist.metadata(tmp_path / "trial.skops")["summary"] == summary


def test_what_is_not_finite_is_none_in_json():
    found = json_value({"a": np.float64(1.5), "b": (np.inf, np.int64(2), np.array([np.nan]))})
    assert found == {"a": 1.5, "b": [None, 2, [None]]}


def test_effects_are_averages_of_predictions_with_one_column_changed(problem, found):
    effect = next(one for one in found.effects if one.column == "dose")
    for value, row in zip(effect.values, effect.proba, strict=True):
        changed = problem.frame.with_columns(dose=np.full(len(problem), value))
        np.testing.assert_allclose(row, level_proba(found.pipeline, changed).mean(axis=0))
    np.testing.assert_allclose(effect.change.sum(), 0.0, atol=1e-12)
    assert effect.change[-1] > 0.05  # more dose, more effect


def test_the_strongest_effect_comes_first_and_matters(found):
    assert [one.column for one in found.effects] == ["dose", "site"]


def test_categories_are_compared_from_the_lowest_to_the_highest(problem, found):
    effect = next(one for one in found.effects if one.column == "site")
    expected = effect.proba @ np.arange(3)
    low, high = effect.values[expected.argmin()], effect.values[expected.argmax()]
    assert effect.between == (low, high)


def test_effects_are_finite_with_missing_cells(frame):
    gaps = np.where(np.arange(len(frame)) % 7, frame["dose"].to_numpy(), np.nan)
    holes = frame.with_columns(dose=gaps)
    problem = problem_of(holes, "effect", order=LEVELS, features=["dose", "site"])
    pipeline = problem.fitted(build_pipeline(model("linear"), problem))
    for effect in effects(pipeline, problem.frame):
        assert np.all(np.isfinite(effect.proba))
        assert np.all(np.isfinite(effect.change))


def test_an_effect_survives_json(found):
    for effect in found.effects:
        again = Effect.from_dict(json.loads(json.dumps(effect.as_dict())))
        np.testing.assert_allclose(again.proba, effect.proba, atol=1.1e-4)
        assert again.between == effect.between


def test_the_sentences_name_every_threshold_and_the_column_with_the_largest_effect(found):
    sentences = found.sentences
    assert "2 thresholds divide the scores into the levels of effect" in sentences[0]
    for lower, upper in (("none", "some"), ("some", "full")):
        sentence = next(one for one in sentences if one.startswith(f"From {lower} to"))
        assert f"to {upper}: " in sentence
        assert "when dose is one standard deviation larger" in sentence
    predicted = found.choice.selected.proba.argmax(axis=1)
    right = np.mean(predicted == found.problem.order.encode(found.problem.y))
    assert f"the correct level for {right:.0%}" in sentences[-2]


def test_a_threshold_that_no_column_affects_is_reported(found):
    still = [Effect.from_dict({**found.effects[1].as_dict(), "change": [0.0, 0.0, 0.0]})]
    sentences = threshold_sentences(still, LEVELS)
    assert all("no single column" in sentence for sentence in sentences)


def test_nothing_is_put_into_words_whose_interval_holds_zero(found):
    dose = next(one for one in found.effects if one.column == "dose")
    rise = np.abs(dose.rise)
    for factor, sure in ((0.4, True), (0.6, False)):  # 1.96 standard errors are the interval
        effect = dataclasses.replace(dose, rise_se=factor * rise)
        sentences = threshold_sentences([effect], LEVELS)
        assert all(("when dose is" in sentence) == sure for sentence in sentences)


def test_without_intervals_no_effect_is_put_into_words(found):
    unknown = [dataclasses.replace(found.effects[0], rise_se=None)]
    assert threshold_sentences(unknown, LEVELS) == [
        "Effects of the columns have no intervals here, so none is put into words."
    ]


@pytest.mark.usefixtures("few_refits")
def test_cheap_models_are_refitted_for_intervals_and_expensive_ones_are_not(problem):
    assert study_of(problem, "trees", budget=60.0, n_splits=2).effects.source == "bootstrap"
    assert study_of(problem, "trees", budget=1e-3, n_splits=2).effects.source is None


# ---------------------------------------------------------------- evaluation


def test_an_evaluation_counts_the_confusions(found, frame):
    table = Table(narwhals.from_native(frame))
    rows, y, weights, notes = labelled_rows(found.pipeline, table, "effect")
    scored = evaluation(found.pipeline, rows, y, weights, notes, counts=found.problem.counts)
    assert scored.confusion.sum() == scored.rows == 90
    right = np.trace(scored.confusion) / 90
    assert scored.scores["zero-one error"] == pytest.approx(1 - right)
    assert scored.verdict.startswith("Better than the frequencies")
    assert json.dumps(scored.as_dict(), allow_nan=False)


def test_rows_without_a_label_are_left_out_with_a_note(found, frame):
    empty = frame.with_columns(effect=frame["effect"].scatter([0, 5], [None, None]))
    _, y, _, notes = labelled_rows(found.pipeline, Table(narwhals.from_native(empty)), "effect")
    assert len(y) == 88
    assert notes[0] == "Left out 2 rows without effect."


def test_a_level_the_model_does_not_know_is_refused(found, frame):
    odd = frame.with_columns(effect=frame["effect"].replace({"some": "huge"}))
    with pytest.raises(TableError, match="'huge', which is not one of the levels"):
        labelled_rows(found.pipeline, Table(narwhals.from_native(odd)), "effect")


def test_a_misspelt_label_column_gets_a_suggestion(found, frame):
    with pytest.raises(TableError, match="did you mean 'effect'"):
        labelled_rows(found.pipeline, Table(narwhals.from_native(frame)), "efect")


def test_a_text_column_of_many_values_is_said_to_be_shown_at_some_of_them():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 12, 300)
    frame = polars.DataFrame({
        "town": [f"t{place:02d}" for place in town], "size": rng.normal(size=300),
        "y": np.digitize(town + 2 * rng.normal(size=300), [4, 8]),
    })  # fmt: skip
    words = study(frame, "y", model="linear", n_splits=2).sentences
    assert "Effects of town are those of its 8 commonest values, of 12." in words
    assert not [one for one in words if one.startswith("Effects of size")]
