"""Settings: what is refused, what a folder and a TOML file remember, what participants see, and presets."""

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest
from asked import accuracy_settings, ood_settings
from command_line import run

from starter.contest import named_settings as named
from submission import UnusableInput

CHANGED = {
    "accuracy": accuracy_settings(
        source='a "quoted" \\ path\u00e9\U0001f600',
        classifiers=("a=x", "b"),
        val_from=("v",),
        ops_per_set=(0, 2),
        referees=("lite0",),
        deadline="2027-01-01T01:30+02:00",
    ),
    "ood": ood_settings(sizes=(50, 80), exclude=("a", "b"), ratio="1:1", detectors=("knn",), seed=2**62),
}
OWN = ("x", "y")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"train_sets": 1}, "train_sets: .*got 1"),
        ({"train_sets": "many"}, "train_sets: .*got 'many'"),
        ({"classifiers": ("tiny=a.pt", "Tiny=b.pt")}, "classifiers: tiny is given twice"),
        ({"classifiers": ()}, "classifiers"),
        ({"test_sets": 1}, "test_sets must be at least 2"),
        ({"test_sets": 0}, "test_from PATH"),
        ({"group": "weather"}, "unknown operation group 'weather'; choose from default"),
        ({"ops_per_set": (2, 1)}, "ops_per_set must be LOW HIGH"),
        ({"ops_per_set": (3, 8)}, "HIGH <= 7, got 3 8"),
        ({"precision": "half"}, "precision: .*'float32'.*got 'half'"),
        *(
            ({"deadline": wrong}, f"deadline: .*got '?{wrong}")
            for wrong in ("soon", "20301231", "20301231235900", 20301231, 1.9e9, "31.12.2030", "2030", "1e9")
        ),
        ({"deadline": "2030-13-01T00:00"}, "deadline: .*month"),
        ({"hidden": True, "test_from": ("x",)}, "hidden needs test images of your own"),
        ({"detectors": ("msp",)}, "detectors: there is no such setting of the accuracy track"),
    ],
)
def test_settings_of_the_accuracy_track_are_refused_one_by_one(changes, word):
    with pytest.raises(UnusableInput, match=word):
        accuracy_settings(**changes)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"detectors": ("msp", "psm")}, "detectors: 'psm' is unknown; there are msp"),
        ({"detectors": ("msp", "msp")}, "detectors: msp is given twice"),
        ({"metrics": ("f1",)}, "metrics: 'f1' is unknown; there are fpr95"),
        ({"set_size": 30}, "set_size"),
        ({"ratio": "1"}, "ratio"),
        ({"ratio": "9:1", "sizes": (199, 300)}, "200 <= LOW"),
        ({"ratio": "any", "sizes": (19, 30)}, "20 <= LOW"),
        ({"sizes": (100, 50)}, "LOW <= HIGH"),
        *(({"ratio": wrong}, "ratio") for wrong in ("nan:1", "0:1", "1:0", "inf:1", "1:inf")),
        ({"classes": "m.csv", "images": "root", "ood": "x"}, "classes gives the OOD sets"),
        ({"hidden": True}, "hidden needs test_from PATH"),
        ({"hidden": True, "test_from": ("x",)}, "hidden needs test_ind PATH"),
        ({"test_ind": "x"}, "test_ind needs test_from"),
        ({"test_from": OWN}, "name one folder or zip"),
        ({"test_sets": 1}, "test_sets"),
    ],
)
def test_settings_of_the_ood_track_are_refused_one_by_one(changes, word):
    with pytest.raises(UnusableInput, match=word):
        ood_settings(**changes)


END = datetime(2026, 12, 31, 23, 30, tzinfo=timezone.utc)
TIMES = (
    *("2026-12-31T23:30", "2027-01-01T01:30+02:00", "2026-12-31 23:30:00Z", "20261231T2330"),
    *("20261231T233000Z", "2027-01-01T01:30+02", "2027-01-01 01:30 +0200", "20270101T0130+0200"),
    " 2026-12-31t23:30z ",
)


def test_a_deadline_is_a_time_or_the_end_of_a_day():
    for text in TIMES:
        assert accuracy_settings(deadline=text).deadline == END, text
    for text in ("2026-12-31", "2026-12-31Z"):
        assert accuracy_settings(deadline=text).deadline == END.replace(minute=59)


@pytest.mark.parametrize(
    ("given", "rows", "daily", "total"),
    [
        ({"decimals": 2, "total_limit": 7}, 30, 5, 7),
        ({"daily_limit": 0}, 30, None, None),
        ({"hidden": True}, 30, 5, 6),
        ({"hidden": True}, 4, 5, 3),
        ({"hidden": True, "total_limit": 9}, 30, 5, 9),
    ],
)
def test_rules_come_from_settings_and_a_hidden_competition_has_a_total_limit(given, rows, daily, total):
    images = {"test_sets": 0, "test_from": ("x",)} if "hidden" in given else {}
    limits = {"daily_limit": daily, "total_limit": total}
    rules = {"decimals": given.get("decimals", 1), "deadline": END, "free_invalid": False, **limits}
    rules["silent"] = "hidden" in given and rows < 10
    assert accuracy_settings(deadline=TIMES[0], **given, **images).rules(rows) == rules


@pytest.mark.parametrize("track", named.TRACKS)
def test_a_record_and_a_file_give_the_same_settings(track, tmp_path):
    for number, settings in enumerate((named.settings_of(track, {}), CHANGED[track])):
        recorded = json.loads(json.dumps(settings.model_dump(mode="json")))
        assert named.settings_of(recorded.pop("track"), recorded) == settings
        named.write_file(tmp_path / f"{number}.toml", settings)
        found = named.read_file(tmp_path / f"{number}.toml")
        assert named.settings_of(found.pop("track"), found) == settings
        with pytest.raises(UnusableInput, match=f"{number}.toml exists: name a new file"):
            named.write_file(tmp_path / f"{number}.toml", settings)


def test_public_settings_tell_no_path_and_nothing_of_the_test_sets():
    paths = {"test_from": ("/mnt/a",), "val_from": ("/mnt/b",), "source": "/home/ann/photos.zip"}
    shown = accuracy_settings(set_size=20, classifiers=("net=/home/ann/w.pt",), **paths).public()
    operations = {"group": "default", "ops_per_set": [3, 3]}
    sets = {"train_sets": 120, "set_size": 20, "datacv_splits": False, "resize": "crop"}
    assert shown == {**operations, **sets}
    assert shown == accuracy_settings(set_size=20, test_sets=7).public()
    ood = {"train_sets": 120, "ratio": "hidden", "fpr": "pool", "resize": "crop", "sizes": [125, 125]}
    assert ood_settings(contact="ann").public() == {**ood, "contact": "ann"}


def test_every_setting_has_its_help_and_its_option(tmp_path):
    helped = run("build", "--help-all").text
    for track in named.TRACKS:
        named.write_file(tmp_path / f"{track}.toml", named.settings_of(track, {}))
        lines = (tmp_path / f"{track}.toml").read_text().splitlines()
        for name in named.fields_of(track):
            (place,) = [i for i, line in enumerate(lines) if line.removeprefix("# ").startswith(f"{name} =")]
            assert lines[place - 1] == f"# {named.help_of(name)}"
            assert named.flag_of(name) in helped.split()
    for heading in ("Settings:", "More settings:", "of the accuracy track:", "of the ood track:"):
        assert heading in helped
    assert "[48; ood 40]" in named.help_of("test_sets")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("train_set = 3", "--train-set: there is no such setting"),
        ("train_sets = 'x'", "--train-sets"),
        ("track = 'x'", "--track 'x' is unknown"),
        ("a = ", "cannot be read as TOML"),
        ("\udcff", "cannot be read as TOML"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(text, word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("contest.toml").write_bytes(text.encode(errors="surrogateescape"))
    result = run("build", "new", "--settings", "contest.toml", "--dry-run", check=False)
    assert (result.code, result.text.count("\n"), word in result.text) == (2, 1, True), result.text
    assert not Path("new").exists()


def test_options_go_before_the_file_before_the_preset_before_defaults(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text("val_sets = 3\ntest_sets = 5\nhidden = true\ntest_from = ['x']\n")
    given = ("--test-sets", 0, "--write-settings", "all.toml", "--preset", "small", "--set-size", 70)
    run("build", "--settings", "mine.toml", *given)
    found = named.read_file(Path("all.toml"))
    assert (found["test_sets"], found["val_sets"], found["train_sets"], found["seed"]) == (0, 3, 40, 0)
    assert (found["set_size"], found["hidden"], found["ops_per_set"]) == (70, True, [1, 3])
    run("build", "--settings", "all.toml", "--no-hidden", "--write-settings", "shown.toml")
    assert not named.read_file(Path("shown.toml"))["hidden"]


def test_a_preset_is_settings_that_can_be_used_and_one_of_another_track_or_name_is_refused():
    for preset, track in ((name, track) for name in named.PRESETS for track in named.PRESETS[name]):
        assert named.settings_of(track, named.preset(preset, track)).train_sets >= 40
    for name in ("datacv2023", "tiny"):
        with pytest.raises(UnusableInput, match=f"preset '{name}' is none of the ood track, which has small"):
            named.preset(name, "ood")
