"""`ordinality ask` killed at random moments: nothing acknowledged is lost, nothing doubled.

    python benchmarks/killed.py [--kills 20]

A process asks about 60 items; answers are typed as soon as a question is shown. It is killed
(SIGKILL) at a random moment of up to three seconds after the first question, and started again
on the same store. "saved" on its stderr is the acknowledgement. After each kill the store must
have every acknowledged answer, at most one more (stored, but killed before it said so), no
question answered twice, and the same sequence as before at its head. At last two processes
answer 20 questions each into the store at once. Exits with 1 if a row is lost or doubled.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

COMMAND = [sys.executable, "-c", "from ordinality.cli import main; main()", "ask"]


class Asked:
    """A running session that is answered at once."""

    def __init__(self, items: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, str(items), "--plain", "--goal", "order", "--most", "1700", *options],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.saved = self.typed = 0
        self.begun = threading.Event()
        self.said: list[str] = []
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()

    def _answer(self) -> None:
        """Type an answer to each question, and count what is acknowledged."""
        process = self.process
        assert process.stdin is not None
        assert process.stderr is not None
        for line in process.stderr:
            self.said.append(line)
            self.saved += line.startswith("  saved:")
            if line.startswith("  2 / right"):
                self.begun.set()
                self.typed += 1
                try:
                    process.stdin.write(f"{1 + self.typed % 2}\n")
                    process.stdin.flush()
                except BrokenPipeError:
                    return

    def wait(self) -> None:
        self.process.wait()
        self._thread.join()


def stored(path: Path) -> list[tuple[int, int, int]]:
    """Number, question and value of every answer in the store."""
    import sqlite3

    with sqlite3.connect(path) as db:
        rows = db.execute("select id, shown_id, value from answer order by id").fetchall()
    db.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    args = parser.parse_args()
    rng, wrong, saved, unsaid = np.random.default_rng(0), [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        items = Path(folder) / "items.txt"
        items.write_text("\n".join(f"item {k}" for k in range(60)) + "\n")
        store, before = items.with_suffix(".ordinality"), []
        for kill in range(args.kills):
            asked = Asked(items)
            if not asked.begun.wait(120):
                wrong.append(f"kill {kill}: no question, but {''.join(asked.said)!r}")
            time.sleep(3.0 * rng.random())
            os.kill(asked.process.pid, signal.SIGKILL)
            asked.wait()
            after = stored(store)
            new = len(after) - len(before)
            saved, unsaid = saved + asked.saved, unsaid + new - asked.saved
            if after[: len(before)] != before or not asked.saved <= new <= asked.saved + 1:
                wrong.append(f"kill {kill}: {asked.saved} acknowledged, {new} stored")
            before = after
            print(f"kill {kill}: {new} stored, {asked.saved} acknowledged", file=sys.stderr)
        two = [Asked(items, "--judge", name, "--most", "20") for name in ("ann", "bob")]
        for asked in two:
            asked.wait()
        after = stored(store)
        if len(after) - len(before) != 40 or any(asked.saved != 20 for asked in two):
            wrong.append(f"two at once: {[asked.said[-3:] for asked in two]}")
        if len({question for _, question, _ in after}) != len(after):
            wrong.append("a question was answered twice")
    print(f"{args.kills} kills: {saved} answers acknowledged, {unsaid} stored without a word; "
          f"then two processes at once; {len(after)} answers in all")  # fmt: skip
    for bar in wrong:
        print(f"missed: {bar}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
