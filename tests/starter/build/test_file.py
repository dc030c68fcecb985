"""The settings file: what is written is read again, and a mistake gets one line that names file, key and fix."""

from pathlib import Path

import pytest
from asked import accuracy_settings, ood_settings
from command_line import run

from starter.build.file import read_file, write_file
from starter.build.flags import OF_TRACK, OFTEN
from starter.build.settings import PLANS, every_field, fields_of, settings_of
from submission import UnusableInput

CHANGED = {
    "accuracy": accuracy_settings(
        source='a "quoted" \\ path\u00e9\U0001f600',
        classifiers=("a=x", "b"),
        val_from=("v",),
        ops_per_set=(0, 2),
        hidden=False,
    ),
    "ood": ood_settings(sizes=(50, 80), exclude=("a", "b"), ratio="1:1", detectors=("knn",), seed=2**62),
}


@pytest.mark.parametrize("track", PLANS)
def test_what_is_written_is_read_again(track, tmp_path):
    for settings in (settings_of(track, {}), CHANGED[track]):
        path = tmp_path / f"{settings.seed}{settings.source[0]}.toml"
        write_file(path, settings)
        found = read_file(path)
        assert found.pop("track") == track
        assert found.keys() == fields_of(track).keys()
        assert settings_of(track, found) == settings


@pytest.mark.parametrize("track", PLANS)
def test_every_setting_stands_in_the_file_and_in_the_help(track, tmp_path):
    write_file(tmp_path / "contest.toml", settings_of(track, {}))
    lines, helped = (tmp_path / "contest.toml").read_text().splitlines(), run("build", "--help").text
    for name in fields_of(track):
        (place,) = [i for i, line in enumerate(lines) if line.startswith(f"{name} = ")]
        assert lines[place - 1].startswith("# ")
    for heading in (OFTEN, *OF_TRACK.values()):
        assert f"{heading}:" in helped


def test_the_help_names_every_setting():
    from starter.build.declared import flag_of

    words = run("build", "--help").text.split()
    assert [name for name, field in every_field().items() if flag_of(name, field) not in words] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train_set = 3", "there is no setting 'train_set': did you mean train_sets?"),
        ("zzz = 3", "there is no setting 'zzz': `unseen build --write-settings FILE` lists all"),
        ("train_sets = 'x'", "train_sets must be a whole number, got 'x'"),
        ("train_sets = 1", "train_sets must be at least 2, got 1"),
        ("classifiers = 'a'", "classifiers must be a list, got 'a'"),
        ("hidden = 1", "hidden must be true or false, got 1"),
        ("seed = true", "seed must be a whole number, got True"),
        ("track = 'x'", "track must be accuracy or ood, got 'x'"),
        ("track = 3", "track must be accuracy or ood, got 3"),
        ("track = [['ood']]", "track must be accuracy or ood, got (['ood'],)"),
        ("track = 'ood'\ngroup = 'a'", "group is not of the ood track"),
        ("a = ", "cannot be read as TOML"),
        ("\udcff", "cannot be read as TOML"),
    ],
)
def test_a_mistake_is_told_in_one_line(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("contest.toml").write_bytes(text.encode(errors="surrogateescape"))
    result = run("build", "new", "--settings", "contest.toml", check=False)
    assert (result.code, result.text.count("\n")) == (2, 1)
    assert "contest.toml" in result.text
    assert message in result.text
    assert not Path("new").exists()


def test_a_missing_file_and_one_that_exists_are_told(tmp_path):
    with pytest.raises(UnusableInput, match="cannot be read as TOML"):
        read_file(tmp_path / "none.toml")
    (tmp_path / "mine.toml").write_text("# mine")
    with pytest.raises(UnusableInput, match="exists: name a new file"):
        write_file(tmp_path / "mine.toml", accuracy_settings())


def test_options_go_before_the_file_before_the_preset_before_defaults(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text("val_sets = 3\ntest_sets = 5\nhidden = true\ntest_from = ['x']\n")
    given = ("--test-sets", 0, "--write-settings", "all.toml", "--preset", "small", "--set-size", 70)
    run("build", "--settings", "mine.toml", *given)
    found = read_file(Path("all.toml"))
    assert (found["test_sets"], found["val_sets"], found["train_sets"], found["seed"]) == (0, 3, 40, 0)
    assert (found["set_size"], found["hidden"], found["ops_per_set"]) == (70, True, (1, 3))
    run("build", "--settings", "all.toml", "--no-hidden", "--write-settings", "shown.toml")
    assert not read_file(Path("shown.toml"))["hidden"]


def test_a_folder_must_be_named():
    result = run("build", check=False)
    assert (result.code, "name the folder to build in" in result.text) == (2, True)
