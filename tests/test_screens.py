"""The pages as people see them, in Chromium: at four widths, light and dark.

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
from PIL import Image
from rules import with_rules

from baselines import BASELINES, OOD_BASELINES
from baselines.report.page import write_report
from baselines.report.report import run_report
from baselines.run.predict import predict
from leaderboard.publish import publish
from leaderboard.submissions import submit
from starter.making.build import build
from submission import Competition, write_predictions
from submission.arrays import FloatArray, IntArray
from submission.solution import solution_of
from unseen.estimation.from_logits import estimate
from unseen.estimation.page import write_estimation

pytestmark = [needs_chromium, pytest.mark.slow]

WIDTHS = (390, 1280, 1440, 1920)
TALLEST = 4000 if "UNSEEN_SCREENS" in os.environ else 1000
"""Pixels of a page that are shown at most; of a picture that nobody keeps the beginning is enough."""
TEAMS = ("Northern Lights", "ada", "Équipe Bleue", "Team One", "les 4 saisons", "Zwölf & Söhne (Berlin)", "b")
METHODS = ("constant", "confscore", "atc", "fd", "doc", "cot")
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


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory, settings: Callable[..., "object"]) -> Competition:
    """A competition of 12 public rows in which seven teams of growing error have handed in."""
    root = tmp_path_factory.mktemp("screens") / "contest"
    found = build(root, settings(test_sets=40, val_sets=12, set_size=60), 11)  # type: ignore[arg-type]
    predict(found, {name: BASELINES[name] for name in METHODS}, progress=False)
    found = with_rules(found, deadline=START + timedelta(days=9), daily_limit=None)
    truth = {row.id: row.prediction for row in solution_of(found)}
    rng = np.random.default_rng(0)
    for hour in range(3 * len(TEAMS)):
        team = hour % len(TEAMS)
        noise = rng.normal(scale=0.03 + 0.03 * team, size=len(truth))
        values = {
            name: float(np.clip(value + off, 0, 1))
            for (name, value), off in zip(truth.items(), noise, strict=True)
        }
        write_predictions(root.parent / "mine.csv", values)
        clock = partial(START.__add__, timedelta(hours=7 * hour))
        submit(found, root.parent / "mine.csv", TEAMS[team], clock)
    return found


def _board(request: pytest.FixtureRequest, folder: Path, ended: datetime | None = None) -> Path:
    return publish(request.getfixturevalue("contest"), ended, out=folder).html


def _report(request: pytest.FixtureRequest, folder: Path) -> Path:
    chosen = {name: BASELINES[name] for name in METHODS}
    return write_report(run_report(request.getfixturevalue("contest"), chosen, progress=False), folder)[0]


def _ood_report(request: pytest.FixtureRequest, folder: Path) -> Path:
    chosen = {name: OOD_BASELINES[name] for name in ("constant", "gscore-ude-w", "confident")}
    return write_report(run_report(request.getfixturevalue("ood_built"), chosen, progress=False), folder)[0]


def _estimate(request: pytest.FixtureRequest, folder: Path) -> Path:
    rng = np.random.default_rng(0)

    def made(skill: float, n: int = 800) -> tuple[FloatArray, IntArray]:
        labels = rng.integers(6, size=n)
        logits = rng.normal(size=(n, 6))
        logits[np.arange(n), labels] += skill
        return 2 * logits, labels

    days = {"Monday": 2.5, "Tuesday": 2.3, "Wednesday": 1.8, "Thursday": 1.2, "at night": 0.8}
    return write_estimation(
        estimate(*made(2.5), {name: made(skill)[0] for name, skill in days.items()}), folder
    )[0]


PAGES: dict[str, Callable[[pytest.FixtureRequest, Path], Path]] = {
    "board-running": _board,
    "board-ended": partial(_board, ended=START + timedelta(days=10)),
    "report": _report,
    "report-ood": _ood_report,
    "estimate": _estimate,
}
"""What makes each page; it is made when it is looked at."""


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The name of each page, and its text."""
    made = PAGES[request.param](request, tmp_path_factory.mktemp("page"))
    return request.param, made.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def screens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures are kept."""
    named = os.environ.get("UNSEEN_SCREENS")
    folder = Path(named) if named else tmp_path_factory.getbasetemp() / "screens"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_its_window_and_can_be_looked_at(
    page: tuple[str, str], scheme: str, screens: Path, tmp_path: Path
) -> None:
    name, text = page
    flags = (DARK,) if scheme == "dark" else ()
    script = MEASURE.replace("WIDTHS", str(list(WIDTHS)))
    found = run_in_page(text, script, tmp_path, *flags)["found"]
    assert isinstance(found, list)
    for each in found:
        told = f"{name} in a window of {each['width']}"
        assert each["over"] <= 0, f"{told} is {each['over']} pixels too wide"
        assert not each["cut"], f"{told}: cut off"
        assert not each["lost"], f"{told}: names scroll out of sight"
    tall = {each["width"]: min(each["height"], TALLEST) for each in found}
    for path in screenshots(text, tall, screens, f"{name}-{scheme}", tmp_path, *flags):
        with Image.open(path) as picture:
            shown = np.asarray(picture.convert("L"), dtype=float)
        assert shown.std() > 5, f"{path} is blank"
        assert (np.median(shown) < 100) == (scheme == "dark"), f"{path} is not {scheme}"
    assert len(list(screens.glob(f"{name}-{scheme}-*.png"))) == len(WIDTHS)
