"""Damaged and crafted model files end in a refusal or in a model that works.

Saves small models of every estimator, changes arrays, scalars and the structure of the files,
and loads them in child processes. Each case must end in a ``ModelFileError``, or in a model
that answers rows of the right width in the right shape with finite probabilities. A signal, a
hang, another error or many warnings are failures.

    python benchmarks/fuzz_model_files.py --cases 20000 --log fuzz.jsonl

A case is a number: ``--first 1234 --cases 1`` runs one again. With ``--log`` a later run goes
on after the last case in the log.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

HANG = 60  # seconds without an answer, on a busy machine
STORM = 20  # warnings from one case
# A changed category or marker of missing cells makes a valid model of other tables than ours.
OTHER_VALUES = ("Found unknown categories", "does not accept missing values encoded as NaN")

# ---------------------------------------------------------------- valid files


def data():
    """Inputs, ranks, pairs with answers, and rankings of a small problem."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(14, 3))
    utility = X[:, 0] + 0.5 * X[:, 1]
    y = np.digitize(utility, np.quantile(utility, [0.35, 0.7]))
    pairs = np.array([rng.choice(14, 2, replace=False) for _ in range(20)])
    gap = utility[pairs[:, 0]] - utility[pairs[:, 1]]
    orders = np.argsort(np.argsort(X @ rng.normal(size=(3, 4)), axis=1), axis=1) + 1.0
    return X, y, pairs, gap, orders


def models():
    """Fitted models, each with rows to ask it about."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVR, NuSVR
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    import ordinality as o
    from ordinality import kernels as k

    X, y, pairs, gap, orders = data()
    words = np.array(["low", "mid", "top"])[y]
    new, asked = X[:5] + 0.1, pairs[:5]
    fixed = {"optimizer": None}
    boost = {"n_estimators": 3, "calibration_folds": 2}
    ordinal = {
        "gp": o.OrdinalGP(**fixed),
        "gp laplace": o.OrdinalGP(inference="laplace", link="logit", **fixed),
        "gp ard": o.OrdinalGP("ard", criterion="loo", decision="median", **fixed),
        "gp sum": o.OrdinalGP(2.0 * k.Gaussian(np.ones(3)) + k.Linear() * k.Matern(), **fixed),
        "gp costs": o.OrdinalGP(decision=1.0 - np.eye(3), class_weight="balanced", **fixed),
        "plsor": o.LeastSquaresOrdinalGP(**fixed),
        "regression": o.OrdinalRegression("probit", nominal=[1], scale=[0]),
        **{f"boost {name}": o.OrdinalBoost(learner=name, **boost)
           for name in ("perceptron", "sigmoid", "stump", "tree")},
        "boost trees": o.OrdinalBoost(learner=DecisionTreeClassifier(max_depth=2), **boost),
        "boost lines": o.OrdinalBoost(learner=LogisticRegression(), **boost),
        "rankboost": o.RankBoost(**boost),
        "sets": o.OrdinalConformal(LogisticRegression(), calibration_folds=2),
        "sets split": o.OrdinalConformal(o.OrdinalGP(**fixed), method="split"),
        "stack": o.OrdinalStack(
            [("svm", o.OrdinalSVM()), ("lines", LogisticRegression())], cv=2
        ),
        "trees": o.OrdinalTrees(3, min_child_samples=2),
        "trees all": o.OrdinalTrees(
            3, min_child_samples=2, scale=True, nonparallel=True, validation_fraction=None
        ),
        "svm": o.OrdinalSVM(calibration_folds=2),
        "svm linear": o.OrdinalSVM(kernel="linear", constraints="explicit"),
        "svm poly": o.OrdinalSVM(kernel="poly", calibration_folds=None),
        "svm search": o.OrdinalSVMCV(log_C=(0, 1), log_kappa=(-1, 0), fine_steps=0, cv=2),
        "rounded gp": o.RoundedRegressor(),
        "rounded ridge": o.RoundedRegressor(Ridge()),
        "rounded svr": o.RoundedRegressor(SVR()),
        "rounded nusvr": o.RoundedRegressor(make_pipeline(StandardScaler(), NuSVR())),
        "rounded tree": o.RoundedRegressor(DecisionTreeRegressor(max_depth=3)),
        "rounded forest": o.RoundedRegressor(RandomForestRegressor(2, random_state=0)),
        "rounded stages": o.RoundedRegressor(GradientBoostingRegressor(n_estimators=2)),
        "pipeline": make_pipeline(StandardScaler(), o.OrdinalGP(**fixed)),
    }  # fmt: skip
    for name, model in ordinal.items():
        yield name, model.fit(X, y), new
    gram = k.Gaussian(1.0)(X)
    yield "gp gram", o.OrdinalGP("precomputed", **fixed).fit(gram, words), gram[:5]
    yield "svm gram", o.OrdinalSVM(kernel="precomputed").fit(gram, y), gram[:5]
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    imputed = make_pipeline(o.LowRankImputer(rank=1), o.OrdinalGP(**fixed))
    yield "imputer", imputed.fit(holes, y), holes[:5]
    answers, tied = np.sign(gap).astype(int), np.where(np.abs(gap) < 0.4, 0, np.sign(gap))
    yield "items", o.PreferenceGP(14, **fixed).fit(pairs, answers), asked
    yield "features", o.PreferenceGP(X, **fixed).fit(pairs, answers), asked
    yield "ties", o.PreferenceGP(X, ties=True, inference="ep", **fixed).fit(pairs, tied), asked
    judged = o.PreferenceGP(X, **fixed)
    yield "judges", judged.fit(pairs, answers, judges=np.arange(20) % 2), asked
    rated = o.PreferenceGP(X, **fixed).fit(pairs, answers, ratings=(np.arange(14), y))
    yield "rated", rated, asked
    yield "preference svm", o.PreferenceSVM(X).fit(pairs, answers), asked
    grid = {"log_C": (0, 1), "log_kappa": (0, 0), "fine_steps": 0, "cv": 2}
    yield "preference search", o.PreferenceSVMCV(X, **grid).fit(pairs, answers), asked
    yield "labels", o.LabelRankingGP(**fixed).fit(X, orders), new
    yield "classes", o.LabelRankingGP(graph="multiclass", **fixed).fit(X, words), new
    yield "label svm", o.LabelRankingSVM().fit(X, orders), new
    yield "label search", o.LabelRankingSVMCV(**grid).fit(X, orders), new
    yield from tables(X, words, ColumnTransformer, SimpleImputer, OneHotEncoder, make_pipeline)


def tables(X, words, ColumnTransformer, SimpleImputer, OneHotEncoder, make_pipeline):
    """Pipelines that begin with a data frame."""
    import narwhals
    import pandas

    import ordinality as o

    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": list("uvwx" * 3 + "uv")})
    frame.loc[2, "a"] = np.nan
    parts = [("one", OneHotEncoder(min_frequency=2, sparse_output=False), ["c"]),
             ("two", SimpleImputer(add_indicator=True), ["a", "b"])]  # fmt: skip
    steps = ColumnTransformer(parts), o.OrdinalGP(optimizer=None, levels=["low", "mid", "top"])
    yield "table", make_pipeline(*steps).fit(frame, words), frame[:5]
    rank = np.unique(words, return_inverse=True)[1]
    table = o.tables.Table(narwhals.from_native(frame.assign(y=rank)))
    task = o.tables.features_and_target(table, "y")
    model = make_pipeline(task.encoder, o.OrdinalSVM(calibration_folds=2))
    yield "encoder", model.fit(task.frame, rank), task.frame[:5]


def write_corpus(folder):
    """Save every model; what to ask it goes into a second file."""
    import pickle

    from ordinality import persist

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, (name, model, rows) in enumerate(models()):
            persist.save(model, folder / f"{i:02d}.skops", summary={"name": name})
            # Written and read by this script alone, in a folder of its own.
            (folder / f"{i:02d}.rows").write_bytes(pickle.dumps(rows))


def read_corpus(folder):
    """Name, members and rows of every model."""
    import pickle

    corpus = []
    for file in sorted(folder.glob("*.skops")):
        with zipfile.ZipFile(file) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = json.loads(members["ordinality.json"])["summary"]["name"]
        corpus.append((name, members, pickle.loads(file.with_suffix(".rows").read_bytes())))
    return corpus


# ---------------------------------------------------------------- changes


def _flat(change):
    """A change of one entry, for arrays that have entries."""

    def changed(a, rng):
        a = a.copy()
        if a.size and a.dtype.kind in "iuf":
            with np.errstate(all="ignore"):
                value = np.array(change(a, rng)).astype(a.dtype)  # wraps, and does not refuse
                a.reshape(-1)[rng.integers(a.size)] = value
        return a

    return changed


def _extreme(a, rng):
    whole = a.dtype.kind in "iu"
    choices = [20_000, -1, -7, np.iinfo(a.dtype).max, a.max() + 1] if whole else [
        1e308, -1e308, 1e100, 1e-308, np.nan, np.inf, -np.inf, -1.0, 0.0]  # fmt: skip
    return choices[rng.integers(len(choices))]


def _cast(a, rng):
    kinds = ["f4", "f8", ">f8", "i4", "i8", "u1", "?", "c16", "U3", "S2", "M8[s]", "f2"]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = kinds[rng.integers(len(kinds))]
        return a.astype("S2" if a.dtype.kind == "U" else kind)


ARRAY_CHANGES = {
    "short": lambda a, rng: a[: rng.integers(len(a))] if a.ndim and len(a) else a[None],
    "one row": lambda a, rng: a[:1] if a.ndim else a,
    "narrow": lambda a, rng: a[..., :-1] if a.ndim else a,
    "long": lambda a, rng: np.concatenate([a, a]) if a.ndim else a,
    "empty": lambda a, rng: np.zeros(0, a.dtype),
    "no rows": lambda a, rng: np.zeros((0, *a.shape[1:]), a.dtype),
    "huge": lambda a, rng: np.zeros(10**6, a.dtype),
    "extreme": _flat(_extreme),
    "extremes": lambda a, rng: _flat(_extreme)(_flat(_extreme)(a, rng), rng),
    "all": lambda a, rng: (
        np.full_like(a, _extreme(a, rng)) if a.dtype.kind in "if" and a.size else a
    ),
    "negative": lambda a, rng: -a if a.dtype.kind in "if" else a,
    "random": _flat(lambda a, rng: rng.integers(-50, 50)),
    "cast": _cast,
    "transposed": lambda a, rng: np.asfortranarray(a) if rng.random() < 0.5 else a.T,
    "axis": lambda a, rng: a[None],
    "flat": lambda a, rng: a.reshape(-1),
    "scalar": lambda a, rng: a.reshape(-1)[:1].reshape(()) if a.size else a,
    "shuffled": lambda a, rng: (
        rng.permuted(a, axis=0) if a.ndim and a.dtype.names is None else a
    ),
    "zero": lambda a, rng: np.zeros_like(a),
}
SCALARS = [
    None, True, False, -1, 0, 1, 2, 7, 10**6, 2**62, 10**30, -0.5, 1e308, 1e-308, float("nan"),
    float("inf"), "", "text", "rbf", "precomputed", [], {}, [1, [2]], {"a": 1},
]  # fmt: skip


def _nodes(schema):
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("__loader__"), str):
                yield value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _saved(a):
    buffer = io.BytesIO()
    np.save(buffer, a, allow_pickle=True)
    return buffer.getvalue()


def change_array(members, rng):
    """Change one array, or exchange two."""
    # In the order of the schema: the names differ from one run to the next.
    place = members["schema.json"].find
    names = sorted((n for n in members if n.endswith(".npy")), key=lambda n: place(n.encode()))
    name = names[rng.integers(len(names))]
    if rng.random() < 0.1:
        other = names[rng.integers(len(names))]
        members[name], members[other] = members[other], members[name]
        return "exchanged"
    try:
        a = np.load(io.BytesIO(members[name]))
    except ValueError:  # changed into objects before
        return "none"
    if rng.random() < 0.03:
        members[name] = _saved(np.array([{}, None], dtype=object))
        return "object"
    how = sorted(ARRAY_CHANGES)[rng.integers(len(ARRAY_CHANGES))]
    if a.dtype.names:  # nodes of a tree
        field = a.dtype.names[rng.integers(len(a.dtype.names))]
        a = a.copy()
        if how in ("short", "one row", "long", "empty", "no rows", "axis", "zero"):
            a = ARRAY_CHANGES[how](a, rng)
        else:
            a[field] = _flat(_extreme)(a[field], rng)
    else:
        a = ARRAY_CHANGES[how](a, rng)
    members[name] = _saved(a)
    return how


def change_scalar(members, rng):
    """Change one scalar of the schema."""
    schema = json.loads(members["schema.json"])
    nodes = [node for node in _nodes(schema) if node["__loader__"] == "JsonNode"]
    node = nodes[rng.integers(len(nodes))]
    node["content"] = json.dumps(SCALARS[rng.integers(len(SCALARS))])
    members["schema.json"] = json.dumps(schema).encode()
    return "scalar of the schema"


def change_structure(members, rng):
    """Delete, rename, add or exchange attributes, or exchange types."""
    schema = json.loads(members["schema.json"])
    kinds = ("ObjectNode", "DictNode", "TupleNode", "ListNode")
    objects = [node for node in _nodes(schema) if node["__loader__"] in kinds]
    node = objects[rng.integers(len(objects))]
    content = node.get("content")
    inner = content["content"] if node["__loader__"] == "ObjectNode" and content else content
    how = ("delete", "rename", "hide", "exchange", "type")[rng.integers(5)]
    if how == "type":
        other = objects[rng.integers(len(objects))]
        node["__class__"], node["__module__"] = other["__class__"], other["__module__"]
    elif isinstance(inner, dict) and inner:
        keys = sorted(inner)
        key, other = keys[rng.integers(len(keys))], keys[rng.integers(len(keys))]
        if how == "delete":
            del inner[key]
        elif how == "exchange":
            inner[key], inner[other] = inner[other], inner[key]
        else:
            inner["predict" if how == "hide" else key + "x"] = inner.pop(key)
    elif isinstance(inner, list) and inner:
        del inner[rng.integers(len(inner))]
    members["schema.json"] = json.dumps(schema).encode()
    return f"structure: {how}"


CHANGES = change_array, change_scalar, change_structure


def crafted(members, rng):
    """The members of a changed file, and what was changed."""
    members, told = dict(members), []
    for _ in range(1 + (rng.random() < 0.25)):
        change = (change_array, change_scalar, change_structure)[
            rng.choice(3, p=(0.7, 0.2, 0.1))
        ]
        told.append(change(members, rng))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue(), ", ".join(told)


# ---------------------------------------------------------------- one case


def ask(model, rows):
    """Everything a loaded model is asked; raises if an answer is not what it should be."""
    labels = len(getattr(model, "classes_", ()))
    ranks = hasattr(model, "scores")
    shape = (5, labels) if ranks else (5,)
    assert np.shape(model.predict(rows)) == shape, "predict has a wrong shape"
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(rows)
        assert proba.shape == (5, labels), "predict_proba has a wrong shape"
        assert np.all(np.isfinite(proba)), "probabilities are not finite"
        assert np.allclose(proba.sum(axis=1), 1.0, atol=1e-6), "probabilities do not sum to one"
    # Numbers that are valid one by one may leave nothing to compute; a clear error says so.
    with contextlib.suppress(FloatingPointError, np.linalg.LinAlgError):
        _ask_further(model, rows)


def _ask_further(model, rows):
    """What reaches the other compiled loops of a model."""
    for name in ("decision_function", "predict_latent", "predict_latent", "predict_top_proba",
                 "predict_pairs_proba", "scores"):  # fmt: skip
        if hasattr(model, name):
            getattr(model, name)(rows)
    of_items = hasattr(model, "utility")
    for name in ("utility", "rank", "log_evidence"):
        if hasattr(model, name):
            getattr(model, name)()
    if hasattr(model, "posterior"):
        model.posterior() if of_items else model.posterior(rows, joint=False)
    if hasattr(model, "predict_choice"):
        model.predict_choice([0, 1, 2])
    if hasattr(model, "update"):
        judge = getattr(model, "judges_", None)
        named = {} if judge is None else {"judges": [judge[0]] * 5}
        model.update(rows, **named)


def outcome(raw, rows, path):
    """How one file ended: refused, works, works for other values, or what went wrong."""
    from ordinality import persist

    path.write_bytes(raw)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = persist.load(path)
        except persist.ModelFileError:
            return "refused"
        except Exception as error:
            return f"load raised {type(error).__name__}: {error}"
        try:
            with np.errstate(all="ignore"):
                ask(model, rows)
        except Exception as error:
            if any(reason in str(error) for reason in OTHER_VALUES):
                return "works for other values"
            return f"asking raised {type(error).__name__}: {error}"
    return f"{len(caught)} warnings" if len(caught) > STORM else "works"


def child(folder, seed, first, last):
    """Run cases and report each as it starts and as it ends, a line of JSON each."""
    corpus = read_corpus(folder)
    path = folder / "cases" / f"{os.getpid()}.skops"
    path.parent.mkdir(exist_ok=True)
    for case in range(first, last):
        rng = np.random.default_rng([seed, case])
        name, members, rows = corpus[case % len(corpus)]
        raw, told = crafted(members, rng)
        start = {"case": case, "model": name, "change": told}
        print(json.dumps(start), flush=True)
        print(json.dumps({**start, "outcome": outcome(raw, rows, path)}), flush=True)


# ---------------------------------------------------------------- many cases


def run(folder, seed, first, last):
    """Outcomes of cases ``first`` to ``last``, from children that may die."""
    while first < last:
        command = [sys.executable, __file__, "--child", str(folder), str(seed), str(first)]
        with subprocess.Popen(
            [*command, str(last)], stdout=subprocess.PIPE, text=True
        ) as process:
            lines = queue.Queue()
            threading.Thread(target=_feed, args=(process.stdout, lines), daemon=True).start()
            begun = None
            while True:
                try:
                    line = lines.get(timeout=HANG)
                except queue.Empty:
                    process.kill()
                    yield {**begun, "outcome": f"no answer within {HANG} s"}
                    break
                if line is None:
                    if process.wait() != 0:
                        if begun is None:
                            raise RuntimeError("a child ended before its first case")
                        yield {**begun, "outcome": f"died with {process.returncode}"}
                    break
                begun = json.loads(line)
                if "outcome" in begun:
                    yield begun
                first = begun["case"] + 1


def _feed(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put(None)


def sound(outcome):
    """Whether a case ended as it should."""
    return outcome in ("refused", "works", "works for other values")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help="JSON lines; a later run goes on from its end")
    args = parser.parse_args()
    text = args.log.read_text(encoding="utf-8") if args.log and args.log.exists() else ""
    done = [json.loads(line) for line in text.splitlines()]
    first = max([args.first, *(case["case"] + 1 for case in done)])
    counts, begun = Counter(_kind(case["outcome"]) for case in done), time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_corpus(folder)
        for found in run(folder, args.seed, first, args.first + args.cases):
            counts[_kind(found["outcome"])] += 1
            if args.log:
                with args.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(found) + "\n")
            if not sound(found["outcome"]):
                print(json.dumps(found), flush=True)
            if found["case"] % 1000 == 999:
                spent = time.monotonic() - begun
                print(f"{found['case'] + 1} cases, {spent:.0f} s: {dict(counts)}", flush=True)
    print(dict(counts))
    sys.exit(any(not sound(kind) for kind in counts))


def _kind(outcome):
    return outcome if sound(outcome) else outcome.partition(":")[0]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(Path(sys.argv[2]), *(int(word) for word in sys.argv[3:]))
    else:
        main()
