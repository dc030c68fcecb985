"""The pages as people see them, in Chromium: at two widths, light and dark.

What can be asserted is: nothing is wider than its window or cut off, teams and methods stay in sight,
dark is dark. The rest is for eyes: the pictures lie in the folder that the environment
variable UNSEEN_SCREENS names, or in ``screens`` below pytest's temporary folder.
"""

import os
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from browser import DARK, needs_chromium, run_in_page, screenshots
from large import large_competition, noisy
from PIL import Image

from baselines import BASELINES, OOD_BASELINES
from baselines.report.page import write_report
from baselines.report.report import run_report
from leaderboard.publish import publish
from leaderboard.submissions import submit
from submission.predictions import write_predictions
from unseen.estimation.estimation import write_estimation
from unseen.estimation.from_logits import estimate

pytestmark = [needs_chromium, pytest.mark.slow]

WIDTHS = (390, 1440)
SCREENS = 5 * 844
"""Pixels of a board on a phone, at most."""
TALLEST = 4000 if "UNSEEN_SCREENS" in os.environ else 1000
"""Pixels of a page that are shown at most; of a picture that nobody keeps the beginning is enough."""
TEAMS = ("Northern Lights", "ada", "Équipe Bleue", "Team One", "les 4 saisons", "Zwölf & Söhne (Berlin)", "b")
START = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)

MEASURE = """
  const found = [];
  const clips = (e) => window.getComputedStyle(e).overflowX !== "visible";
  const inner = (e) => { while ((e = e.parentElement)) if (e.classList.contains("hidden") || clips(e)) return true; return false; };
  for (const width of WIDTHS) {
    frame.style.width = `${width}px`;
    await new Promise((resolve) => setTimeout(resolve, 100));
    const root = document.documentElement, cut = [];
    for (const e of document.body.querySelectorAll("*:not(.hidden, script, style, symbol, symbol *)")) {
      const box = e.getBoundingClientRect();
      if (box.width && box.right > root.clientWidth + 1 && !inner(e)) cut.push(e.outerHTML.slice(0, 120));
      if (e.children.length === 0 && clips(e) && e.scrollWidth > e.clientWidth + 1) cut.push(e.outerHTML.slice(0, 120));
    }
    const lost = [...document.querySelectorAll(".scroll")].filter((box) => {
      box.scrollLeft = 1000;
      const name = box.querySelector("tbody th");
      const away = name && name.getBoundingClientRect().left < box.getBoundingClientRect().left - 1;
      box.scrollLeft = 0;
      return away;
    });
    found.push({width, over: root.scrollWidth - root.clientWidth, height: root.scrollHeight, cut, lost: lost.length});
  }
  return {found};
"""


def _board(folder: Path, *_: object, ended: datetime | None = None) -> Path:
    """Seven teams of growing error have handed in."""
    competition = large_competition(folder / "large", deadline=START + timedelta(days=9))
    for number, team in enumerate(TEAMS):
        write_predictions(folder / "mine.csv", noisy(competition, 3 + 3 * number, number))
        submit(competition, folder / "mine.csv", team, lambda at=number: START + timedelta(hours=at))  # type: ignore[misc]
    return publish(competition, ended).html


def _ended_board(folder: Path, *_: object) -> Path:
    return _board(folder, ended=START + timedelta(days=10))


def _report(folder: Path, asked: Callable[[str], object]) -> Path:
    chosen = {name: BASELINES[name] for name in ("constant", "confscore", "atc", "fd", "doc", "cot")}
    return write_report(run_report(asked("built"), chosen), folder)[0]  # type: ignore[arg-type]


def _ood_report(folder: Path, asked: Callable[[str], object]) -> Path:
    chosen = {name: OOD_BASELINES[name] for name in ("constant", "gscore-ude-w", "confident")}
    return write_report(run_report(asked("ood_built"), chosen), folder)[0]  # type: ignore[arg-type]


def _estimate(folder: Path, *_: object) -> Path:
    rng = np.random.default_rng(0)
    labels = rng.integers(6, size=800)
    skills = {"Monday": 2.5, "Tuesday": 2.3, "Wednesday": 1.8, "Thursday": 1.2, "at night": 0.8}
    days = {
        name: 2 * (rng.normal(size=(800, 6)) + skill * np.eye(6)[labels]) for name, skill in skills.items()
    }
    return write_estimation(estimate(days["Monday"], labels, days), folder)[0]


PAGES = {
    "board-running": _board,
    "board-ended": _ended_board,
    "report": _report,
    "report-ood": _ood_report,
    "estimate": _estimate,
}
"""What makes each page."""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_window_and_can_be_looked_at(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    named = os.environ.get("UNSEEN_SCREENS")
    screens = Path(named) if named else tmp_path / "screens"
    screens.mkdir(parents=True, exist_ok=True)
    text = PAGES[name](tmp_path, request.getfixturevalue).read_text(encoding="utf-8")
    found = run_in_page(text, MEASURE.replace("WIDTHS", str([*WIDTHS])), tmp_path)["found"]
    assert isinstance(found, list)
    for each in found:
        told = f"{name} in a window of {each['width']}"
        assert each["over"] <= 0, f"{told} is {each['over']} pixels too wide"
        assert not each["cut"], f"{told}: cut off"
        assert not each["lost"], f"{told}: names scroll out of sight"
        if name.startswith("board"):
            assert each["height"] <= SCREENS, f"{told} is {each['height']} pixels long"
    tall = {each["width"]: min(each["height"], TALLEST) for each in found}
    for scheme, flags in {"light": (), "dark": (DARK,)}.items():
        for path in screenshots(text, tall, screens, f"{name}-{scheme}", tmp_path, *flags):
            with Image.open(path) as picture:
                shown = np.asarray(picture.convert("L"), dtype=float)
            assert shown.std() > 5, f"{path} is blank"
            assert (np.median(shown) < 100) == (scheme == "dark"), f"{path} is not {scheme}"
