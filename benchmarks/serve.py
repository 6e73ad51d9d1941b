"""Whether `ordinality serve` keeps its promises: each bar is a command that exits 0 or 1.

    python benchmarks/serve.py BAR [--seconds S]      BAR: one of those below, or "all"

    start       the first question on the screen: cold and second start
    latency     30 judges, one answer each in 3 s, 1000 items, 5000 answers there
    throughput  100 judges at once
    snapshot    how soon an answer is in the snapshot, and a refit after a doubling
    kill        kill -9 of server and model process, 20 times each, under answers
    pairs       no pair open for two judges, none twice to one judge but repeats
    equal       page, `rank` on the export and the Python API give one ranking
    fold        answers folded in against an update
    abuse       two hundred requests a second of one judge, replays, a large body
    large       10,000 items, 50 judges

All load goes to a server of this script on 127.0.0.1, for a bounded time. The numbers of the
bars are for two cores that are otherwise quiet; the load that the machine has from others is
printed with them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

PROGRAM = [sys.executable, "-c", "from ordinality.cli import main; main()"]
NOISE = 0.7  # of a simulated judge, in units of the spread of items


# ---------------------------------------------------------------- a server, and its clients


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Server:
    """``ordinality serve`` in a folder, with names as items."""

    def __init__(self, folder: Path, items: int, judges: int, port: int = 0) -> None:
        self.folder, self.port = folder, port
        self.names = [f"item {k:05d}" for k in range(items)]
        rng = random.Random(0)
        self.truth = {name: rng.gauss(0.0, 1.0) for name in self.names}
        (folder / "films.txt").write_text("\n".join(self.names))
        lines = ["name", *(f"judge {k:03d}" for k in range(judges))]
        (folder / "judges.csv").write_text("\n".join(lines))
        self.links: list[str] = []

    @property
    def store(self) -> Path:
        return self.folder / "films.ordinality"

    def start(self) -> float:
        """Seconds until it says where it is."""
        began = time.monotonic()
        self.process = subprocess.Popen(
            [*PROGRAM, "serve", "films.txt", "--judges",
             "judges.csv", "--port", str(self.port), "--no-open", "--json"],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        said = json.loads(self.process.stdout.readline())
        self.address, self.admin = said["address"], said["admin"]
        self.links = list(said.get("judges", {}).values()) or self.links
        return time.monotonic() - began

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        self.process.stdout.close()

    def answers(self) -> int:
        with contextlib.closing(sqlite3.connect(self.store)) as db:
            return int(
                db.execute("select count(*) from answer where kind='pair'").fetchone()[0]
            )

    def health(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.address}/healthz", timeout=10) as page:
            found: dict[str, Any] = json.load(page)
            return found

    def model(self) -> int:
        """Number of the model process."""
        return int((self.health().get("model") or {}).get("process", 0))

    def kill_model(self, number: int) -> None:
        """Kill the model process, if that is what has this number."""
        if number > 0 and b"model_process" in Path(f"/proc/{number}/cmdline").read_bytes():
            os.kill(number, signal.SIGKILL)

    def summary(self) -> dict[str, Any]:
        """The newest snapshot, from the store itself."""
        with contextlib.closing(sqlite3.connect(self.store)) as db:
            rows = "select summary_json from snapshot order by id desc limit 1"
            row = db.execute(rows).fetchone()
            return json.loads(row[0]) if row else {}


@contextlib.contextmanager
def served(items: int, judges: int, before: int = 0, port: int = 0) -> Iterator[Server]:
    """A server on a new store that has some answers."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), items, judges, port)
        if before:
            fill(server, judges, before)
        server.start()
        try:
            yield server
        finally:
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                server.stop()


def fill(server: Server, judges: int, count: int) -> None:
    """Answers to random pairs, written at once: the only thing here that is not a page."""
    import sqlalchemy as sa

    from ordinality.panel.managed_store import ManagedStore, NewItem
    from ordinality.panel.store import answer, moment, queue, shown

    rng, now = random.Random(1), moment()
    with ManagedStore(server.store) as store:
        study = store.create_study("films", {}, settings={"seed": 1, "top": 5})
        store.add(study.id, [NewItem(name, {}) for name in server.names])
        number = {each.key: each.id for each in store.study("films").items}
        who = [store.judge(study.id, f"judge {k:03d}") for k in range(judges)]
        pairs = [rng.sample(server.names, 2) for _ in range(count)]
        sides = [
            {"study_id": study.id, "judge_id": who[k % judges], "left_id": number[a],
             "right_id": number[b]}
            for k, (a, b) in enumerate(pairs)
        ]  # fmt: skip
        with store._writing() as db:
            db.execute(sa.delete(queue))
            extra = {"purpose": "start", "extra_json": {}, "shown_at": now, "answered_at": now}
            db.execute(sa.insert(shown), [each | extra for each in sides])
            rows = [
                each | {"shown_id": k + 1, "kind": "pair", "client_key": f"shown/{k + 1}",
                        "value": float(said(server, a, b, rng)), "received_at": now,
                        "seconds": 2.0}
                for k, (each, (a, b)) in enumerate(zip(sides, pairs, strict=True))
            ]  # fmt: skip
            db.execute(sa.insert(answer), rows)


def said(server: Server, left: str, right: str, rng: Any) -> int:
    gap = server.truth[left] - server.truth[right] + NOISE * rng.gauss(0.0, 1.0)
    return 1 if gap > 0 else -1


class Client:
    """A browser of a few lines, so that its own work does not count as the server's."""

    def __init__(self, server: Server, link: str) -> None:
        self.server, self.path, self.cookie = server, urlsplit(link).path, ""
        self.wire: Any = None

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any, float]:
        """Status, JSON and seconds of a request."""
        address = urlsplit(self.server.address)
        if self.wire is None:
            self.wire = await asyncio.open_connection(address.hostname, address.port)
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {address.netloc}\r\nCookie: {self.cookie}\r\n"
            "Accept: application/json\r\nSec-Fetch-Site: same-origin\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        reader, writer = self.wire
        began = time.perf_counter()
        try:
            writer.write(head.encode() + content)
            await writer.drain()
            raw = (await reader.readuntil(b"\r\n\r\n")).decode()
            size = re.search(r"content-length: (\d+)", raw, re.I)
            found = await reader.readexactly(int(size[1])) if size else b""
        except (OSError, asyncio.IncompleteReadError) as problem:
            self.wire = None
            writer.close()
            raise ConnectionError from problem
        if cookie := re.search(r"set-cookie: ([^;]*)", raw, re.I):
            self.cookie = cookie[1]
        seconds = time.perf_counter() - began
        is_json = re.search(r"content-type: application/json", raw, re.I)
        return int(raw.split()[1]), json.loads(found) if is_json else None, seconds

    async def enter(self) -> Any:
        """Open the link; the first question."""
        await self.ask("GET", self.path)
        return (await self.ask("GET", "/s/films"))[1]

    async def answer(self, page: Any, rng: Any) -> tuple[int, Any, float]:
        """Answer as a noisy judge would."""
        left, right = (card["title"] for card in page["cards"])
        act = "left" if said(self.server, left, right, rng) > 0 else "right"
        sent = {"form": page["form"], "shown": page["shown"], "act": act, "seconds": 2.0}
        return await self.ask("POST", "/s/films/answer", sent)

    def close(self) -> None:
        if self.wire is not None:
            self.wire[1].close()
            self.wire = None


async def load(server: Server, pause: float, seconds: float) -> tuple[list[float], Counter]:
    """All judges answer for some time; latencies and status codes."""
    until, taken, codes = time.monotonic() + seconds, [], Counter()

    async def judge(link: str) -> None:
        client, rng = Client(server, link), random.Random(link)
        page = await client.enter()
        while time.monotonic() < until and page.get("page") == "question":
            await asyncio.sleep(rng.expovariate(1.0 / pause) if pause else 0.0)
            code, found, each = await client.answer(page, rng)
            codes[code] += 1
            taken.append(each)
            if code == 200:
                page = found
            elif code == 429:
                await asyncio.sleep(0.2)
        client.close()

    await asyncio.gather(*(judge(link) for link in server.links))
    return taken, codes


def settled_model(server: Server, patience: float = 120.0) -> None:
    """Wait until the model has its first fit, which a start from 5000 answers needs."""
    began = time.monotonic()
    while not server.summary() and time.monotonic() - began < patience:
        time.sleep(0.5)


# ---------------------------------------------------------------- judging the numbers


def verdict(name: str, **numbers: tuple[float, str, float]) -> bool:
    """Print each number beside its bar; whether all hold."""
    good = True
    for what, (found, sign, bar) in numbers.items():
        holds = found <= bar if sign == "<=" else found >= bar
        good &= holds
        mark = "ok" if holds else "NOT MET"
        print(f"{name:11} {what.replace('_', ' '):34} {found:10.4g} {sign} {bar:g}  {mark}")
    print(f"{name:11} load of the machine: {os.getloadavg()[0]:.1f}", flush=True)
    return good


def quantiles(taken: list[float]) -> tuple[float, float, float]:
    """Median, 99 % and largest, in milliseconds."""
    return tuple(float(each) * 1e3 for each in np.quantile(taken, [0.5, 0.99, 1.0]))


# ---------------------------------------------------------------- bars


def start(seconds: float) -> bool:
    """Bar 1."""

    def once(server: Server) -> float:
        began = time.monotonic()
        server.start()

        async def look() -> Any:
            client = Client(server, server.links[0])
            page = await client.enter()
            client.close()
            return page

        assert asyncio.run(look())["page"] == "question"
        taken = time.monotonic() - began
        server.stop()
        return taken

    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), 40, 1)
        first = once(server)
        return verdict("start", first=(first, "<=", 6.0), second=(once(server), "<=", 3.0))


def latency(seconds: float) -> bool:
    """Bar 2."""
    with served(1000, 30, before=5000) as server:
        taken, codes = asyncio.run(load(server, 3.0, seconds))
    half, most, worst = quantiles(taken)
    print(f"latency     {len(taken)} answers, {dict(codes)}")
    return verdict(
        "latency", p50_ms=(half, "<=", 30), p99_ms=(most, "<=", 100),
        max_ms=(worst, "<=", 500), refused=(len(taken) - codes[200], "<=", 0),
    )  # fmt: skip


def throughput(seconds: float) -> bool:
    """Bar 3."""
    with served(200, 100) as server:
        taken, codes = asyncio.run(load(server, 0.3, seconds))
        rows = server.answers()
    _, most, _ = quantiles(taken)
    print(f"throughput  {dict(codes)}")
    return verdict(
        "throughput", answers_a_second=(codes[200] / seconds, ">=", 50),
        p99_ms=(most, "<=", 250), of_status_5xx=(sum(codes[k] for k in codes if k >= 500),
        "<=", 0), rows_besides_acknowledged=(abs(rows - codes[200]), "<=", 0),
    )  # fmt: skip


def snapshot(seconds: float) -> bool:
    """Bar 4: how long until the newest answer is in what the pages show."""

    def delay(items: int, before: int) -> float:
        with served(items, 5, before=before) as server:
            settled_model(server)
            # What is due after a start is none of the answer's.
            time.sleep(min(20.0, seconds))
            waits = []

            async def one() -> None:
                client, rng = Client(server, server.links[0]), random.Random(3)
                page = await client.enter()
                for _ in range(5):
                    _, page, _ = await client.answer(page, rng)
                    began, count = time.monotonic(), server.answers()
                    while server.summary().get("answers", 0) < count:
                        await asyncio.sleep(0.05)
                        if time.monotonic() - began > 60:
                            break
                    waits.append(time.monotonic() - began)
                    await asyncio.sleep(2.0)
                client.close()

            asyncio.run(one())
            return float(np.median(waits))

    return verdict(
        "snapshot", seconds_at_200_items=(delay(200, 400), "<=", 1.0),
        seconds_at_1000_items=(delay(1000, 5000), "<=", 3.0),
        seconds_of_a_refit_of_20000=(refit(1000, 20_000), "<=", 60.0),
    )  # fmt: skip


def refit(items: int, count: int) -> float:
    """Seconds until a start from so many answers has its first fit."""
    with served(items, 30, before=count) as server:
        began = time.monotonic()
        settled_model(server, 300.0)
        return time.monotonic() - began


def kill(seconds: float) -> bool:
    """Bar 5: twenty judges answer once a second while server and model process are killed."""
    lost, slow, kills, rng = 0, [], 20, random.Random(5)
    port = free_port()
    with served(200, 20, port=port) as server:
        acknowledged: dict[int, int] = {}  # questions, and how often their answer was sent
        stop = [False]

        async def judge(link: str) -> None:
            client, own = Client(server, link), random.Random(link)
            page = None
            while not stop[0]:
                try:
                    page = page or await client.enter()
                    if page.get("page") != "question":
                        return
                    await asyncio.sleep(own.expovariate(1.0))
                    code, found, _ = await client.answer(page, own)
                    if code == 200:
                        acknowledged[page["shown"]] = 1
                        page = found
                except ConnectionError:
                    await asyncio.sleep(0.1)  # the same answer is sent again
            client.close()

        async def killer() -> None:
            for k in range(2 * kills):
                await asyncio.sleep(rng.uniform(0.5, 2.5))
                began = time.monotonic()
                if k % 2:
                    with contextlib.suppress(OSError):
                        server.kill_model(await asyncio.to_thread(server.model))
                    continue
                server.process.kill()
                server.process.wait()
                server.process.stdout.close()
                began = time.monotonic()
                await asyncio.to_thread(server.start)
                await asyncio.to_thread(server.health)
                slow.append(time.monotonic() - began)
            stop[0] = True

        async def both() -> None:
            await asyncio.gather(killer(), *(judge(link) for link in server.links))

        asyncio.run(both())
        with contextlib.closing(sqlite3.connect(server.store)) as db:
            rows = db.execute("select shown_id, count(*) from answer group by 1").fetchall()
            intact = db.execute("pragma integrity_check").fetchone()[0] == "ok"
        kept = dict(rows)
        lost = sum(number not in kept for number in acknowledged)
        twice = sum(count > 1 for count in kept.values())
        print(f"kill        {len(acknowledged)} acknowledged, {len(kept)} stored")
        return verdict(
            "kill", lost=(lost, "<=", 0), doubled=(twice, "<=", 0),
            damaged=(not intact, "<=", 0), seconds_until_back=(max(slow), "<=", 3.0),
        )  # fmt: skip


TWICE = """
select count(*) from (
    select s.judge_id, min(s.left_id, s.right_id), max(s.left_id, s.right_id)
    from answer a join shown s on s.id = a.shown_id
    where a.kind = 'pair' and s.purpose <> 'repeat'
        and a.id not in (select undoes_id from answer where undoes_id is not null)
    group by 1, 2, 3 having count(*) > 1
)
"""


def pairs(seconds: float) -> bool:
    """Bar 6: ten thousand turns of twelve judges, on the store itself."""
    from ordinality.panel.managed_store import ManagedStore, NewItem
    from ordinality.panel.served_store import Act

    open_now: dict[frozenset[int], int] = {}
    shared, again, count = 0, 0, 0
    # In memory where there is such a folder: this bar is not about the disk.
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with (
        tempfile.TemporaryDirectory(dir=memory) as folder,
        ManagedStore(f"{folder}/x") as store,
    ):
        study = store.create_study("films", {}, settings={"seed": 2})
        store.add(study.id, [NewItem(f"item {k}", {}) for k in range(60)])
        for k in range(12):
            store.judge(study.id, f"judge {k}")
        judges, rng = store.judges(study.id), random.Random(0)
        held: dict[int, frozenset[int]] = {}
        turns: dict[int, Any] = {}
        while count < 10_000:
            judge = rng.choice(judges)
            turn, act = turns.get(judge.id), None
            if turn is not None and turn.asked is not None:
                kind = rng.choices(["answer", "skip", "undo"], [90, 5, 5])[0]
                act = Act(kind, turn.asked.id if kind != "undo" else 0, rng.choice([-1, 0, 1])
                          if kind == "answer" else 0)  # fmt: skip
            turn = turns[judge.id] = store.turn(judge, act)
            count += 1
            open_now.pop(held.pop(judge.id, frozenset()), None)
            if turn.asked is None:
                continue
            pair = frozenset((turn.asked.left, turn.asked.right))
            shared += open_now.get(pair, judge.id) != judge.id
            open_now[pair], held[judge.id] = judge.id, pair
        with store._reading() as db:
            again = int(db.exec_driver_sql(TWICE).scalar() or 0)
    return verdict(
        "pairs", open_for_two_judges=(shared, "<=", 0), twice_to_one_judge=(again, "<=", 0),
        requests=(count, ">=", 10_000),
    )  # fmt: skip


def equal(seconds: float) -> bool:
    """Bar 7."""
    from ordinality.panel import rank_answers
    from ordinality.tables import comparisons, read

    with served(20, 3) as server:
        asyncio.run(load(server, 0.25, 30.0))
        page, table = fitted_page(server)
        path = server.folder / "answers.csv"
        path.write_bytes(table)
        done = subprocess.run(
            [*PROGRAM, "rank", str(path), "--json"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        ranked = {one["item"]: one["utility"] for one in json.loads(done.stdout)["items"]}
        given = comparisons(read(path))
        api = rank_answers(
            given.pairs, given.answers, judges=given.judges, weights=given.weights
        )
        ours = {one.item: one.utility for one in api.items}
    apart = max(abs(page[name] - ranked[name]) for name in page)
    other = max(abs(page[name] - ours[name]) for name in page)
    return verdict(
        "equal", page_to_rank=(apart, "<=", 1e-9), page_to_python=(other, "<=", 1e-9)
    )


def fitted_page(server: Server) -> tuple[dict[str, float], bytes]:
    """The ranking page after a fit to all answers, and the export, as the admin gets both."""
    from ordinality.panel.managed_store import ManagedStore
    from ordinality.panel.study_model import StudyModel

    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    browser.open(server.admin).read()
    table = browser.open(f"{server.address}/admin/films/answers.csv").read()
    with ManagedStore(server.store) as store, ThreadPoolExecutor(1) as pool:
        model = StudyModel(store, 1, pool)
        model.refit = True
        model.job_ended = -np.inf
        model._start_job()
        model.job.result()
        model._adopt()
        rows = store.summary(1)["items"]
        key = {i: each.key for i, each in model.task.items.items()}
    return {key[row["id"]]: row["utility"] for row in rows}, table


def fold(seconds: float) -> bool:
    """Bar 8."""
    from scipy.stats import kendalltau

    from ordinality import PreferenceGP
    from ordinality.panel.study_model import LIGHT

    good, rng = True, np.random.default_rng(0)
    for n in (50, 200, 1000):
        f = rng.normal(size=n)
        picked = np.array([rng.choice(n, 2, replace=False) for _ in range(5 * n + 100)])
        gap = f[picked[:, 0]] - f[picked[:, 1]] + NOISE * rng.normal(size=len(picked))
        answers = np.where(gap > 0, 1, -1)
        model = PreferenceGP(n).fit(picked[:-100], answers[:-100])
        told = model.snapshot().told(picked[-100:], answers[-100:])
        new = model.update(picked[-100:], answers[-100:]).snapshot()
        tau = kendalltau(told.utility().mean, new.utility().mean).statistic
        ratio = np.abs(told.utility().std / new.utility().std - 1.0)
        print(f"fold {n}: of half of the items sd is within {np.median(ratio):.4f}")
        good &= verdict(
            f"fold {n}", tau=(tau, ">=", 0.99), sd_apart_at_worst=(ratio.max(), "<=", 0.1)
        )
    assert LIGHT < 1e-9
    return good


def abuse(seconds: float) -> bool:
    """Bar 16, the part that needs a real server; the rest is tests/web/test_safety.py."""
    with served(40, 2) as server:

        async def flood() -> tuple[Counter, int, int, int]:
            client, codes = Client(server, server.links[0]), Counter()
            page = await client.enter()
            rng, began = random.Random(0), time.monotonic()
            for _ in range(400):
                code, *_ = await client.answer(page, rng)
                codes[code] += 1
            spent = time.monotonic() - began
            if spent > 2.0:
                print(f"abuse       {400 / spent:.0f} requests a second")
            large = {"form": page["form"], "text": "x" * 2**20}
            try:
                big, *_ = await Client(server, server.links[1]).ask(
                    "POST", "/s/films/answer", large
                )
            except ConnectionError:
                big = 413  # refused before it was read
            other = Client(server, server.links[1])
            await other.enter()
            foreign, *_ = await other.answer(page, rng)
            return codes, server.answers(), big, foreign

        codes, rows, big, foreign = asyncio.run(flood())
    print(f"abuse       {dict(codes)}")
    return verdict(
        "abuse", answered_of_400=(codes[200], "<=", 120), refused=(codes[429], ">=", 200),
        answers_of_one_form=(rows, "<=", 1), status_of_a_large_body=(big, ">=", 413),
        status_of_another_judges_form=(foreign, ">=", 403),
    )  # fmt: skip


def large(seconds: float) -> bool:
    """Bar 17."""
    with served(10_000, 50) as server:
        taken, codes = asyncio.run(load(server, 3.0, seconds))
        memory = max(_memory(server.process.pid), _memory(server.model()))
    _, most, _ = quantiles(taken)
    print(f"large       {dict(codes)}")
    return verdict(
        "large", p99_ms=(most, "<=", 250), gigabytes_of_a_process=(memory, "<=", 1.5),
        answers=(codes[200], ">=", seconds),
    )  # fmt: skip


def _memory(process: int) -> float:
    """The most memory that a process has had, in gigabytes."""
    text = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 2**20


BARS = {each.__name__: each for each in (
    start, latency, throughput, snapshot, kill, pairs, equal, fold, abuse, large)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Bars of `ordinality serve`.")
    parser.add_argument("bar", choices=[*BARS, "all"])
    parser.add_argument("--seconds", type=float, default=60.0, help="of load")
    given = parser.parse_args()
    chosen = list(BARS) if given.bar == "all" else [given.bar]
    results = [BARS[name](given.seconds) for name in chosen]
    raise SystemExit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
