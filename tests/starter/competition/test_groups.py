"""Groups of validation sets: written as planned, read back in order, refused where they do not fit."""

import hashlib
from dataclasses import replace

import pytest

from starter.build.plan import Planned
from starter.competition.groups import GROUPS_FILE, read_groups, write_groups
from starter.sets.recipe import Recipe
from submission import UnusableInput


def test_a_built_competition_tells_the_groups_of_its_validation_sets(built):
    groups = read_groups(built)
    assert tuple(groups) == built.sets("val")
    assert {group for group, _ in groups.values()} == {"seen", "unseen", "natural"}
    assert not any("test" in name for name in groups)


def test_names_with_commas_and_quotes_come_back(contest):
    names = [('a"b', "natural"), ("x,y", "natural-few")]
    planned = [
        Planned("base", Recipe(name, 0, ()), group, family)
        for name, (family, group) in zip(("val_1", "val_2"), names, strict=True)
    ]
    path = contest.public / GROUPS_FILE
    write_groups(path, [plan.key for plan in planned])
    changed = replace(
        contest,
        files={**contest.files, GROUPS_FILE: hashlib.sha256(path.read_bytes()).hexdigest()},
        sizes={**contest.sizes, "val": {"val_1": 9, "val_2": 9}},
    )
    assert read_groups(changed) == {"val_1": ("natural", 'a"b'), "val_2": ("natural-few", "x,y")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "its columns must be"),
        ("set,group\n", "its columns"),
        ("set,group,family\nx,y\n", "its columns"),
        ("set,group,family\nx,y,z\n", "other sets"),
    ],
)
def test_a_file_that_does_not_fit_is_told(contest, text, message):
    path = contest.public / GROUPS_FILE
    path.write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    with pytest.raises(UnusableInput, match=message):
        read_groups(replace(contest, files={**contest.files, GROUPS_FILE: digest}))
