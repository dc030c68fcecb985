"""CONTRIBUTING names files that exist, every room in its order, and the test commands that CI and the README have."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILES = sorted({path for path in re.findall(r"`([\w.-]+/[\w./-]*)`", TEXT) if "<" not in path})


def test_every_file_that_is_named_exists():
    assert len(FILES) > 20
    assert [path for path in FILES if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    ("pattern", "example"),
    [
        ("baselines/accuracy/<name>.py", "fd"),
        ("tests/baselines/accuracy/test_<name>.py", "fd"),
        ("starter/detectors/<name>.py", "msp"),
        ("leaderboard/export/<name>.py", "kaggle"),
        ("leaderboard/export/templates/<name>.md", "kaggle"),
    ],
)
def test_what_is_to_be_written_has_examples(pattern, example):
    assert f"`{pattern}`" in TEXT
    assert (ROOT / pattern.replace("<name>", example)).is_file()


@pytest.mark.parametrize("package", ["starter", "baselines", "leaderboard", "oracle", "benchmarks"])
def test_every_room_is_named(package):
    (line,) = re.findall(rf"^\| `{package}/` \| (.*) \|$", TEXT, re.MULTILINE)
    rooms = {path.parent.name for path in ROOT.glob(f"{package}/*/*.py")}
    assert rooms <= set(re.findall(r"`(\w+)`", line))


def test_registries_are_where_the_recipes_say():
    found = re.findall(r"`([A-Z]+)`\s\(`([\w/]+\.py)`\)", TEXT)
    assert len(found) == 4
    for name, path in found:
        assert re.search(rf"^{name}\b", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), path


@pytest.mark.parametrize("path", ["README.md", ".ci/run"])
def test_the_whole_run_is_the_readmes_and_cis(path):
    assert "OMP_NUM_THREADS=1 pytest -n 2\n" in (ROOT / path).read_text(encoding="utf-8").replace("`", "\n")
    assert "\nOMP_NUM_THREADS=1 pytest -n 2 " in TEXT
