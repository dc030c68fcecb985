"""What is said of competitions whose ranks would be an accident."""

import json
from dataclasses import replace

import numpy as np
import pytest
from rules import with_rules

from starter.competition.sense import doubts
from starter.competition.sets import PublicSets
from starter.images.arrays import write_npz
from submission import Competition, UnusableInput, write_predictions, write_solution
from submission.files import sha256
from submission.scoring import read_targets
from submission.solution import SolutionRow

ROWS = 40


@pytest.fixture
def sensible(fields):
    """Forty test sets of eight families and two sources, half of them public, one decimal."""
    names = [f"test_{i:04d}" for i in range(ROWS)]
    sizes = {**fields["sizes"], "test": dict.fromkeys(names, 400)}
    competition = Competition(**{**fields, "sizes": sizes, "subjects": ("cnn",), "decimals": 1})
    rows = [
        SolutionRow(f"cnn/{name}", 0.2 + 0.6 * i / ROWS, ("Public", "Private")[i % 2], "cnn", name, "natural")
        for i, name in enumerate(names)
    ]
    write_solution(competition.private / "solution.csv", rows)
    tests = [
        {"recipe": json.dumps({"name": name}), "family": f"f{i // 2 % 8}", "group": "natural"}
        for i, name in enumerate(names)
    ]
    (competition.private / "build.json").write_text(json.dumps({"test": tests}))
    for part in ("train", "val"):
        ids = competition.ids(part)
        path = competition.public / part / "targets.csv"
        write_predictions(path, dict(zip(ids, (0.3, 0.7), strict=True)), column="target")
    files = {
        f"{part}/targets.csv": sha256(competition.public / part / "targets.csv") for part in ("train", "val")
    }
    competition = replace(competition, files=files)
    competition.save()
    return competition


def told(competition):
    return list(doubts(competition))


def predicted(competition, error):
    """`constant` and a method that is off by `error`, on the validation sets."""
    targets = read_targets(competition, "val")
    folder = competition.root / "validation"
    write_predictions(folder / "constant.csv", dict.fromkeys(targets, 0.5))
    write_predictions(folder / "atc.csv", {name: value + error for name, value in targets.items()})


def test_nothing_is_said_of_a_sensible_one(sensible):
    predicted(sensible, 0.02)
    assert told(sensible) == []


def test_a_constant_within_the_noise_of_the_best_method(sensible):
    predicted(sensible, 0.18)
    (found,) = told(sensible)
    assert found.startswith(
        "on the validation sets the best method, atc (18.0 points), is not ahead of `constant` (20.0) by the "
        "sampling noise (4.0): methods cannot show their worth; build with "
    )


def test_digits_that_the_public_rows_do_not_allow(sensible):
    (found,) = told(with_rules(sensible, decimals=2))
    assert found.startswith("scores are published to 2 decimals, and their standard error on 20 public pred")
    assert found.endswith(
        "is about 3.2 points: so small a step ranks nobody and tells labels; build with --decimals 1"
    )
    assert told(with_rules(sensible, decimals=2, feedback="ladder")) == []


def test_one_source_and_few_families(sensible):
    path = sensible.private / "build.json"
    path.write_text(path.read_text().replace('"family": "f', '"family": "svhn", "x": "f'))
    families, source = told(sensible)
    assert families.startswith(
        "the test sets that decide the final ranks are of 1 family of shift, fewer than 6: "
    )
    assert source.startswith("all 40 natural test sets come from one source, svhn")
    path.write_text("{")
    with pytest.raises(UnusableInput, match=r"build\.json is damaged"):
        told(sensible)


def test_truths_of_mixes_that_hardly_spread_ask_for_other_ood_sets(ood_competition):
    rows = [
        SolutionRow(name, 0.5, ("Public", "Private")[i % 2], name.split("/")[0], name[-9:], "balanced")
        for i, name in enumerate(ood_competition.ids("test"))
    ]
    write_solution(ood_competition.private / "solution.csv", rows)
    ood_competition.save()
    assert "or more varied OOD sets (--ood), so that" in told(ood_competition)[0]


def test_truths_that_hardly_spread(competition):
    rows = [
        SolutionRow(
            name, 0.5 + 0.01 * (i % 2), ("Public", "Private")[i % 2], name.split("/")[0], name[-9:], "seen"
        )
        for i, name in enumerate(competition.ids("test"))
    ]
    write_solution(competition.private / "solution.csv", rows)
    competition.save()
    spread, few, _ = told(competition)
    assert spread.startswith(
        "the true values of the test sets hardly differ by more than their sampling noise for cnn (they spread by 0.5"
    )
    assert few.startswith("4 predictions count on the public board, fewer than 10: its order is an accident")
    assert few.endswith("build with more test sets (about 10 in place of 4)")


def test_a_classifier_near_chance(contest):
    assert not any("chance" in doubt for doubt in told(contest))
    reference = PublicSets(contest).reference
    wrong = replace(reference, labels=(reference.labels + 1) % len(contest.classes))
    write_npz(contest.public / "reference.npz", wrong)
    found = told(
        with_rules(
            contest, files={**contest.files, "reference.npz": sha256(contest.public / "reference.npz")}
        )
    )
    assert found[0].startswith("classifier tiny is right on ")
    assert "guessing would be on 20 %" in found[0] or "guessing would be on 10 %" in found[0]
    assert np.unique(reference.labels).size == len(contest.classes)
