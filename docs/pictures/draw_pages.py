"""The picture of the page that asks: python docs/pictures/draw_pages.py

It serves a list of films, answers as somebody with an order in mind would, and takes the
question and the ranking as Chromium shows them. It needs the extra `dev` and Chromium, and the
picture, docs/pictures/serve.png, is kept, since not everybody has a browser to draw it with.
"""

import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

FILMS = [
    "Ran (1985)", "Stalker (1979)", "Playtime (1967)", "Tokyo Story (1953)", "Vertigo (1958)",
    "Ikiru (1952)", "Persona (1966)", "Yi Yi (2000)", "Solaris (1972)", "City Lights (1931)",
    "Mirror (1975)", "Close-Up (1990)",
]  # fmt: skip
ANSWERS = 40
SIZE = {"width": 760, "height": 620}
GAP = 16  # points between the two pages


def main() -> None:
    """Serve, answer, look."""
    with tempfile.TemporaryDirectory() as folder:
        films = Path(folder) / "films.txt"
        films.write_text("\n".join(FILMS), encoding="utf-8")
        run = "from ordinality.cli import main; main()"
        command = [sys.executable, "-c", run, "serve", str(films), "--port", "0",
                   "--no-open", "--json"]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            links = json.loads(server.stdout.readline())
            try:
                pages = [Image.open(each) for each in taken(links, Path(folder))]
                both = beside(pages)
            finally:
                server.terminate()
    both.quantize(96, dither=Image.Dither.NONE).save(
        Path(__file__).with_name("serve.png"), optimize=True
    )


def taken(links: dict[str, str], folder: Path) -> list[Path]:
    """Pictures of the question and of the ranking after some answers."""
    files = [folder / "question.png", folder / "ranking.png"]
    with sync_playwright() as browsers:
        chromium = browsers.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = chromium.new_page(viewport=SIZE)
        page.goto(links["judge"])
        answer(page)
        page.wait_for_timeout(4000)  # the model has heard of the last answers by then
        page.reload()
        page.screenshot(path=files[0])
        page.goto(links["admin"])
        page.get_by_role("link", name="films").click()
        page.get_by_text(f"{ANSWERS} answers").wait_for()
        page.get_by_role("table").wait_for()
        page.screenshot(path=files[1])
        chromium.close()
    return files


def answer(page: Page) -> None:
    """Answer as somebody with an order in mind, who is not always sure."""
    rng = random.Random(5)
    for _ in range(ANSWERS):
        left, right = (FILMS.index(x) for x in page.locator(".card .name").all_inner_texts())
        surer = 1.0 / (1.0 + math.exp(-0.9 * (right - left)))
        shown = page.locator("#answer [name=shown]").get_attribute("value")
        page.wait_for_timeout(300)
        page.keyboard.press("ArrowLeft" if rng.random() < surer else "ArrowRight")
        page.locator(f"#answer [name=shown]:not([value='{shown}'])").wait_for(state="attached")


def beside(pages: list[Image.Image]) -> Image.Image:
    """Pictures beside each other, apart by a gap that shows the ground of any page."""
    wide = sum(page.width for page in pages) + GAP * (len(pages) - 1)
    whole = Image.new("RGB", (wide, pages[0].height), "white")
    left = 0
    for page in pages:
        whole.paste(page, (left, 0))
        left += page.width + GAP
    return whole


if __name__ == "__main__":
    main()
