"""The pages as people see them, in Chromium: at two widths, light and dark.

What can be asserted is: nothing is wider than its window or cut off, teams and methods stay in sight,
dark is dark. The rest is for eyes: the pictures lie in the folder that the environment
variable UNSEEN_SCREENS names, or in ``screens`` below pytest's temporary folder.
"""

import os
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from browser import DARK, needs_chromium, run_in_page, screenshots
from large import large_competition, noisy

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
  const found = {}, wait = () => new Promise((resolve) => setTimeout(resolve, 100));
  for (const each of document.querySelectorAll("iframe")) {
    const inside = each.contentDocument, root = inside.documentElement;
    const clips = (e) => each.contentWindow.getComputedStyle(e).overflowX !== "visible";
    const inner = (e) => { while ((e = e.parentElement)) if (e.classList.contains("hidden") || clips(e)) return true; return false; };
    for (const width of WIDTHS) {
      each.style.width = `${width}px`;
      await wait();
      const cut = [];
      for (const e of inside.body.querySelectorAll("*:not(.hidden, script, style, symbol, symbol *)")) {
        const box = e.getBoundingClientRect();
        if (box.width && box.right > root.clientWidth + 1 && !inner(e)) cut.push(e.outerHTML.slice(0, 120));
        if (e.children.length === 0 && clips(e) && e.scrollWidth > e.clientWidth + 1) cut.push(e.outerHTML.slice(0, 120));
      }
      const lost = [...inside.querySelectorAll(".scroll")].filter((box) => {
        box.scrollLeft = 1000;
        const name = box.querySelector("tbody th");
        const away = name && name.getBoundingClientRect().left < box.getBoundingClientRect().left - 1;
        box.scrollLeft = 0;
        return away;
      });
      found[`${each.id} ${width}`] = [root.scrollWidth - root.clientWidth, root.scrollHeight, cut, lost.length];
    }
  }
  return found;
"""


def _board(folder: Path, *_: object, ended: datetime | None = None) -> Path:
    """Seven teams of growing error have handed in."""
    competition = large_competition(folder / "large", deadline=START + timedelta(days=9))
    for number, team in enumerate(TEAMS):
        write_predictions(folder / "mine.csv", noisy(competition, 3 + 3 * number, number))
        submit(competition, folder / "mine.csv", team, lambda at=number: START + timedelta(hours=at))  # type: ignore[misc]
    return publish(competition, ended).html


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


BOARDS = {"board-running": _board, "board-ended": partial(_board, ended=START + timedelta(days=10))}
PAGES = {**BOARDS, "report": _report, "report-ood": _ood_report, "estimate": _estimate}
"""What makes each page."""


def test_pages_fit_their_windows_and_can_be_looked_at(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """All pages in one window: to start Chromium takes longer than to draw them."""
    screens = Path(os.environ.get("UNSEEN_SCREENS", tmp_path / "screens"))
    screens.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (tmp_path / name).mkdir()
        text = make(tmp_path / name, request.getfixturevalue).read_text(encoding="utf-8")
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    frames = (f'<iframe id="{name}" src="{name}.html" style="height:800px"></iframe>' for name in PAGES)
    found = run_in_page("".join(frames), MEASURE.replace("WIDTHS", str([*WIDTHS])), tmp_path)
    shown = []
    for window, (over, height, cut, lost) in found.items():  # type: ignore[misc]
        assert over <= 0, f"{window} is {over} pixels too wide"
        assert not cut, f"{window}: cut off: {cut}"
        assert not lost, f"{window}: names scroll out of sight"
        name, width = window.split()
        assert height <= SCREENS or not name.startswith("board"), f"{window} is {height} pixels long"
        shown.append((f"{name}.html", int(width), min(height, TALLEST)))
    assert len(shown) == len(PAGES) * len(WIDTHS)
    for scheme, flags in {"light": (), "dark": (DARK,)}.items():
        for (file, width, _), picture in zip(shown, screenshots(tmp_path, shown, *flags), strict=True):
            grey = np.asarray(picture.convert("L"), dtype=float)
            assert grey.std() > 5, f"{file} is blank at {width}"
            assert (np.median(grey) < 100) == (scheme == "dark"), f"{file} is not {scheme} at {width}"
            picture.save(screens / f"{file.removesuffix('.html')}-{scheme}-{width}.png", compress_level=1)
