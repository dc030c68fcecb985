"""The bundle keeps the rules of Codabench's unpacker, and hides the labels."""

import zipfile
from datetime import datetime, timedelta

import pytest
import yaml
from exports import START
from rules import with_fields

from leaderboard.export import export
from submission.solution import solution_of

RULES = {
    *("Add", "Add_And_Delete", "Add_And_Delete_Multiple"),
    *("Force_Last", "Force_Latest_Multiple", "Force_Best"),
}


@pytest.fixture
def bundle(competition, tmp_path):
    """The unpacked bundle."""
    return unpacked(competition, tmp_path)


def unpacked(competition, folder):
    path = export(competition, "codabench", folder / "out", START) / "bundle.zip"
    assert path.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist()[0] == "competition.yaml", "at the root"
        archive.extractall(folder / "bundle")
    return folder / "bundle"


def described(bundle):
    found = yaml.safe_load((bundle / "competition.yaml").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_what_the_unpacker_asks_for_is_there(competition, bundle):
    found = described(bundle)
    assert found["version"] == 2
    assert found["title"] == competition.name
    assert (bundle / found["image"]).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    for page in (found["terms"], *(page["file"] for page in found["pages"])):
        assert (bundle / page).read_text(encoding="utf-8").strip(), page
    assert all(page["title"] for page in found["pages"])
    evaluation = (bundle / "pages/evaluation.md").read_text().splitlines()
    assert [line for line in evaluation if line[:2] == "- "] == [f"- {rule}" for rule in competition.rules()]
    assert [task["index"] for task in found["tasks"]] == [0, 1]
    for task in found["tasks"]:
        assert (bundle / task["reference_data"]).is_dir()
        assert (bundle / task["scoring_program"] / "score.py").is_file()
        command = (bundle / task["scoring_program"] / "metadata.yaml").read_text()
        assert yaml.safe_load(command) == {"command": "python3 score.py"}
    assert not found["make_input_data_available"]


def test_phases_follow_each_other(bundle):
    phases = described(bundle)["phases"]
    assert [phase["index"] for phase in phases] == [0, 1]
    assert [phase["tasks"] for phase in phases] == [[0], [1]]
    times = [phase[end] for phase in phases for end in ("start", "end")]
    assert all(isinstance(time, str) for time in times), "YAML reads unquoted times as dates without them"
    moments = [datetime.strptime(time, "%Y-%m-%d %H:%M:%S") for time in times]
    assert moments == sorted(set(moments))
    assert moments[0] == START.replace(tzinfo=None)
    assert not phases[0].get("auto_migrate_to_this_phase")
    assert (phases[1]["max_submissions"], phases[1]["max_submissions_per_day"]) == (1, 1)
    assert all(isinstance(phase["execution_time_limit"], int) for phase in phases)


@pytest.mark.parametrize(("daily", "total", "shown"), [(3, 40, (3, 40)), (None, None, (0, 0))])
def test_limits_and_the_deadline_are_the_phases(competition, tmp_path, daily, total, shown):
    """A limit of 0 is none there as here; left out they are 5 and 100."""
    end = START + timedelta(days=9, hours=5)
    limited = with_fields(competition, daily_limit=daily, total_limit=total, deadline=end)
    limited.save()
    public, final = described(unpacked(limited, tmp_path))["phases"]
    assert (public["max_submissions_per_day"], public["max_submissions"]) == shown
    assert (public["end"], final["start"]) == ("2027-01-10 05:00:00", "2027-01-10 05:00:01")


def test_private_scores_are_hidden_until_the_end_and_the_smallest_error_comes_first(bundle):
    found = described(bundle)
    public, final = found["phases"]
    assert final["hide_output"] is final["hide_score_output"] is True
    assert not public.get("hide_output")
    assert not public.get("hide_score_output")
    (board,) = found["leaderboards"]
    assert board["hidden"]
    assert board["submission_rule"] in RULES
    (column,) = board["columns"]
    assert (column["key"], column["index"], column["sorting"], column["precision"]) == ("rmse", 0, "asc", 2)
    assert max(len(board["key"]), len(column["title"])) <= 36


@pytest.mark.parametrize("name", ['a "quoted": name # {{ 7 }}', "Ünïcode 🎈 名", "{x: [1"])
def test_any_name_of_a_competition_is_a_title(competition, tmp_path, name):
    named = with_fields(competition, name=name)
    named.save()
    assert described(unpacked(named, tmp_path))["title"] == name


def test_hidden_labels_are_in_the_reference_data_alone(competition, bundle, tmp_path):
    """Neither in the public data, nor on pages, nor in the scoring program, which participants may read."""
    rows = solution_of(competition)
    labels = {
        usage: [
            f"{row.id},{row.prediction!r}".encode()
            for row in rows
            if row.usage == usage and row.prediction != 0.5
        ]
        for usage in ("Public", "Private")
    }
    with zipfile.ZipFile(bundle / "participants.zip") as archive:
        archive.extractall(tmp_path / "participants")
    (bundle / "participants.zip").unlink()
    files = [path for folder in (bundle, tmp_path / "participants") for path in folder.rglob("*")]
    holding = {
        (path.relative_to(tmp_path).parts[1], usage)
        for path in files
        for usage, lines in labels.items()
        if path.is_file() and any(line in path.read_bytes() for line in lines)
    }
    assert holding == {("reference_public", "Public"), ("reference_final", "Private")}
    public = {path.name for path in (tmp_path / "participants").iterdir()}
    assert public == {competition.root.name}
