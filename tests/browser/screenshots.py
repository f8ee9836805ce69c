"""Makes the pictures of docs/report.md: `python tests/browser/screenshots.py docs/images`, from the repository's root.

The sessions are the shipped fixtures, replayed against the agent that failed in production; Pillow makes files small.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from pytest_statebase.report.page.view import anchors_of
from pytest_statebase.report.results import read_results

SIZES = {"wide": (1440, 900), "narrow": (390, 844)}


def replayed(folder: Path) -> tuple[Path, dict[str, str]]:
    """The page of a run, and the anchors of its sessions by their ids."""
    options = [
        "--statebase-replay",
        "--statebase-agent=support_agent.production:SupportAgent",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    written = [f"--statebase-{name}={folder / name}" for name in ("results", "history", "report")]
    for _ in range(2):
        subprocess.run([sys.executable, "-m", "pytest", *options, *written], check=False, stdout=subprocess.DEVNULL)
    page = (folder / "report").rename(folder / "report.html")
    _, rows = read_results(folder / "results")
    return page, {row["session"]: anchor for row, anchor in zip(rows, anchors_of(rows), strict=True)}


def picture(page: Page, address: str, path: Path) -> None:
    page.goto("about:blank")
    page.goto(address)
    page.locator("#app > *").first.wait_for()
    if "-turn-" in path.name:
        page.locator("section.panel").first.evaluate(
            "one => scrollTo(0, one.getBoundingClientRect().top + scrollY - 160)"
        )
    page.wait_for_timeout(300)
    page.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)


def main(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        report, anchors = replayed(Path(folder))
        views = {
            "overview": "",
            "session": f"#{anchors['sess_second_refund']}",
            "turn": f"#{anchors['sess_no_policy']}-1",
            "traces": "#traces",
        }
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for size, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                for name, address in views.items():
                    picture(page, report.as_uri() + address, target / f"report-{name}-{size}-{scheme}.png")
        chromium.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
