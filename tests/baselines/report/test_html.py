"""The report's page in headless Chromium: sorting, figures, widths, accessibility."""

import pytest
from browser import DARK, needs_chromium, run_in_page, violations
from browser import axe as axe

from baselines import BASELINES
from baselines.report.page import write_report
from baselines.report.report import run_report

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def report(built):
    return run_report(built, {name: BASELINES[name] for name in ("constant", "atc", "fd")})


@pytest.fixture
def page(report, tmp_path):
    return write_report(report, tmp_path)[0].read_text(encoding="utf-8")


@pytest.mark.slow
def test_one_click_shows_where_a_method_is_worst(page, report, tmp_path):
    script = """
      const table = document.querySelector(".sets table");
      const sets = () => [...table.tBodies[0].rows].map((row) => row.cells[0].textContent);
      const heading = [...table.tHead.rows[0].cells].find((cell) => cell.innerText.trim() === "fd");
      const found = {before: sets(), pictures: table.querySelectorAll("use").length};
      heading.querySelector("button").click();
      found.worst = sets();
      found.said = heading.innerText;
      found.drawn = document.querySelector(".sets use").getBoundingClientRect().width;
      found.figures = [...document.querySelectorAll("figure img")].map((each) => each.naturalWidth);
      return found;
    """
    found = run_in_page(page, script, tmp_path)
    run = next(run for run in report.runs if run.method == "fd")
    errors, names = abs(run.predicted - report.val["tiny"]), report.competition.sets("val")
    assert found["before"] == list(names)
    assert found["pictures"] == len(names)
    assert found["worst"] == [names[i] for i in sorted(range(len(names)), key=lambda i: -errors[i])]
    assert "largest error first" in found["said"]
    assert found["drawn"] > 50
    assert len(found["figures"]) == 4
    assert min(found["figures"]) > 100


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), (DARK,)])
def test_axe_finds_nothing_serious(page, axe, tmp_path, flags):
    assert violations(page, axe, tmp_path, *flags) == []
