import contextlib
import json
import shutil
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from submission import Competition, UnusableInput
from submission.files import sha256
from submission.scoring import read_targets
from submission.solution import solution_of


def test_opening_gives_what_was_saved(competition: Competition) -> None:
    before = (competition.public / "competition.json").read_bytes()
    competition.save()
    assert (competition.public / "competition.json").read_bytes() == before
    assert Competition.open(str(competition.root)) == competition
    assert list(json.loads(before)) == sorted(json.loads(before))


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
    assert competition.describe() == (
        "Two classifiers\n"
        "  track        accuracy: predict the accuracy of each classifier on each set, as a fraction\n"
        "  source       glyphs: 3 classes, 24 x 32 pixels\n"
        "  classifiers  cnn, vit:b (float32)\n"
        "  train        2 sets of 500 images\n"
        "  val          2 sets of 100 to 200 images\n"
        "  test         4 sets of 100 to 400 images\n"
        "  practice     the test images are public and can be matched to their source: scores are for practice"
    )


def test_the_rules_are_kept_and_described(fields: dict) -> None:
    deadline = datetime(2026, 12, 31, 11, 59, 58, tzinfo=timezone.utc)
    rules = {"daily_limit": 5, "total_limit": 1000, "deadline": deadline, "feedback": "ladder", "decimals": 1}
    Competition(**fields, **rules).save()
    opened = Competition.open(fields["root"])
    assert {name: getattr(opened, name) for name in rules} == rules
    assert opened.describe().splitlines()[-3:] == [
        "  limits       submissions per team: 5 per day (UTC), 1,000 in total",
        "  deadline     2026-12-31 11:59:58 UTC",
        "  feedback     a coarse score, if it beats the best baseline and the team's best by more than chance",
    ]


def test_a_competition_from_before_there_were_rules_opens_without_any(competition: Competition) -> None:
    path = competition.public / "competition.json"
    document = json.loads(path.read_text())
    for name in ("feedback", "daily_limit", "total_limit", "deadline"):
        del document[name]
    path.write_text(json.dumps(document))
    assert Competition.open(competition.root) == competition


def test_a_file_is_handed_out_only_as_it_was_built(competition: Competition) -> None:
    path = competition.public / "sample_submission.csv"
    assert competition.file("sample_submission.csv") == path
    path.write_text("id,prediction\n")
    with pytest.raises(UnusableInput, match=r"sample_submission.csv was changed or is damaged: unpack"):
        competition.file("sample_submission.csv")
    path.unlink()
    with pytest.raises(UnusableInput, match=r"sample_submission.csv is missing"):
        competition.file("sample_submission.csv")
    with pytest.raises(UnusableInput, match=r"train/targets.csv is not part of the competition"):
        read_targets(competition, "train")


def test_targets_that_do_not_fit_the_sets_are_refused(competition: Competition) -> None:
    path = competition.public / "competition.json"
    path.write_text(path.read_text().replace('"val_a"', '"val_c"'))
    with pytest.raises(
        UnusableInput, match=r"targets.csv does not fit public/competition.json: line 3, id 'cnn/val_a'"
    ):
        read_targets(Competition.open(competition.root), "val")


def test_a_participants_copy_says_who_can_score(competition: Competition) -> None:
    shutil.rmtree(competition.private)
    copy = Competition.open(competition.root)
    for call in (Competition.require_private, solution_of):
        with pytest.raises(UnusableInput, match=r"only the organizer.*unseen score --val"):
            call(copy)


def test_a_folder_that_is_none_or_no_competition_is_refused(tmp_path: Path, competition: Competition) -> None:
    with pytest.raises(UnusableInput, match="nowhere is no such folder"):
        Competition.open(tmp_path / "nowhere")
    with pytest.raises(UnusableInput, match="is not a folder"):
        Competition.open(Path(__file__))
    with pytest.raises(UnusableInput, match=r"is not a competition: it holds no public/competition.json"):
        Competition.open(tmp_path)
    with pytest.raises(UnusableInput, match="is a part of a competition: give the folder above it"):
        Competition.open(competition.public)


@pytest.mark.parametrize("part", ["public", "private"])
def test_a_half_built_competition_says_how_to_finish_it(tmp_path: Path, part: str) -> None:
    (tmp_path / part).mkdir()
    with pytest.raises(UnusableInput, match="only half built: run the same `unseen build` again"):
        Competition.open(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ('{"a": 1, "a": 2}', "'a' is given twice in one object"),
        ('{"a": NaN}', "NaN is not a number of JSON"),
        ("\xff", "not valid JSON"),
        ('{"a": 1' + "0" * 400, "not valid JSON \\(a whole number of 401 digits"),
        ("9" * 1_000_000, "not valid JSON \\(a whole number of 1,000,000 digits"),
        ("[]", "does not describe a competition"),
        ('{"format": "other"}', "does not describe a competition"),
        (
            '{"format": "unseen-competition", "version": 2}',
            "has format version 2, this kit reads 1: use the release",
        ),
        ('{"format": "unseen-competition", "version": true}', "has format version True"),
        ('{"format": "unseen-competition", "version": 1}', "field 'classes' is missing"),
    ],
)
def test_a_damaged_description_is_told(competition: Competition, text: str, message: str) -> None:
    (competition.public / "competition.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(UnusableInput, match=message):
        Competition.open(competition.root)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "two\nlines"),
        ("name", 3),
        ("name", "x" * 10**6),
        ("name", ["x" * 10**6] * 5),
        ("name", "\ud800"),
        ("track", "speed"),
        ("track", ["accuracy"]),
        ("visibility", "secret"),
        ("visibility", {}),
        ("source", None),
        ("classes", ["one"]),
        ("classes", ["a", "a"]),
        ("classes", "ab"),
        ("classes", [*map(str, range(10**5)), "99999"]),
        ("image_size", [32]),
        ("image_size", [32, 0]),
        ("image_size", [32, 32.0]),
        ("image_size", [32, 10**12]),
        ("subjects", []),
        ("subjects", ["a/b"]),
        ("subjects", ["cnn", "cnn"]),
        ("subjects", [["cnn"]]),
        ("sizes", []),
        ("sizes", {"train": {}, "val": {}}),
        ("sizes", {"train": {}, "val": {}, "test": {"a": 1}}),
        ("sizes", {"train": {}, "val": {"a": 1}, "test": {"a": 1, "b": 1}}),
        ("sizes", {"train": {}, "val": {}, "test": {"a": 1, "b": 0}}),
        ("sizes", {"train": {}, "val": {}, "test": {"a": 1, "b": True}}),
        ("sizes", {"train": [], "val": {}, "test": {"a": 1, "b": 1}}),
        ("sizes", {"train": {}, "val": {}, "test": {"a": 1, "b": 1}}),
        ("sizes", {"train": {"t": 10**12}, "val": {}, "test": {"a": 1, "b": 1}}),
        ("sizes", {"train": {"t": 1.0}, "val": {}, "test": {"a": 1, "b": 1}}),
        ("sizes", {"train": {"t": 1}, "val": {}, "test": {"a": 1, "../b": 1}}),
        ("sizes", {"train": {"t": 1}, "val": {}, "test": {"a": 1, "b" * 10**6: 1}}),
        ("precision", "half"),
        ("engine", "onnx"),
        ("seed", -1),
        ("seed", 1.5),
        ("seed", 2**63),
        ("settings", []),
        ("files", []),
        ("files", {"../private/solution.csv": "0" * 64}),
        ("files", {"/etc/passwd": "0" * 64}),
        ("files", {"a/../b": "0" * 64}),
        ("files", {"a//b": "0" * 64}),
        ("files", {"": "0" * 64}),
        ("files", {"x" * 10**6: "0" * 64}),
        ("files", {"a": "0" * 63}),
        ("files", {"a": "G" * 64}),
        ("decimals", 10),
        ("feedback", "all"),
        ("feedback", ["rounded"]),
        ("daily_limit", 0),
        ("daily_limit", True),
        ("total_limit", 1.5),
        ("deadline", "soon"),
        ("deadline", 5),
        ("deadline", "2026-12-31T12:00:00"),
        ("deadline", "2026-12-31T12:00:00+01:00"),
        ("deadline", "2026-12-31T12:00:00.5+00:00"),
        ("decimals", None),
        ("decimals", -(10**18)),
        ("colour", "red"),
        ("colour" * 10**6, "red"),
    ],
)
def test_a_wrong_field_is_named(competition: Competition, field: str, value: object) -> None:
    path = competition.public / "competition.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    names = "set|sizes" if field == "sizes" else "subject" if field == "subjects" else field[:6]
    with pytest.raises(UnusableInput, match=rf"competition.json is damaged: .*({names})") as caught:
        Competition.open(competition.root)
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


TWO = {"a": 1, "b": 1}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", "", "name: must be a line of text, got ''"),
        ("track", "speed", "track: must be one of accuracy"),
        ("visibility", "secret", "visibility: must be one of practice, hidden, got 'secret'"),
        ("precision", "half", "precision: must be one of float32, float16, bfloat16, got 'half'"),
        ("engine", 1, "engine: must be one of torch, openvino, got 1"),
        ("seed", -1, "seed: must be a whole number, 0 to 2^63 - 1, got -1"),
        ("decimals", 10, "decimals: must be 0 to 9, got 10"),
        ("feedback", "all", "feedback: must be one of rounded, ladder, guarded, got 'all'"),
        ("daily_limit", 0, "daily_limit: must be 1 to 1,000,000, or none, got 0"),
        ("deadline", 5, "deadline: must be a UTC time in whole seconds, or none, got 5"),
        ("deadline", "soon", "deadline: 'soon' is not a time"),
        ("image_size", [32], "image_size: must be (height, width), 1 to 2^20 pixels, got (32,)"),
        ("classes", ["one"], "classes: must be a tuple of 2 or more names, got ('one',)"),
        ("classes", ["a", "a"], "classes: 'a' is given twice"),
        ("sizes", [], "sizes: must hold train, val, test"),
        (
            "sizes",
            {"train": [], "val": {}, "test": TWO},
            "sizes: must be {part: {set: number of images}}, got []",
        ),
        (
            "sizes",
            {"train": {"t": 0}, "val": {}, "test": TWO},
            "sizes: must be 1 to 1,000,000,000 images for set 't', got 0",
        ),
        ("sizes", {"train": {"a": 1}, "val": {}, "test": TWO}, "sizes: two sets are named 'a'"),
        (
            "sizes",
            {"train": {}, "val": {}, "test": TWO},
            "sizes: at least one train set is needed",
        ),
        (
            "sizes",
            {"train": {"t": 1}, "val": {}, "test": {"a": 1}},
            "sizes: at least two test sets are needed, for the public and the private score",
        ),
        ("settings", [], "settings: must be plain JSON (no tuples, no NaN), got []"),
        ("settings", {"a": "\ud800"}, "settings: must be plain JSON (no tuples, no NaN), got"),
        ("files", [], "files: must be {path below public/: SHA-256}, got []"),
        ("files", {"../a": "0" * 64}, "files: must be paths below public/, got '../a'"),
        ("files", {"a": "G"}, "files: must be 64 hexadecimal digits for 'a', got 'G'"),
        ("colour", "red", "field 'colour' is unknown"),
    ],
)
def test_what_is_wrong_with_a_field_is_told(
    competition: Competition, field: str, value: object, message: str
) -> None:
    path = competition.public / "competition.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(UnusableInput) as caught:
        Competition.open(competition.root)
    assert str(caught.value).startswith(f"{path} is damaged: {message}")
    assert str(caught.value).endswith("; unpack or restore it")


def test_what_it_is_described_by_can_be_printed(competition: Competition) -> None:
    told = replace(competition, settings={"referees": [{"name": "\x1b[31mred\n"}]}).describe()
    assert r"referees     \x1b[31mred\n" in told.splitlines()[-5]
    assert "\x1b" not in told


def test_a_text_that_is_no_utf_8_is_named(competition: Competition) -> None:
    path = competition.public / "sample_submission.csv"
    path.write_bytes(b"\xe9")
    changed = replace(competition, files={**competition.files, path.name: sha256(path)})
    with pytest.raises(UnusableInput, match=r"sample_submission\.csv: not UTF-8 text"):
        changed.text(path.name)


@pytest.mark.parametrize("depth", [*range(100, 1100, 5), 100_000])
def test_deep_nesting_is_refused_or_harmless(competition: Competition, depth: int) -> None:
    path = competition.public / "competition.json"
    deep = "[" * depth + "]" * depth
    found = {**json.loads(path.read_text()), "settings": {"a": "deep"}}
    path.write_text(json.dumps(found).replace('"deep"', deep))
    if depth < 1000:
        with contextlib.suppress(UnusableInput):
            Competition.open(competition.root)
    else:
        with pytest.raises(UnusableInput, match="is damaged"):
            Competition.open(competition.root)


def test_numbers_that_json_cannot_write_are_refused(competition: Competition) -> None:
    path = competition.public / "competition.json"
    path.write_text(path.read_text().replace('"train_sets": 2', '"train_sets": 1e400'))
    with pytest.raises(UnusableInput, match=r"settings: must be plain JSON .*got .*inf"):
        Competition.open(competition.root)


def test_a_list_of_ids_has_an_end(fields: dict) -> None:
    sizes = {**fields["sizes"], "train": dict.fromkeys((f"t{n}" for n in range(500_001)), 1)}
    with pytest.raises(ValueError, match="sizes: more than 1,000,000 pairs of a subject and a train set"):
        Competition(**{**fields, "sizes": sizes})


def test_a_huge_description_is_not_read(competition: Competition) -> None:
    with (competition.public / "competition.json").open("r+b") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(
        UnusableInput, match=r"competition\.json is damaged: it is larger than 8,388,608 bytes"
    ):
        Competition.open(competition.root)


@pytest.mark.parametrize("settings", [{"a": (1, 2)}, {"a": float("nan")}, {"a": Path()}, {1: "a"}])
def test_settings_must_come_back_from_json_as_they_are(fields: dict, settings: dict) -> None:
    with pytest.raises(ValueError, match="settings: must be plain JSON"):
        Competition(**{**fields, "settings": settings})
