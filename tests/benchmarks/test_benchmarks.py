"""Every script can be imported; small runs of the benchmarks of publishing and of probing."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


SCRIPTS = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*.py"))

PARTS = ("results/real.py", "speed/image_by_image.py")
"""What scripts import."""


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_finds_all_that_it_imports(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside it too, as `python benchmarks/...` does; nothing is run before it is asked to."""
    monkeypatch.syspath_prepend((FOLDER / script).parent)
    for each in SCRIPTS:
        monkeypatch.delitem(sys.modules, Path(each).stem, raising=False)
    assert "main" in runpy.run_path(str(FOLDER / script)) or script in PARTS


def test_real_data_are_asked_for_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNSEEN_DATA", raising=False)
    with pytest.raises(SystemExit, match="error: UNSEEN_DATA must name a folder with the real data"):
        runpy.run_path(str(FOLDER / "results/real.py"))["data"]()


def printed(script: str, *options: object) -> dict[str, list[str]]:
    """The lines by what they begin with, and their columns."""
    command = [sys.executable, FOLDER / script, *map(str, options)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line[:24].strip(): line[24:].split() for line in text.splitlines()}


@pytest.mark.slow
def test_publishing_reads_only_what_is_new_and_the_made_up_ledger_is_whole() -> None:
    lines = printed("speed/publish.py", "--teams", 30, "--each", 3, "--verify")
    assert lines["problems that `unseen ve"] == ["rify`", "finds:", "0"]
    assert lines["first"][-6:-4] == ["30", "lines,"]
    assert lines["rewritten after it"][-6:-4] == ["31", "lines,"]


@pytest.mark.slow
def test_attacks_by_submissions_gain_less_the_coarser_the_feedback_and_are_warned_of() -> None:
    """Of 60 submissions: rounded ones tell all labels, guarded ones hardly any more than was known before."""
    command = [sys.executable, FOLDER / "attacks/probing.py", "--runs", "3"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = re.findall(
        r"^(\w+)(?:, . decimals?)? +(dense|small|one row) +([\d. ]+) off; (.*)$", text, re.MULTILINE
    )
    errors = {(mode, attack): [float(cell) for cell in cells.split()] for mode, attack, cells, _ in rows}
    assert len(rows) == 12
    assert all(warning.startswith("warned after") for *_, warning in rows)
    for attack in ("dense", "one row"):
        assert errors["rounded", attack][-1] < 0.5
    for attack in ("dense", "small", "one row"):
        assert errors["guarded", attack][-1] > 0.9 * 5.7
        assert errors["ladder", attack][-1] > errors["rounded", attack][-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("rollback", "12 of 12 commands on a ledger that lacks a row stopped and wrote nothing"),
        ("kill", "20 rounds of kill -9, the disk full in a fifth"),
        ("archives", "58 of 58 kinds refused in words"),
    ],
)
def test_an_attack_fails_and_has_its_line_in_the_table(part: str, found: str) -> None:
    command = [sys.executable, FOLDER / "attacks/all.py", "--quick", "--part", part]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    title, rule, line = done.stdout.splitlines()
    assert (title, rule) == ("| attack | result | command | commit and date |", "|---|---|---|---|")
    assert f" | {found}" in line
