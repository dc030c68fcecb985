"""The page in headless Chromium: what it does there, not what its text says."""

from dataclasses import replace

import pytest
from boards import KIT, TEAM
from browser import DARK, needs_chromium, run_in_page, violations
from browser import axe as axe
from rules import with_fields

from leaderboard.columns import Board
from leaderboard.publish import leaderboard_html
from submission.metrics import Score

pytestmark = needs_chromium

HOSTILE = (
    "<script>parent.broken = 1</script>",
    "\"><img src=x onerror='parent.broken = 1'>",
    "<svg/onload=parent.broken=1>",
    "</td></tr></table><iframe srcdoc='<script>top.broken = 1</script>'>",
    "javascript:parent.broken=1",
    "{{ 7 * 7 }}${7*7}&lt;b&gt;",
    "\u202eevil\u2066 \u200b",
    "x" * 40,
)


def line(number, name):
    return replace(
        TEAM,
        name=name,
        score=Score(10.25 + number, 9.0, 0.5, 40),
        skill=0.5,
        rank=number + 1,
        last_submission=f"2026-01-{28 - number} 03:04:05",
        submissions=11 * (number + 1) % 30,
        low=9.0 - number / 10,
        high=20.0,
    )


@pytest.fixture
def page(competition):
    """A board of hostile names before and after the end."""
    lines = tuple(line(number, name) for number, name in enumerate(HOSTILE))
    kit = replace(KIT, name="fd", score=Score(50.0, 9.0, 0.5, 40), skill=0.25)
    after = tuple(replace(each, public=each) for each in reversed(lines))
    boards = [Board("private", after, 2, 1.0), Board("public", (*lines, kit), 2, 1.25)]
    hostile = with_fields(competition, name=HOSTILE[0], source=HOSTILE[1])
    return leaderboard_html(hostile, boards, "0" * 64, 4)


@pytest.mark.slow
def test_hostile_names_are_shown_and_nothing_else_is_run_or_loaded(page, tmp_path):
    script = """
      const violations = [];
      document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));
      const names = [...document.querySelectorAll("table.board")[2].querySelectorAll("bdi")].map((e) => e.textContent);
      const loaded = window.performance.getEntriesByType("resource").length;
      const elements = document.querySelectorAll("img, iframe, script, link, object, embed").length;
      const inline = document.createElement("script");
      inline.textContent = "parent.broken = 2";
      document.body.append(inline);
      const image = document.createElement("img");
      image.src = "https://example.invalid/x.png";
      document.body.append(image);
      document.body.setAttribute("style", "color: red");
      await new Promise((resolve) => setTimeout(resolve, 500));
      return {names, loaded, elements, violations, broken: window.parent.broken ?? null, title: document.title};
    """
    found = run_in_page(page, script, tmp_path)
    assert found["names"] == [*HOSTILE]
    assert found["title"] == f"{HOSTILE[0]}: leaderboard"
    assert (found["loaded"], found["elements"], found["broken"]) == (0, 1, None)
    assert sorted(set(map(str, found["violations"]))) == [
        "img-src",
        "script-src-elem",
        "style-src-attr",
    ]


@pytest.mark.slow
def test_the_headings_sort_each_table_by_itself(page, tmp_path):
    script = """
      for (const folded of document.querySelectorAll("main > details")) folded.open = true;
      const table = document.querySelectorAll("table.board")[2];
      const first = () => [...document.querySelectorAll("table.board")].map((t) => t.tBodies[0].rows[0].cells[0].textContent);
      const titles = [...table.tHead.rows[0].cells].map((cell) => cell.querySelector("button")?.textContent ?? "");
      const at = (title) => titles.indexOf(title);
      const column = (title) => [...table.tBodies[0].rows].map((row) => row.cells[at(title)].textContent.trim());
      const header = (title) => table.tHead.rows[0].cells[at(title)];
      const press = (title) => header(title).querySelector("button").click();
      const found = {titles, before: first(), said: [header("Public score").innerText]};
      press("Public score"); found.score = column("Public score");
      found.sorted = header("Public score").getAttribute("aria-sort");
      found.said.push(header("Public score").innerText);
      press("95 % interval"); found.low = column("95 % interval");
      press("Submissions"); found.most = column("Submissions");
      press("Submissions"); found.fewest = column("Submissions");
      press("Last submission (UTC)"); found.last = column("Last submission (UTC)");
      found.newest = header("Last submission (UTC)").innerText;
      found.after = first();
      return found;
    """
    found = run_in_page(page, script, tmp_path)
    assert found["before"] == ["8", "8", "1", "fd"]
    assert found["sorted"] == "descending"
    assert ["highest" in str(text) for text in found["said"]] == [False, True]
    assert found["score"] == [f"{10.25 + i:.2f}" for i in reversed(range(8))]
    assert found["low"] == [f"{9.0 - i / 10:.1f}–20.0" for i in reversed(range(8))]
    made = sorted(11 * (i + 1) % 30 for i in range(8))
    assert found["most"] == [*map(str, reversed(made))]
    assert found["fewest"] == [*map(str, made)]
    assert found["last"] == [f"2026-01-{28 - i} 03:04:05" for i in range(8)]
    assert "newest first" in str(found["newest"])
    assert found["after"] == ["8", "8", "1", "fd"]


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), (DARK,)])
def test_axe_finds_nothing_serious(page, competition, axe, tmp_path, flags):
    opened = page.replace("<details>", "<details open>")
    assert violations(opened, axe, tmp_path, *flags) == []
    first = [Board("public", (), 2, detailed=False), Board("validation", (line(0, "fd"),), 2, 1.0)]
    assert violations(leaderboard_html(competition, first, "0" * 64, 4), axe, tmp_path, *flags) == []
