"""Malformed tables: those that are refused in a sentence, and those that can be read.

``CASES`` is data, so that the library and the command line are held to the same table. A case
writes its file into a folder and returns the path; `says` is a pattern for the sentence, of the
refusal or, where `values` says what must have been read, of a note.
"""

import bz2
import gzip
import json
import lzma
import pickle
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

GRADES = ["poor", "fair", "good"] * 4
GOOD = {
    "x": [float(i * i % 7) for i in range(12)],
    "colour": ["red", "blue", "green", "red"] * 3,
    "w": [1.0, 2.0] * 6,
    "site": ["a", "b", "c"] * 4,
    "y": [i * i % 7 % 3 for i in range(12)],
}


class Case(NamedTuple):
    """A table that something is the matter with.

    `options` are further arguments of `features_and_target`; `values` are columns of the table
    that is read after all, and None where it is refused.
    """

    make: Callable[[Path], Path]
    says: str = ""
    target: str = "y"
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed
    values: dict[str, list[Any]] | None = None


# ---------------------------------------------------------------- making files


def raw(name, content):
    def make(folder):
        (folder / name).write_bytes(content)
        return folder / name

    return make


def text(content, name="a.csv", encoding="utf-8"):
    return raw(name, content.encode(encoding))


def csv(frame=None, **changes):
    """The good table as CSV, with columns changed, added, or taken away by None."""
    columns = {k: v for k, v in {**(frame or GOOD), **changes}.items() if v is not None}
    return text(pl.DataFrame(columns, strict=False).write_csv())


def parquet(name="a.parquet", **changes):
    def make(folder):
        pl.DataFrame({**GOOD, **changes}).write_parquet(folder / name)
        return folder / name

    return make


def arrow(name="a.arrow"):
    def make(folder):
        pl.DataFrame(GOOD).write_ipc(folder / name)
        return folder / name

    return make


def cut(make, share=0.6):
    """What another case makes, broken off."""

    def shorter(folder):
        path = make(folder)
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
        return path

    return shorter


def damaged(make, *places):
    """What another case makes, with the bytes in some places inverted."""

    def other(folder):
        path = make(folder)
        content = bytearray(path.read_bytes())
        for place in places:
            content[place] ^= 0xFF
        path.write_bytes(content)
        return path

    return other


def lines(*rows, name="a.jsonl"):
    return text("".join(f"{row}\n" for row in rows), name)


def beside(name):
    """A path that is not there, next to the good table."""

    def make(folder):
        csv()(folder)
        return folder / name

    return make


def folder_called(name):
    def make(folder):
        (folder / name).mkdir()
        return folder / name

    return make


def folder_of(*makers, **others):
    """A folder of what other cases make, and of other files with their contents."""

    def make(folder):
        home = folder / "parts"
        home.mkdir()
        for i, each in enumerate(makers):
            each(home).rename(home / f"part-{i}.parquet")
        for name, content in others.items():
            (home / name.replace("_DOT_", ".")).write_text(content)
        return home

    return make


def empty(make):
    """What another case makes, without its rows."""

    def none(folder):
        path = make(folder)
        pl.read_parquet(path).clear().write_parquet(path)
        return path

    return none


PLAIN = pl.DataFrame(GOOD).write_csv()
ROWS = [json.dumps(row) for row in pl.DataFrame(GOOD).to_dicts()]
WIDE = {f"g{i}": [i, -i, 2 * i] for i in range(10_000)}


def reading() -> dict[str, Case]:
    """Files that hold no table."""
    return {
        "an empty file": Case(raw("a.csv", b""), "is empty"),
        "nothing but blanks": Case(raw("a.csv", b" \n\r\n\t\n"), "is empty"),
        "a byte-order mark alone": Case(raw("a.csv", b"\xef\xbb\xbf\n"), "is empty"),
        "a header alone": Case(text("x,y\n"), "names columns but has no rows"),
        "a header in quotes alone": Case(text('"x","y"\n'), "names columns but has no rows"),
        "separators alone": Case(text(",,,\n,,,\n,,,\n"), "is empty"),
        "an empty folder": Case(folder_called("a.csv"), "a.csv is an empty folder; name a"),
        "a folder without Parquet": Case(
            folder_of(a_DOT_csv="x,y\n1,2\n"), "without a Parquet file; .* such as a.csv"
        ),
        "a folder of Parquet and other files": Case(
            folder_of(parquet(), notes_DOT_txt="see the wiki"),
            "parts holds notes.txt beside Parquet files; move it elsewhere",
        ),
        "a folder with a torn file": Case(
            folder_of(parquet(), cut(parquet()), parquet()),
            r"part-1.parquet cannot be read: the Parquet file is truncated",
        ),
        "a folder with a file that is no Parquet": Case(
            folder_of(parquet(), text(PLAIN)), r"part-1.parquet .* does not begin as Parquet"
        ),
        "a folder whose second file lacks a column": Case(
            folder_of(parquet(more=[1] * 12), parquet()),
            r"part-1.parquet has no column 'more', which .*part-0.parquet has",
        ),
        "a folder whose second file has one more column": Case(
            folder_of(parquet(), parquet(more=[1] * 12)),
            r"part-0.parquet has no column 'more', which .*part-1.parquet has",
        ),
        "a folder whose files hold numbers and text": Case(
            folder_of(parquet(), parquet(x=["a", "b", "c"] * 4)),
            r"part-1.parquet holds texts in x, but .*part-0.parquet holds numbers",
        ),
        "a folder of files without rows": Case(
            folder_of(empty(parquet())), "parts names columns but has no rows"
        ),
        "a misspelt file": Case(beside("b.csv"), r"no file .*b\.csv; did you mean 'a\.csv'\?"),
        "a folder that is not there": Case(beside("no/a.csv"), "no file .*; check the path"),
        "a name too long": Case(beside("a" * 300 + ".csv"), "cannot be read|There is no file"),
        "a suffix that says nothing": Case(raw("a.sav", b"$FL2"), "save it as one of .csv"),
        "no suffix": Case(text(PLAIN, "table"), "save it as one of .csv"),
        "a spreadsheet": Case(raw("a.xlsx", b"PK\3\4"), "is a spreadsheet; save the sheet"),
        "a spreadsheet called CSV": Case(
            raw("a.csv", b"PK\3\4\0\0"), "an Excel workbook; save"
        ),
        "an old spreadsheet called CSV": Case(
            raw("a.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "an Excel workbook; save"
        ),
        "JSON that is no lines": Case(text(f"[{','.join(ROWS)}]", "a.json"), "JSON lines"),
        "a picture called CSV": Case(raw("a.csv", b"\x89PNG\r\n\x1a\n\0\0"), "is a picture"),
        "a document called CSV": Case(raw("a.csv", b"%PDF-1.7\n"), "is a PDF document"),
        "a pickle called CSV": Case(raw("a.csv", pickle.dumps(GOOD)), "is a Python pickle"),
        "a database called CSV": Case(raw("a.csv", b"SQLite format 3\0"), "is a database"),
        "noise called CSV": Case(raw("a.csv", bytes(range(256)) * 4), "is not text"),
        "Parquet called CSV": Case(parquet("a.csv"), r"give it the suffix \.parquet"),
        "Arrow called CSV": Case(arrow("a.csv"), r"give it the suffix \.arrow"),
        "CSV called Parquet": Case(text(PLAIN, "a.parquet"), "does not begin as Parquet"),
        "CSV called Arrow": Case(text(PLAIN, "a.feather"), "does not begin as Arrow"),
        "Parquet broken off": Case(cut(parquet()), "Parquet file is truncated or corrupt"),
        "Parquet of four bytes": Case(raw("a.parquet", b"PAR1"), "is truncated or corrupt"),
        "Arrow broken off": Case(cut(arrow()), "Arrow file is truncated or corrupt"),
        "Parquet without rows": Case(
            parquet(**{name: [] for name in GOOD}), "names columns but has no rows"
        ),
        "gzip broken off": Case(
            raw("a.csv.gz", gzip.compress(PLAIN.encode())[:-9]), "truncated or corrupt .gzip"
        ),
        "gzip damaged": Case(
            raw("a.csv.gz", b"\x1f\x8b\x08\0" + b"~" * 40), "truncated or corrupt .gzip"
        ),
        "gzip in name alone": Case(text(PLAIN, "a.csv.gz"), "not compressed with gzip"),
        "gzip of nothing": Case(raw("a.csv.gz", gzip.compress(b"")), "is empty"),
        "UTF-16 without its mark": Case(text(PLAIN, encoding="utf-16-le"), "is not text"),
        "UTF-16 broken off": Case(
            raw("a.csv", PLAIN.encode("utf-16")[:-1]), "is marked as UTF-16 but is truncated"
        ),
        "a zero byte among text": Case(text(PLAIN.replace("red", "r\0d")), "is not text"),
        "a quotation mark never closed": Case(
            text('x,y\n1,0\n"2,1\n3,0\n'), "quotation mark in line 3 that is never closed"
        ),
        "text behind a quotation mark": Case(
            text('x,y\n"1"st,0\n"2"nd,1\n'), "text after a closing quotation mark in line 2"
        ),
        "a row too long": Case(text("x,y\n1,0\n2,1,5\n"), "3 cells in line 3, more than the 2"),
        "a row too short": Case(text("x,z,y\n1,2,0\n\n2,1\n"), "2 cells in line 4, fewer than"),
        "rows with a name and none for it": Case(
            text("x,y\na,1,0\nb,2,1\n"), "3 cells in line 2, more than the 2 columns"
        ),
        "a title above the header": Case(
            text("Our wines\n\nx,y\n1,0\n2,1\n"),
            "one column is 'Our wines': the first line must name",
        ),
        "two columns of one name": Case(text("x,x,y\n1,2,0\n2,3,1\n"), "2 columns named 'x'"),
        "names that differ by a blank": Case(text("x,x ,y\n1,2,0\n2,3,1\n"), "named 'x'"),
        "columns without names": Case(
            text(",,y\n1,2,0\n2,3,1\n"), r"2 columns without a name \(number 1, 2\)"
        ),
        "a broken line of JSON": Case(
            lines(ROWS[0], ROWS[1], '{"x": 1,, }', ROWS[2]), "is broken in line 3"
        ),
        "JSON broken off": Case(lines(*ROWS[:5], ROWS[5][:-9]), "is broken in line 6"),
        "lists in place of objects": Case(
            lines("[1, 2]", "[2, 3]"), r"holds '\[1, 2\]' in line 1"
        ),
        "CSV called JSON lines": Case(text(PLAIN, "a.jsonl"), "is broken in line 1"),
        "JSON lines of blanks": Case(text("\n \n", "a.jsonl"), "is empty"),
        "half a character in JSON": Case(
            lines('{"x": "a", "y": 1}', r'{"x": "\ud800", "y": 2}'),
            r"holds \\ud800 in line 2, which is half of a character",
        ),
        "half a character in a name": Case(
            lines(r'{"\udfff": 1, "y": 1}'), r"holds \\udfff in line 1"
        ),
        "half a character in a list": Case(
            lines(r'{"x": [["\ud800"]], "y": 1}'), r"holds \\ud800 in line 1"
        ),
        "JSON of a hundred thousand brackets": Case(
            lines(f'{{"x": {"[" * 100_000}{"]" * 100_000}}}'), r"line 1 \(nested too deeply\)"
        ),
        "JSON of forty brackets": Case(
            lines(f'{{"x": {"[" * 40}{"]" * 40}}}'), r"line 1 \(nested too deeply\)"
        ),
        "Parquet of a footer of no length": Case(
            damaged(parquet(), -8), "Parquet file is truncated or corrupt"
        ),
        "Arrow of a footer of no length": Case(
            damaged(arrow(), -10), "Arrow file is truncated or corrupt"
        ),
        "compressed twice": Case(
            raw("a.csv.gz", gzip.compress(gzip.compress(PLAIN.encode()))), "compressed twice"
        ),
        "gzip with noise behind": Case(
            raw("a.csv.gz", gzip.compress(PLAIN.encode()) + b"noise"), "truncated or corrupt"
        ),
        "a second part of gzip broken off": Case(
            raw("a.csv.gz", gzip.compress(b"x,y\n") + gzip.compress(b"1,0\n2,1\n")[:-9]),
            "truncated or corrupt",
        ),
        "zstd called CSV": Case(raw("a.csv", b"\x28\xb5\x2f\xfd\x04\0"), "with zstd; unpack"),
        "xz called CSV": Case(raw("a.csv", lzma.compress(PLAIN.encode())), "with xz; unpack"),
        "bzip2 called CSV": Case(raw("a.csv", bz2.compress(PLAIN.encode())), "with bzip2"),
        "too much in gzip": Case(
            raw("a.csv.gz", gzip.compress(bytes(70_000_000))),
            "unpacks to more than 200 times its compressed size, the limit for",
        ),
        "too much in parts of gzip": Case(
            raw("a.csv.gz", gzip.compress(bytes(1_000_000)) * 70), "more than 200 times its"
        ),
        "objects of nothing": Case(lines("{}", "{}"), "names columns but has no rows"),
        "columns parted by blanks": Case(
            text("size rating\n1 0\n2 1\n"), "its one column is 'size rating': the first line"
        ),
    }


def labelling() -> dict[str, Case]:
    """Tables whose labels, weights or groups cannot be what they are said to be."""
    many = {"x": list(range(500)), "y": [i / 7 for i in range(500)]}
    days = [date(2024, 1, 1 + i) for i in range(12)]
    return {
        "a misspelt target": Case(csv(), "no column 'Y_'; did you mean 'y'", "Y_"),
        "no such target": Case(csv(), "no column 'rating'; it has x, colour, w", "rating"),
        "one level": Case(csv(y=[3] * 12), "y has only the level 3; at least two"),
        "one level, in words": Case(csv(y=["ok"] * 12), "y has only the level 'ok'"),
        "one level, in HTML": Case(
            csv(y=["<script>alert(1)</script>"] * 12), "the level '<script>alert"
        ),
        "one level beside gaps": Case(csv(y=[None, 3] * 6), "y has only the level 3"),
        "no label at all": Case(csv(y=[None] * 12), "y is empty in every row"),
        "one label": Case(csv(y=[2] + [None] * 11), "1 row with y; two are needed"),
        "one row": Case(text("x,y\n1,0\n"), "has 1 row with y; two are needed"),
        "a measurement": Case(csv(many), "y has 500 different values in 500 rows, too many"),
        "remarks in place of levels": Case(
            csv({"x": list(range(40)), "y": [f"remark {i}" for i in range(40)]}),
            "y has 40 different values in 40 rows",
        ),
        "dates as levels": Case(csv(y=[str(day) for day in days]), "y holds dates; labels"),
        "true dates as levels": Case(parquet(y=days), "y holds Date values; labels are"),
        "lists as levels": Case(parquet(y=[[1], [2]] * 6), "y holds List.* values; labels are"),
        "numbers and words as levels": Case(
            csv(y=["1", "2", "3", "good"] * 3), r"both numbers \(1, 2, 3\) and words \('good'\)"
        ),
        "numbers and words in JSON": Case(
            lines('{"x": 1, "y": 1}', '{"x": 2, "y": "bad"}', '{"x": 3, "y": 2}'),
            r"both numbers \(1, 2\) and words \('bad'\)",
        ),
        "levels that differ in case": Case(
            csv(y=["good", "Good", "bad"] * 4), "both 'good' and 'Good', which differ only in"
        ),
        "levels that differ in blanks": Case(
            csv(y=["good", "good ", "bad"] * 4), "both 'good' and 'good ', which differ only"
        ),
        "an infinite label": Case(csv(y=["inf", "1", "2"] * 4), "y is infinite in row 1"),
        "the target among the features": Case(
            csv(), "y is the target; it can be neither", options={"features": ["x", "y"]}
        ),
        "the target left out": Case(csv(), "y is the target; it can", options={"drop": ["y"]}),
        "the target as weights": Case(csv(), "both target and w", options={"weights": "y"}),
        "the target as group": Case(csv(), "both target and group", options={"group": "y"}),
        "weights as group": Case(
            csv(), "w is both weights and group", options={"weights": "w", "group": "w"}
        ),
        "weights among the features": Case(
            csv(), "w is the weights", options={"weights": "w", "features": ["x", "w"]}
        ),
        "no such weights": Case(csv(), "no column 'weight'", options={"weights": "weight"}),
        "no such group": Case(csv(), "did you mean 'site'", options={"group": "sites"}),
        "negative weights": Case(
            csv(w=[1, -2] * 6), "w holds -2; weights are numbers", options={"weights": "w"}
        ),
        "weights in words": Case(
            csv(w=["much", "little"] * 6), "w holds 'much'; weights", options={"weights": "w"}
        ),
        "weights of nothing": Case(
            csv(w=[0] * 12), "w is 0 in every", options={"weights": "w"}
        ),
        "an infinite weight": Case(
            csv(w=["1", "inf"] * 6), "w is infinite in row 2", options={"weights": "w"}
        ),
        "no weight at all": Case(csv(w=[None] * 12), "w is empty", options={"weights": "w"}),
        "one group": Case(
            csv(site=["a"] * 12), "site has only the group a; two", options={"group": "site"}
        ),
        "no group at all": Case(
            csv(site=[None] * 12), "site is empty", options={"group": "site"}
        ),
    }


def learning() -> dict[str, Case]:
    """Tables with nothing to learn from, or more than can be meant."""
    alone = {"y": [0, 1, 2] * 4}
    return {
        "no such feature": Case(
            csv(), "no column 'color'; did you mean 'colour'", options={"features": ["color"]}
        ),
        "no such column to leave out": Case(csv(), "no column 'id'", options={"drop": ["id"]}),
        "features without names": Case(
            csv(), "names no column; name one", options={"features": [""]}
        ),
        "a target alone": Case(csv(alone), "No column is left to predict y from"),
        "constant features alone": Case(
            csv({**alone, "a": [7] * 12, "b": ["u"] * 12}),
            r"one value only: a \(7\), b \('u'\)",
        ),
        "an empty feature alone": Case(
            csv({**alone, "a": [None] * 12}), "left out a, which is empty"
        ),
        "dates alone": Case(
            csv({**alone, "day": [f"{i + 1}.3.2024" for i in range(12)]}),
            "day, which holds dates",
        ),
        "names alone": Case(
            csv({**alone, "name": [f"n{i}" for i in range(12)]}), "in nearly every row, like a"
        ),
        "lists alone": Case(
            parquet(x=[[1]] * 12, w=None, site=None, colour=None), "No column is"
        ),
        "everything left out": Case(csv(), "is left", options={"drop": [*GOOD][:-1]}),
        "a feature of 5000 digits": Case(
            csv(x=["1" * 5000, "2", "3"] * 4), "x is infinite in row 1"
        ),
        "a feature of 400 digits in JSON": Case(
            lines('{"x": 1.5, "y": 1}', f'{{"x": {"9" * 400}, "y": 2}}', '{"x": 2, "y": 1}'),
            "x is infinite in row 2",
        ),
        "a feature of 5000 digits in JSON": Case(
            lines('{"x": 15, "y": 1}', f'{{"x": {"9" * 5000}, "y": 2}}', '{"x": 2, "y": 1}'),
            "x is infinite in row 2",
        ),
        "a feature whose square is infinite": Case(
            csv(x=[1.0, -1e200, 2.0] * 4), r"x is -1e\+200 in row 2, too large to compute with"
        ),
        "an infinite feature": Case(csv(x=["1", "2", "-inf"] * 4), "x is infinite in row 3"),
        "ten thousand columns": Case(
            csv({**WIDE, "y": [0, 1, 1]}), "10,000 columns to learn from and only 3 rows; is it"
        ),
    }


def _wide_integers() -> dict[str, Case]:
    """Integers of 128 bits, which polars 1 reads as floating-point numbers."""
    if int(pl.__version__.partition(".")[0]) < 2:
        return {}
    return {
        "integers of 20 and 39 digits": Case(
            text(f"x,y\n{'9' * 20},0\n{'1' * 39},1\n7,1\n"),
            values={"x": [10**20 - 1, int("1" * 39), 7]},
        ),
    }


def readable() -> dict[str, Case]:
    """Tables that look broken and are not: each with what must have been read."""
    good = {"x": GOOD["x"], "colour": GOOD["colour"], "y": GOOD["y"]}
    prices = {"x": [3.14, 2.5, 10.0, 1234.5], "y": [0, 1, 2, 1]}
    cafes = {"café": ["crème", "thé", "thé", "crème"], "y": [0, 1, 1, 2]}
    decimal = "x;y\n3,14;0\n2,5;1\n10;2\n1.234,5;1\n"
    accents = "café,y\ncrème,0\nthé,1\nthé,1\ncrème,2\n"
    html = {"x": [1, 2, 3], "y": ["<b>low</b>", "<script>", "<b>low</b>"]}
    return {
        "a byte-order mark": Case(text(PLAIN, encoding="utf-8-sig"), values=good),
        "UTF-16": Case(text(PLAIN, encoding="utf-16"), values=good),
        "Latin-1": Case(
            text(accents, encoding="latin-1"), "read as Windows-1252", values=cafes
        ),
        "semicolons": Case(text(PLAIN.replace(",", ";")), values=good),
        "tabs in a CSV file": Case(text(PLAIN.replace(",", "\t")), values=good),
        "bars": Case(text(PLAIN.replace(",", "|")), values=good),
        "decimal commas": Case(text(decimal), "commas in x as decimal points", values=prices),
        "thousands separators": Case(
            text('x,y\n"1,234",0\n12,1\n"1,000,000.5",1\n'),
            "commas in x as thousands separators",
            values={"x": [1234.0, 12.0, 1000000.5]},
        ),
        "separators within quotes": Case(
            text('"a;b","c,d",y\n"1;2;3","u,v",0\n"4;5;6","w, ""x""",1\n"7;8;9","u,v",1\n'),
            values={"a;b": ["1;2;3", "4;5;6", "7;8;9"], "c,d": ["u,v", 'w, "x"', "u,v"]},
        ),
        "a line break within quotes": Case(
            text('x,note,y\n1,"a\nb",0\n2,"a\nb",1\n3,c,1\n'),
            values={"note": ["a\nb", "a\nb", "c"]},
        ),
        "quotes behind a blank": Case(
            text('x, note, y\n1, "u, v", 0\n2, "w", 1\n3, "w", 1\n'),
            values={"note": ["u, v", "w", "w"], "y": [0, 1, 1]},
        ),
        "line ends of Windows": Case(text(PLAIN.replace("\n", "\r\n")), values=good),
        "line ends of old Macs": Case(text(PLAIN.replace("\n", "\r")), values=good),
        "no line end behind the last row": Case(text(PLAIN.rstrip("\n")), values=good),
        "blank lines below": Case(text(PLAIN + "\n\n,,,,\n \n"), values=good),
        "blank columns beside": Case(
            text("".join(f"{line},,\n" for line in PLAIN.splitlines())), values=good
        ),
        "compressed JSON lines": Case(
            raw("a.jsonl.gz", gzip.compress("\n".join(ROWS).encode())), values=good
        ),
        "integers of 45 digits": Case(
            text(f"x,y\n{'9' * 45},0\n-{'1' * 45},1\n7,1\n"),
            "Rounded the integers of 39 and more digits in x.",
            values={"x": [1e45, -float("1" * 45), 7.0]},
        ),
        **_wide_integers(),
        "integers of 45 digits in JSON": Case(
            lines('{"x": 1, "y": 1}', f'{{"x": {"9" * 45}, "y": 2}}', '{"x": 3, "y": 2}'),
            values={"x": [1.0, 1e45, 3.0]},
        ),
        "a first cell that begins as zlib does": Case(
            text("x,y\nx^2,0\nx^3,1\nx^2,1\n"), values={"x": ["x^2", "x^3", "x^2"]}
        ),
        "digits of other scripts": Case(
            text("x,z,y\n\u0661,\uff11,0\n\u0662,\uff12,1\n\u0661,\uff11,1\n"),
            values={"x": ["\u0661", "\u0662", "\u0661"], "y": [0, 1, 1]},
        ),
        "two parts of gzip": Case(
            raw("a.csv.gz", gzip.compress(b"x,y\n1,0\n") + gzip.compress(b"2,1\n4,1\n")),
            values={"x": [1, 2, 4], "y": [0, 1, 1]},
        ),
        "truth values and numbers in JSON": Case(
            lines('{"x": true, "y": 1}', '{"x": 2, "y": 2}', '{"x": 2, "y": 2}'),
            values={"x": ["True", "2", "2"]},
        ),
        "levels in HTML": Case(csv(html), values=html),
        "a folder with the marks of Spark": Case(
            folder_of(parquet(), parquet(), _SUCCESS=""), values={"y": GOOD["y"] * 2}
        ),
        "a folder of whole numbers and floats": Case(
            folder_of(parquet(), parquet(x=list(range(12)))),
            values={"x": GOOD["x"] + [float(i) for i in range(12)]},
        ),
    }


CASES: dict[str, Case] = {**reading(), **labelling(), **learning(), **readable()}
