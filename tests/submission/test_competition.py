"""A competition's folder: what is saved is opened again, and what is damaged or changed is refused in one line."""

import json
import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest
from rules import with_fields

from submission import Competition, UnusableInput
from submission import competition as competition_module
from submission.files import sha256
from submission.scoring import read_targets
from submission.solution import solution_of

TWO = {"a": 1, "b": 1}
ZEROS = "0" * 64


def changed(competition, **fields):
    """Write other values into competition.json."""
    path = competition.public / "competition.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def test_opening_gives_what_was_saved(competition, monkeypatch):
    before = (competition.public / "competition.json").read_bytes()
    competition.save()
    assert (competition.public / "competition.json").read_bytes() == before
    assert Competition.open(str(competition.root)) == competition
    assert json.loads(before)["version"] == 2
    monkeypatch.chdir(competition.root.parent)
    assert Competition.open("comp").public == Path("comp/public")


def test_sets_keep_their_order_and_ids_go_by_subject(competition):
    assert competition.sets("val") == ("val_b", "val_a")
    assert competition.ids("val") == ("cnn/val_b", "cnn/val_a", "vit:b/val_b", "vit:b/val_a")
    found = read_targets(competition, "val")
    assert (tuple(found), [*found.values()]) == (competition.ids("val"), [0.1, 0.2, 0.3, 0.5])


def test_the_description_names_what_matters(competition):
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


def test_the_rules_are_kept_and_described(competition):
    deadline = datetime(2026, 12, 31, 11, 59, 58, tzinfo=timezone.utc)
    rules = {"daily_limit": 5, "total_limit": 1000, "deadline": deadline, "decimals": 1}
    with_fields(competition, **rules).save()
    opened = Competition.open(competition.root)
    assert {name: getattr(opened, name) for name in rules} == rules
    text = opened.describe()
    for rule in ("1 decimal.", "5 submissions per day", "1,000 submissions in", "2026-12-31 11:59:58 UTC"):
        assert rule in text


def test_a_file_is_handed_out_only_as_it_was_built(competition):
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


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("private/solution.csv", "0.9", "0.1"),
        ("public/competition.json", '"test_0001": 100', '"test_0001": 101'),
        ("private/build.json", '"sha256"', '"sha"'),
        ("private/build.json", "{", ""),
    ],
)
def test_nobody_is_scored_with_a_changed_file(competition, file, old, new):
    path = competition.root / file
    path.write_text(path.read_text().replace(old, new))
    mend = r"restore it from a backup, or remove .*competition\.json and run the first `unseen build` again"
    with pytest.raises(UnusableInput, match=f"is not the file that the build recorded .*: {mend}"):
        solution_of(Competition.open(competition.root))


def test_stopped_before_the_description_is_written_the_competition_is_not_finished(competition, monkeypatch):
    (competition.public / "competition.json").unlink()
    (competition.private / "build.json").unlink()

    def stop(path, text):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(competition_module, "write_text", stop)
        with pytest.raises(KeyboardInterrupt):
            competition.save()
    assert (competition.private / "build.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(UnusableInput, match="run the same `unseen build` again"):
        Competition.open(competition.root)
    competition.save()
    assert len(solution_of(Competition.open(competition.root))) == 8


def test_a_participants_copy_says_who_can_score(competition):
    (competition.private / "solution.csv").unlink()
    with pytest.raises(UnusableInput, match=r"solution\.csv is missing: restore it from a backup"):
        competition.require_private()
    shutil.rmtree(competition.private)
    copy = Competition.open(competition.root)
    copy.save()
    assert not competition.private.exists()
    with pytest.raises(UnusableInput, match=r"only the organizer.*unseen score --val"):
        solution_of(copy)


@pytest.mark.parametrize(
    ("folder", "problem"),
    [
        ("nowhere", "not a competition"),
        ("comp/public/competition.json", "not a competition"),
        ("half", "unseen build"),
    ],
)
def test_another_folder_is_refused(competition, folder, problem):
    (competition.root.parent / "half" / "private").mkdir(parents=True)
    with pytest.raises(UnusableInput, match=problem):
        Competition.open(competition.root.parent / folder)


def test_a_folder_of_another_format_is_told_its_release(competition):
    """Format 1 had other fields, and this kit's are missing there: none of that is damage."""
    path = competition.public / "competition.json"
    for form, release in ((1, r"release 1\.0\.0"), (3, "the newer release that built it")):
        path.write_text(json.dumps({"format": "unseen-competition", "version": form, "classifiers": ["a"]}))
        told = f"format {form}, this kit reads 2: use {release} or build anew$"
        with pytest.raises(UnusableInput, match=told):
            Competition.open(competition.root)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\xff", "[]"])
def test_a_damaged_description_is_refused(competition, text):
    (competition.public / "competition.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(UnusableInput, match=r"competition\.json is damaged"):
        Competition.open(competition.root)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("version", value) for value in ("2", None, True, 0, 2.5, 10**400)),
        ("name", "two\nlines"),
        ("name", ["x" * 10**6] * 5),
        ("track", "speed"),
        ("classes", ["a", "a"]),
        ("subjects", ["a/b"]),
        ("sizes", {"train": {"t": 1}, "val": {}}),
        ("sizes", {"train": {"t": 1}, "val": {}, "test": {"a": 1, "b": 0}}),
        ("sizes", {"train": {"t": 1}, "val": {}, "test": {"a": 1, "../b": 1}}),
        ("sizes", {"train": {"a": 1}, "val": {}, "test": TWO}),
        ("seed", 2**63),
        *(("files", {path: ZEROS}) for path in ("../a.csv", "/etc/a.csv", "a/../b.csv", "a\\b.csv")),
        *(("files", {path: ZEROS}) for path in ("nets.py", "clip/open_clip_config.json", "a.pt", "csv")),
        ("files", {"a.csv": "0" * 63}),
        ("decimals", 3),
        ("total_limit", 1.5),
        ("deadline", "2026-12-31T12:00:00"),
        ("colour" * 10**5, "red"),
    ],
)
def test_a_wrong_field_is_named_in_one_line(competition, field, value):
    changed(competition, **{field: value})
    twice = "|twice" if field == "sizes" else ""
    damage = rf"competition.json is damaged: .*({field[:6]}{twice})"
    with pytest.raises(UnusableInput, match=damage) as caught:
        Competition.open(competition.root)
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()
