"""Files of a study: answers, items, judges and the ranking, out and in again.

A cell that a spreadsheet would take for a formula begins with an apostrophe.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..panel.managed_store import ImportedAnswer, NewItem
from ..panel.served_store import hashed
from ..panel.set_questions import (
    KINDS,
    LARGEST,
    LEVELS,
    SMALLEST,
    OddAnswerError,
    compared_in,
    is_set,
    set_of,
    weight_in,
)
from ..panel.study_settings import StudySettings
from .fitted_files import FITTED, fitted_files
from .visits import Download, Leads, RefusedError, Visit

__all__ = [
    "NAMES",
    "one_file",
    "settings_of",
    "study_zip",
    "table",
    "take_in",
    "take_in_answers",
]

FORMULA = ("=", "+", "-", "@", "\t", "\r")
RATED = {"item", "rating"}  # columns of ratings
MOST_ANSWERS = 100_000  # of an import
MEMBERS, UNPACKED = 20, 100 * 1024 * 1024  # files of an archive, and bytes in all


# ---------------------------------------------------------------- out


def one_file(visit: Visit, name: str) -> Download:
    """One of the files of a study."""
    if name in FITTED:
        mime, content = FITTED[name], fitted_files(visit, _names_of_judges(visit))[name]
    else:
        mime, content = _mime(name), FILES[name](visit)
    return Download(f"{visit.here.slug}.{name}", mime, content)


def study_zip(visit: Visit) -> Download:
    """All files of a study in one archive; a sentence in it says if some cannot be made."""
    files = {name: made(visit) for name, made in FILES.items()}
    if files["ratings.csv"].count(b"\n") < 2:  # titles alone
        del files["ratings.csv"]
    if not any(each.features for each in visit.here.items.values()):
        del files["features.csv"]
    try:
        files |= fitted_files(visit, _names_of_judges(visit))
    except RefusedError as problem:
        files["left_out.txt"] = f"{problem.sentence}\n".encode()
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return Download(f"{visit.here.slug}.zip", "application/zip", whole.getvalue())


def _mime(name: str) -> str:
    return "text/csv; charset=utf-8" if name.endswith(".csv") else "application/json"


def table(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """A table as CSV that a spreadsheet may open."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows([[_cell(each) for each in row] for row in rows])
    return out.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(FORMULA):
        return "'" + value
    return value


def _uncelled(text: str) -> str:
    """A cell as it was before `_cell`."""
    return text[1:] if text[:1] == "'" and text[1:].startswith(FORMULA) else text


def _names_of_judges(visit: Visit) -> dict[str, str]:
    """Judges by name; without names, numbers in the order of names."""
    names = sorted(each.name for each in visit.store.judges(visit.here.id))
    if visit.query.get("names") == "yes":
        return {name: name for name in names}
    wide = len(str(len(names)))
    return {name: f"judge {k:0{wide}d}" for k, name in enumerate(names, start=1)}


def _answers(visit: Visit) -> bytes:
    task, judges = visit.here, _names_of_judges(visit)
    out = {each.name for each in visit.store.judges(task.id) if each.left_out}
    key = {i: each.key for i, each in task.items.items()}

    def winner(left: int, right: int, value: int) -> str:
        if task.settings.grades > 1:
            return f"{value:+d}" if value else "0"
        if value == 0:
            return "tie"
        return key[left if value > 0 else right]

    given = visit.store.answers(task.id, every_kind=True)
    rows = [
        [key[left], key[right], winner(left, right, value), judges[g.judge],
         0 if g.purpose == "repeat" or g.judge in out else weight_in(g), g.seconds, g.purpose,
         g.at, g.id if is_set(g.kind) else ""]
        for g in given
        for left, right, value in compared_in(g)
    ]  # fmt: skip
    titles = ["left", "right", "winner", "judge", "weight", "seconds", "purpose", "at"]
    if any(is_set(g.kind) for g in given):
        return table([*titles, "set"], rows)
    return table(titles, [row[:-1] for row in rows])


def _ratings(visit: Visit) -> bytes:
    task, judges = visit.here, _names_of_judges(visit)
    out = {each.name for each in visit.store.judges(task.id) if each.left_out}
    rows = [
        [task.items[g.left].key, g.value, judges[g.judge], 0 if g.judge in out else 1,
         g.seconds, g.at]
        for g in visit.store.answers(task.id, every_kind=True)
        if g.kind == "rating"
    ]  # fmt: skip
    return table(["item", "rating", "judge", "weight", "seconds", "at"], rows)


def _items(visit: Visit) -> bytes:
    items = list(visit.here.items.values())
    names = sorted({name for each in items for name in each.features})
    titles = ["name", "title", "text", "group", "not_for", "retired", *names]
    rows = [
        [each.key, each.title, each.text or "", each.group or "",
         ";".join(sorted(each.not_for)), "yes" if each.retired else "",
         *(each.features.get(name) for name in names)]
        for each in items
    ]  # fmt: skip
    return table(titles, rows)


def _judges(visit: Visit) -> bytes:
    judges, task = _names_of_judges(visit), visit.here
    counts = visit.store.counts_by_judge(task.id)
    rows = [
        [judges[each.name], each.kind, *counts.get(each.id, (0, 0)), each.quota,
         "yes" if each.left_out else "", each.consent_version, each.consent_at]
        for each in visit.store.judges(task.id)
    ]  # fmt: skip
    titles = ["judge", "kind", "answers", "skipped", "quota", "left_out", "consent_version",
              "consent_at"]  # fmt: skip
    return table(titles, sorted(rows, key=lambda row: row[0]))


def _ranking(visit: Visit) -> bytes:
    found, items = visit.store.summary(visit.here.id), visit.here.items
    rows = [
        [row["rank"], items[row["id"]].key, repr(row["utility"]), repr(row["sd"]),
         row["first"], row["last"], row["answers"], row["p_best"]]
        for row in found.get("items", ())
    ]  # fmt: skip
    titles = ["rank", "item", "utility", "sd", "first", "last", "answers", "p_best"]
    return table(titles, rows)


def _features(visit: Visit) -> bytes:
    titles = ["feature", "step", "worth", "sd"]
    rows = visit.store.summary(visit.here.id).get("worths", ())
    return table(titles, [[row[title] for title in titles] for row in rows])


def _study(visit: Visit) -> bytes:
    task = visit.here
    facts = {
        "study": task.slug, "question": task.question, "kind": task.settings.kind,
        "settings": task.settings.as_dict(), "consent": task.consent_text,
        "consent_version": task.consent_version,
    }  # fmt: skip
    return json.dumps(facts, indent=2, ensure_ascii=False).encode()


FILES: Mapping[str, Callable[[Visit], bytes]] = {
    "answers.csv": _answers, "items.csv": _items, "judges.csv": _judges,
    "ranking.csv": _ranking, "features.csv": _features, "ratings.csv": _ratings,
    "study.json": _study,
}  # fmt: skip
NAMES = frozenset(FILES) | frozenset(FITTED)


# ---------------------------------------------------------------- settings


def settings_of(sent: Mapping[str, Any], old: StudySettings) -> StudySettings:
    """Settings from a form; a ValueError says what cannot be."""

    def number(name: str, least: float, most: float, what: str) -> float:
        try:
            found = float(str(sent.get(name, getattr(old, name))))
        except ValueError:
            found = float("nan")
        if not least <= found <= most:
            raise ValueError(f"{what} must be a number from {least:g} to {most:g}.")
        return found

    quota = str(sent.get("quota", "")).strip()
    if quota and not (quota.isdigit() and 1 <= int(quota) <= 100_000):
        raise ValueError("The quota must be a whole number from 1, or empty.")
    back = str(sent.get("back", "")).strip()
    if back and not back.startswith(("https://", "http://")):
        raise ValueError("The address to go back to must begin with https:// or http://.")
    kind = str(sent.get("kind", old.kind))
    if kind not in KINDS:
        raise ValueError(f"The kind of question must be one of {', '.join(KINDS)}.")
    return replace(
        old,
        kind=kind,
        size=int(number("size", SMALLEST, LARGEST, "The number of items to put in order")),
        top=int(number("top", 0, 1000, "The number of the best")),
        level=number("level", 0.5, 0.999, "The probability at which to stop"),
        checks=number("checks", 0.0, 0.5, "The share of checks"),
        quota=int(quota) if quota else None,
        ties=sent.get("ties") == "yes",
        grades=2 if sent.get("grades") == "2" else 1,
        stop=sent.get("stop") == "yes",
        open=sent.get("open") == "yes",
        show_progress=sent.get("show_progress") == "yes",
        show_ranking=sent.get("show_ranking") == "yes",
        thanks=str(sent.get("thanks", ""))[:2000],
        code=str(sent.get("code", ""))[:200],
        back=back[:500],
    )


# ---------------------------------------------------------------- in


def take_in(visit: Visit) -> Leads | None:
    """Add items from an upload: a table, a list of names, or an archive with items.csv."""
    upload, pasted = visit.files.get("file"), str(visit.fields.get("names", ""))
    if upload is not None and upload.size:
        content = upload.file.read()
        if zipfile.is_zipfile(io.BytesIO(content)):
            content = _from_archive(content, "items.csv")
        new = _items_of(_text(content), upload.filename or "")
    else:
        new = [NewItem(name.strip(), {}) for name in pasted.splitlines() if name.strip()]
    known = {each.key for each in visit.here.items.values()}
    fresh = [each for each in new if each.key not in known]
    if not fresh:
        raise RefusedError(400, "There are no new items in what was sent.")
    if len({each.key for each in fresh}) < len(fresh):
        raise RefusedError(400, "Every item needs a name of its own.")
    visit.store.add(visit.here.id, fresh)
    visit.store.note(visit.here.id, "admin", "add items", {"count": len(fresh)})
    return None


def take_in_answers(visit: Visit) -> None:
    """Add answers from an upload: a table as `answers.csv` is, or an archive with it."""
    rows, store, task = _sent_answers(visit), visit.store, visit.here
    names = {_judge_of(row) for _, row in rows}
    others = {each.name for each in store.judges(task.id) if each.kind != "import"}
    if names & others:
        raise RefusedError(
            400, f"{min(names & others)!r} is a judge of this study, whose answers are not "
            "imported; give the judge of the file another name.",
        )  # fmt: skip
    keys = {each.key: each.id for each in task.items.values()}
    # All rows are checked before the first is written.
    read = [_answer_of(visit, keys, row, line) for line, row in rows]
    given = _sets_together(rows, read)
    judges = {name: store.judge(task.id, name, "import") for name in sorted(names)}
    new = store.import_answers(
        task.id, [each._replace(judge_id=judges[name]) for name, each in given]
    )
    store.note(task.id, "admin", "import answers", {"count": new})
    if not new:
        raise RefusedError(400, "There are no new answers in what was sent.")


def _sent_answers(visit: Visit) -> list[tuple[int, dict[str, str]]]:
    """The rows of an upload that has the columns of answers, with the lines they are in."""
    upload = visit.files.get("file")
    if upload is None or not upload.size:
        raise RefusedError(400, "Choose a file with answers.")
    content = upload.file.read()
    tables = [content]
    if zipfile.is_zipfile(io.BytesIO(content)):
        tables = [_from_archive(content, "answers.csv")]
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if "ratings.csv" in archive.namelist():
                tables.append(_from_archive(content, "ratings.csv"))
    found = []
    for each in tables:
        rows = _rows(_text(each))
        if rows and not ({"left", "right", "winner"} <= set(rows[0]) or set(rows[0]) >= RATED):
            rows = []
        found += list(enumerate(rows, start=2))
    if not found:
        raise RefusedError(
            400, "Wanted a table with the columns left, right and winner, or item and rating."
        )
    if len(found) > MOST_ANSWERS:
        raise RefusedError(400, f"Import {MOST_ANSWERS:,} answers at most at once.")
    return found


def _answer_of(
    visit: Visit, keys: Mapping[str, int], row: Mapping[str, str], line: int
) -> tuple[str, ImportedAnswer]:
    """The judge of a row, and its answer, which does not have the judge's number yet."""
    if set(row) >= RATED:
        return _rating_of(visit, keys, row, line)
    left, right = row["left"].strip(), row["right"].strip()
    for name in (left, right):
        if name not in keys:
            raise RefusedError(400, f"Line {line} has {name!r}, which is no item of the study.")
    if left == right:
        raise RefusedError(400, f"Line {line} has the same item twice.")
    settings, winner = visit.here.settings, row["winner"].strip()
    value = _value(winner, left, right, settings.grades)
    if value is None or (value == 0 and not settings.ties):
        raise RefusedError(
            400, f"Line {line} has {winner!r}, which is no answer of this study."
        )
    judge, seconds = _judge_of(row), _seconds_of(row, line)
    said = json.dumps([line, left, right, winner, judge])
    key = f"import/{visit.here.id}/{hashed(said)}"
    # A check would need the probability that its answer had when it was asked.
    purpose = "repeat" if row.get("purpose") == "repeat" else "start"
    return judge, ImportedAnswer(key, 0, keys[left], keys[right], value, seconds, purpose)


def _rating_of(
    visit: Visit, keys: Mapping[str, int], row: Mapping[str, str], line: int
) -> tuple[str, ImportedAnswer]:
    """The judge of a row of ratings, and the rating."""
    name, level = row["item"].strip(), row["rating"].strip()
    if name not in keys:
        raise RefusedError(400, f"Line {line} has {name!r}, which is no item of the study.")
    if level not in map(str, LEVELS):
        raise RefusedError(
            400, f"Line {line} has {level!r} as a rating; wanted {LEVELS[0]} to {LEVELS[-1]}."
        )
    judge, seconds = _judge_of(row), _seconds_of(row, line)
    said = json.dumps([line, name, level, judge])
    key, item = f"import/{visit.here.id}/{hashed(said)}", keys[name]
    detail = {"items": [item]}
    return judge, ImportedAnswer(
        key, 0, item, None, int(level), seconds, "start", "rating", detail
    )


def _sets_together(
    rows: Sequence[tuple[int, Mapping[str, str]]], read: Sequence[tuple[str, ImportedAnswer]]
) -> list[tuple[str, ImportedAnswer]]:
    """Answers, with the rows of each set as one."""
    found: list[tuple[str, ImportedAnswer]] = []
    sets: dict[tuple[str, str], list[tuple[int, ImportedAnswer]]] = {}
    for (line, row), (judge, given) in zip(rows, read, strict=True):
        name = row.get("set", "").strip()
        if name:
            sets.setdefault((judge, name), []).append((line, given))
        else:
            found.append((judge, given))
    for (judge, name), pairs in sets.items():
        line, first = pairs[0]
        compared = [(p.left, p.right or 0, p.value or 0) for _, p in pairs]
        try:
            kind, (value, detail) = set_of(compared)
        except OddAnswerError:
            raise RefusedError(
                400, f"The rows of the set {name!r}, from line {line}, are no order of items "
                "and no best and worst of them.",
            ) from None  # fmt: skip
        left, right, *_ = detail["items"]
        key = f"{first.key}/{kind}"
        given = first._replace(key=key, left=left, right=right, value=value, kind=kind,
                               detail=detail)  # fmt: skip
        found.append((judge, given))
    return found


def _seconds_of(row: Mapping[str, str], line: int) -> float | None:
    """The seconds that an answer took; None if the table does not say."""
    cell = row.get("seconds", "").strip()
    try:
        found = float(cell) if cell else None
    except ValueError:
        found = float("nan")
    if found is not None and not 0 <= found < 1e6:
        raise RefusedError(400, f"Line {line} has {cell!r} as seconds; wanted a number.")
    return found


def _judge_of(row: Mapping[str, str]) -> str:
    return row.get("judge", "").strip()[:200] or "import"


def _value(winner: str, left: str, right: str, grades: int) -> int | None:
    """An answer as a number; a name comes before a number where there are no grades."""
    names = {left: 1, right: -1}
    numbers = {"tie": 0, "0": 0}
    for grade in range(1, grades + 1):
        numbers |= {f"{grade}": grade, f"+{grade}": grade, f"-{grade}": -grade}
    return (names | numbers if grades > 1 else numbers | names).get(winner)


def _rows(text: str) -> list[dict[str, str]]:
    """The rows of a table, with its cells as they were before `_cell`."""
    try:
        return [
            {name: _uncelled(cell or "") for name, cell in row.items() if name}
            for row in csv.DictReader(io.StringIO(text))
        ]
    except csv.Error as problem:
        raise RefusedError(400, f"The file is not a table in CSV: {problem}.") from None


def _from_archive(content: bytes, wanted: str) -> bytes:
    """A file of an archive, which is refused if its names or sizes are not plain."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if len(members) > MEMBERS or sum(m.file_size for m in members) > UNPACKED:
                raise RefusedError(400, "The archive holds too many files, or too large ones.")
            for member in members:
                name = member.filename
                if "/" in name or "\\" in name or name.startswith("."):
                    raise RefusedError(400, f"The archive has {name!r}; wanted no folders.")
            if wanted not in archive.namelist():
                raise RefusedError(400, f"The archive has no {wanted}.")
            with archive.open(wanted) as file:
                found = file.read(UNPACKED + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError):
        raise RefusedError(
            400, "The archive is damaged, or of a kind that cannot be read."
        ) from None
    if len(found) > UNPACKED:  # the sizes that an archive states may be wrong
        raise RefusedError(400, "The archive holds too large files.")
    return found


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RefusedError(400, "The file is not text in UTF-8; save it as such.") from None


def _items_of(text: str, filename: str) -> list[NewItem]:
    """Items of a table with a column of names, or of a list with a name a line."""
    if not filename.lower().endswith((".csv", ".zip")):
        return [NewItem(name.strip(), {}) for name in text.splitlines() if name.strip()]
    rows = _rows(text)
    titles = list(rows[0]) if rows else []
    key = "name" if "name" in titles else titles[0] if titles else ""
    found = []
    for line, cells in enumerate(rows, start=2):
        if not cells.get(key, "").strip():
            raise RefusedError(400, f"Line {line} has no name; name every item.")
        not_for = [each.strip() for each in cells.get("not_for", "").split(";")]
        found.append(
            NewItem(
                cells[key].strip(), {}, cells.get("title") or None, cells.get("text") or None,
                None, cells.get("group") or None, [each for each in not_for if each],
            )
        )  # fmt: skip
    return found
