"""A file of recipes: what it gives back, and that every fault is named with its line."""

from pathlib import Path

import pytest

import starter.sets.recipefile
from starter.sets.recipe import draw_recipes
from starter.sets.recipefile import read_recipes
from submission.errors import UnusableInput

ONE = '{"name": "one", "seed": 1, "ops": [["rain", {}]]}'


def test_what_was_written_is_read(tmp_path: Path) -> None:
    recipes, path = draw_recipes("wide", 30, 7, 500), tmp_path / "mine.jsonl"
    path.write_text("\n".join(recipe.to_json() for recipe in recipes) + "\n\n")
    assert read_recipes(path) == recipes
    assert read_recipes(str(path)) == recipes
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_recipes(path) == recipes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{ONE}\n{{", r"mine.jsonl, line 2: not a recipe"),
        (f"\n\n{ONE}\n{ONE}", r"mine.jsonl, line 4: the name 'one' stands in line 3 already"),
        (
            ONE.replace("rain", "reign"),
            r"mine.jsonl, line 1: recipe 'one', operation 1: unknown operation 'reign'",
        ),
        (ONE.replace("{}", '{"strength": 7}'), r"line 1: .*'strength' must be a number from 0 to 1, got 7"),
        ("[" * 100_000, r"line 1: not a recipe"),
        ("", r"mine.jsonl: holds no recipe"),
        (" \n\t\n", r"mine.jsonl: holds no recipe"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(text)
    with pytest.raises(UnusableInput, match=message) as caught:
        read_recipes(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 3000


def test_what_is_no_readable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnusableInput, match=r"none.jsonl: no such file"):
        read_recipes(tmp_path / "none.jsonl")
    with pytest.raises(UnusableInput, match="not a file"):
        read_recipes(tmp_path)
    path = tmp_path / "mine.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnusableInput, match=r"mine.jsonl: cannot be read"):
        read_recipes(path)
    monkeypatch.setattr(starter.sets.recipefile, "MAX_BYTES", 2)
    with pytest.raises(UnusableInput, match="more than 0 MB"):
        read_recipes(path)
