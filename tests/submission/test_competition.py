import contextlib
import json
import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest
from rules import with_fields

from submission import Competition, UnusableInput
from submission.files import sha256
from submission.scoring import read_targets
from submission.solution import solution_of

TWO = {"a": 1, "b": 1}
ZEROS = "0" * 64


def changed(competition: Competition, **fields: object) -> None:
    """Write other values into competition.json."""
    path = competition.public / "competition.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def test_opening_gives_what_was_saved(competition: Competition) -> None:
    before = (competition.public / "competition.json").read_bytes()
    competition.save()
    assert (competition.public / "competition.json").read_bytes() == before
    assert Competition.open(str(competition.root)) == competition
    assert json.loads(before)["version"] == 2


def test_sets_keep_their_order_and_ids_go_by_subject(competition: Competition) -> None:
    assert competition.sets("val") == ("val_b", "val_a")
    assert competition.ids("val") == ("cnn/val_b", "cnn/val_a", "vit:b/val_b", "vit:b/val_a")
    assert competition.subject_of("vit:b/val_a") == "vit:b"
    assert competition.set_of("vit:b/val_a") == "val_a"


def test_targets_and_solution_are_read(competition: Competition) -> None:
    assert read_targets(competition, "val") == dict(
        zip(competition.ids("val"), (0.1, 0.2, 0.3, 0.5), strict=True)
    )
    solution = solution_of(competition)
    assert tuple(row.id for row in solution) == competition.ids("test")
    assert [row.prediction for row in solution[:4]] == [0.9, 0.7, 0.5, 0.3]


def test_the_description_names_what_matters(competition: Competition) -> None:
    lines = competition.describe().splitlines()
    assert lines[:7] == [
        "Two classifiers",
        "  track        accuracy: predict the accuracy of each classifier on each set, as a fraction",
        "  source       glyphs: 3 classes, 24 x 32 pixels",
        "  classifiers  cnn, vit:b (float32)",
        "  train        2 sets of 500 images",
        "  val          2 sets of 100 to 200 images",
        "  test         4 sets of 100 to 400 images",
    ]
    odd = with_fields(competition, settings={"referees": [{"name": "\x1b[31mred\n"}]}).describe()
    assert r"referees     \x1b[31mred\n" in odd
    assert "\x1b" not in odd


def test_the_rules_are_kept_and_described(competition: Competition) -> None:
    deadline = datetime(2026, 12, 31, 11, 59, 58, tzinfo=timezone.utc)
    rules = {"daily_limit": 5, "total_limit": 1000, "deadline": deadline, "decimals": 1}
    with_fields(competition, **rules).save()
    opened = Competition.open(competition.root)
    assert {name: getattr(opened, name) for name in rules} == rules
    text = opened.describe()
    for rule in ("1 decimal.", "5 submissions per day", "1,000 submissions in", "2026-12-31 11:59:58 UTC"):
        assert rule in text


def test_a_file_is_handed_out_only_as_it_was_built(competition: Competition) -> None:
    path = competition.public / "sample_submission.csv"
    assert competition.file("sample_submission.csv") == path
    path.write_text("id,prediction\n")
    with pytest.raises(UnusableInput, match=r"sample_submission.csv was changed"):
        competition.file("sample_submission.csv")
    path.unlink()
    with pytest.raises(UnusableInput, match=r"sample_submission.csv is missing"):
        competition.file("sample_submission.csv")
    with pytest.raises(UnusableInput, match=r"train/targets.csv is not part"):
        read_targets(competition, "train")
    path.write_bytes(b"\xe9")
    with pytest.raises(UnusableInput, match=r"sample_submission\.csv: not UTF-8"):
        with_fields(competition, files={path.name: sha256(path)}).text(path.name)


def test_targets_that_do_not_fit_the_sets_are_refused(competition: Competition) -> None:
    path = competition.public / "competition.json"
    path.write_text(path.read_text().replace('"val_a"', '"val_c"'))
    with pytest.raises(UnusableInput, match=r"targets.csv does not fit .* line 3, id 'cnn/val_a'"):
        read_targets(Competition.open(competition.root), "val")


def test_a_participants_copy_says_who_can_score(competition: Competition) -> None:
    shutil.rmtree(competition.private)
    copy = Competition.open(competition.root)
    for call in (Competition.require_private, solution_of):
        with pytest.raises(UnusableInput, match=r"only the organizer.*unseen score --val"):
            call(copy)


@pytest.mark.parametrize(
    ("folder", "problem"),
    [
        ("nowhere", "not a competition"),
        ("comp/public/competition.json", "not a competition"),
        ("comp/public", "not a competition"),
        ("half", "unseen build"),
    ],
)
def test_a_folder_that_is_no_competition_is_refused(
    competition: Competition, folder: str, problem: str
) -> None:
    (competition.root.parent / "half" / "private").mkdir(parents=True)
    with pytest.raises(UnusableInput, match=problem):
        Competition.open(competition.root.parent / folder)


@pytest.mark.parametrize("version", [1, 3, "2", True, None])
def test_another_version_is_refused_in_one_line(competition: Competition, version: object) -> None:
    changed(competition, format="unseen-competition", version=version)
    with pytest.raises(UnusableInput, match="this kit reads 2: build the competition again") as caught:
        Competition.open(competition.root)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\xff", "[]", "{}", "9" * 1_000_000])
def test_a_damaged_description_is_refused(competition: Competition, text: str) -> None:
    (competition.public / "competition.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(UnusableInput, match=r"competition\.json is damaged"):
        Competition.open(competition.root)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "two\nlines"),
        ("name", "x" * 10**6),
        ("name", ["x" * 10**6] * 5),
        ("track", "speed"),
        ("visibility", {}),
        ("source", None),
        ("classes", ["one"]),
        ("classes", ["a", "a"]),
        ("image_size", [32]),
        ("image_size", [32, 0]),
        ("image_size", [32, 10**12]),
        ("subjects", []),
        ("subjects", ["a/b"]),
        ("subjects", ["cnn", "cnn"]),
        ("sizes", {"train": {"t": 1}, "val": {}}),
        ("sizes", {"train": {}, "val": {}, "test": TWO}),
        ("sizes", {"train": {"t": 1}, "val": {}, "test": {"a": 1}}),
        ("sizes", {"train": {"t": 1}, "val": {}, "test": {"a": 1, "b": 0}}),
        ("sizes", {"train": {"t": 1}, "val": {}, "test": {"a": 1, "b": True}}),
        ("sizes", {"train": {"t": 1.0}, "val": {}, "test": TWO}),
        ("sizes", {"train": {"t": 1}, "val": {}, "test": {"a": 1, "../b": 1}}),
        ("precision", "half"),
        ("engine", 1),
        ("seed", -1),
        ("seed", 2**63),
        ("settings", []),
        ("files", {"../private/solution.csv": ZEROS}),
        ("files", {"/etc/passwd": ZEROS}),
        ("files", {"a/../b": ZEROS}),
        ("files", {"a//b": ZEROS}),
        ("files", {"a\\b": ZEROS}),
        ("files", {"": ZEROS}),
        ("files", {"a": "0" * 63}),
        ("files", {"a": "G" * 64}),
        ("decimals", 3),
        ("decimals", -1),
        ("daily_limit", 0),
        ("total_limit", 1.5),
        ("deadline", "soon"),
        ("deadline", "2026-12-31T12:00:00"),
        ("colour", "red"),
        ("colour" * 10**5, "red"),
    ],
)
def test_a_wrong_field_is_named_in_one_line(competition: Competition, field: str, value: object) -> None:
    changed(competition, **{field: value})
    with pytest.raises(UnusableInput, match=rf"competition.json is damaged: .*{field[:6]}") as caught:
        Competition.open(competition.root)
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


def test_two_sets_of_one_name_are_refused(competition: Competition) -> None:
    with pytest.raises(ValueError, match="twice"):
        with_fields(competition, sizes={"train": {"a": 1}, "val": {}, "test": TWO})


@pytest.mark.parametrize("depth", [100, 300, 1000, 100_000])
def test_deep_nesting_is_refused_or_harmless(competition: Competition, depth: int) -> None:
    path = competition.public / "competition.json"
    changed(competition, settings={"a": "deep"})
    path.write_text(path.read_text().replace('"deep"', "[" * depth + "]" * depth))
    with contextlib.suppress(UnusableInput):
        Competition.open(competition.root)


def test_a_huge_description_is_not_read(competition: Competition) -> None:
    with (competition.public / "competition.json").open("r+b") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(UnusableInput, match="is damaged"):
        Competition.open(competition.root)


def test_folders_are_found_from_anywhere(competition: Competition, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(competition.root.parent)
    assert Competition.open("comp").public == Path("comp/public")
