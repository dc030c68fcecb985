"""Choosing methods: settings as lines of text, what they set, and every way to get one of them wrong.

The summaries of methods, which stand in the command line's list and in the docs.
"""

import contextlib
import math
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from baselines import BASELINES, OOD_BASELINES, Estimator
from baselines.run.choose import SUMMARIES, choose, listing, parsed, set_parameters
from oracle import ORACLES
from submission import UnusableInput

KIT = {**BASELINES, **ORACLES}


class Typed(Estimator):
    def __init__(self, rate=0.1, steps=5, name="a", fast=False, limit=None):
        self.rate = rate
        self.steps = steps
        self.name = name
        self.fast = fast
        self.limit = limit


def test_parameters_are_set_in_place():
    methods = {"a": Typed(), "b": Typed()}
    set_parameters(methods, {"a": {"rate": 0.5, "steps": 7, "name": "x", "fast": True, "limit": 3}})
    assert methods["a"].get_params() == {"rate": 0.5, "steps": 7, "name": "x", "fast": True, "limit": 3}
    assert methods["b"].get_params() == Typed().get_params()
    set_parameters(methods, {})
    assert methods["b"].get_params() == Typed().get_params()


def test_a_whole_number_is_a_number():
    methods = {"a": Typed()}
    set_parameters(methods, {"a": {"rate": 2}})
    assert methods["a"].rate == 2.0
    assert type(methods["a"].rate) is float


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"z": {"rate": 1}}, "--set z.*: 'z' is not among the methods to run: a, constant"),
        (
            {"a": {"speed": 1}},
            "--set a.speed: a has no such parameter; it has fast, limit, name, rate, steps",
        ),
        ({"constant": {"x": 1}}, "--set constant.x: constant has no such parameter; it has none"),
        ({"a": {"steps": 2.5}}, "--set a.steps: 2.5 is no int, as the default 5 is"),
        ({"a": {"steps": True}}, "--set a.steps: True is no int, as the default 5 is"),
        ({"a": {"steps": "many"}}, "--set a.steps: 'many' is no int, as the default 5 is"),
        ({"a": {"rate": True}}, "--set a.rate: True is no float, as the default 0.1 is"),
        ({"a": {"rate": None}}, "--set a.rate: None is no float, as the default 0.1 is"),
        ({"a": {"name": 3}}, "--set a.name: 3 is no str, as the default 'a' is"),
        ({"a": {"fast": 1}}, "--set a.fast: 1 is no bool, as the default False is"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    methods = {"a": Typed(), "constant": clone(BASELINES["constant"])}
    with pytest.raises(UnusableInput) as error:
        set_parameters(methods, settings)
    assert str(error.value) == message
    assert methods["a"].get_params() == Typed().get_params()


def test_the_kits_own_parameters_can_be_set():
    methods = {name: clone(method) for name, method in {**BASELINES, **ORACLES}.items()}
    set_parameters(methods, {"ora-a": {"iterations": 17}})
    set_parameters(methods, {"fd": {"regressor": "ridge"}})
    assert methods["ora-a"].iterations == 17
    assert methods["fd"].regressor == "ridge"
    assert ORACLES["ora-a"].iterations != 17


@pytest.mark.parametrize("parameter", ["indicator", "needs"])
def test_what_a_baseline_is_made_of_is_no_parameter_of_a_line_of_text(parameter):
    methods = {"fd": clone(BASELINES["fd"])}
    with pytest.raises(
        UnusableInput, match=f"--set fd.{parameter}: fd has no such parameter; it has regressor"
    ):
        set_parameters(methods, {"fd": {parameter: "x"}})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("true", True),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ('"3"', "3"),
        ("plain", "plain"),
        ("a=b", "a=b"),
        (" ", " "),
    ],
)
def test_a_value_is_json_or_else_text(text, value):
    assert parsed([f"m:M.p={text}", "fd.x=1"]) == {"m:M": {"p": value}, "fd": {"x": 1}}


@pytest.mark.parametrize("line", ["", "atc", "atc=3", "atc.=3", ".x=3", "atc.x", "atc.x=", "=", ".="])
def test_what_is_no_setting_is_refused(line):
    with pytest.raises(UnusableInput) as error:
        parsed([line])
    assert str(error.value) == f"--set {line!r} is not METHOD.PARAM=VALUE, as in ora-a.iterations=2000"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NaN", "nan is no finite number"),
        ("Infinity", "inf is no finite number"),
        ("-Infinity", "-inf is no finite number"),
        ("1e999", "inf is no finite number"),
        ("9" * 400, "99999.* is no finite number"),
        ("9" * 100_000, "'9999.*' is no float, as the default 0.1 is"),
        ("[" * 100_000, r"'\[\[\[.*' is no float, as the default 0.1 is"),
        ("{}", "{} is no float, as the default 0.1 is"),
        ('""', "'' is no float, as the default 0.1 is"),
    ],
)
def test_numbers_that_are_none_are_refused_in_a_short_line(text, message):
    with pytest.raises(UnusableInput, match=f"^--set a.rate: {message}$") as error:
        set_parameters({"a": Typed()}, parsed([f"a.rate={text}"]))
    assert len(str(error.value)) < 150


def test_a_parameter_without_a_type_takes_no_infinity_either():
    with pytest.raises(UnusableInput, match=r"--set a\.limit: nan is no finite number"):
        set_parameters({"a": Typed()}, {"a": {"limit": float("nan")}})


@given(st.text())
def test_any_text_is_a_setting_or_refused(text):
    method = Typed()
    for line in (text, f"a.rate={text}", f"a.limit={text}"):
        with contextlib.suppress(UnusableInput):
            set_parameters({"a": method}, parsed([line]))
    assert type(method.rate) is float
    assert math.isfinite(method.rate)


def test_methods_are_chosen_as_copies_with_their_parameters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "own_choice.py").write_text(
        "from baselines import Estimator\n\n\nclass Own(Estimator):\n"
        "    def __init__(self, k=1):\n        self.k = k\n"
    )
    chosen = choose(["fd", "ora-a", "own_choice:Own"], ["ora-a.seed=4", "own_choice:Own.k=2"], KIT)
    assert list(chosen) == ["fd", "ora-a", "own_choice:Own"]
    assert chosen["fd"] is not BASELINES["fd"]
    assert (chosen["ora-a"].seed, ORACLES["ora-a"].seed, chosen["own_choice:Own"].k) == (4, 0, 2)
    del sys.modules["own_choice"]


def test_a_method_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(
        UnusableInput, match=r"no method 'xyz'; the kit has constant, .*, or give module:Class"
    ):
        choose(["atc", "xyz"], [], KIT)
    with pytest.raises(UnusableInput, match=r"no method 'ATC': did you mean atc\? the kit has constant, "):
        choose(["ATC"], [], KIT)


@pytest.mark.parametrize(
    ("name", "kit", "track", "other"),
    [("gscore-ude-w", BASELINES, "accuracy", "ood"), ("atc", OOD_BASELINES, "ood", "accuracy")],
)
def test_a_method_of_the_other_track_is_told_as_one(name, kit, track, other):
    told = rf"'{name}' is of the {other} track \(check-method takes --track {other}\), this is the {track} track;"
    with pytest.raises(UnusableInput, match=told):
        choose([name], [], kit, track)


@pytest.mark.parametrize("name", ["own_way", "own_way.py"])
def test_a_file_without_its_class_is_told_as_one(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_way.py").touch()
    told = f"no method '{name}': name the class in own_way.py too, as own_way:OwnWay$"
    with pytest.raises(UnusableInput, match=told):
        choose([name], [], KIT)


def test_the_listing_tells_what_is_read_and_what_can_be_set():
    text = listing({"fd": KIT["fd"], "ora-a": KIT["ora-a"]}, {"ora-a": "long"})
    lines = [line.split() for line in text.splitlines()[2:]]
    assert (lines[0][0], lines[0][-1]) == ("fd", "[moments]")
    assert lines[1] == ["--set", "fd.regressor=linear"]
    assert (lines[2][0], lines[2][-2:]) == ("ora-a", ["[moments,", "image_stats]"])
    assert lines[3] == ["runs", "only", "if", "named:", "long"]
    assert "ora-a.iterations=30000" in lines[4]
    assert len(lines) == 5


HOW_TO = Path(__file__).parents[3] / "docs/how-to/methods.md"


def test_every_method_of_the_kit_has_a_summary_and_no_other():
    assert SUMMARIES.keys() == {*BASELINES, *ORACLES, *OOD_BASELINES}


def test_the_tables_of_the_docs_name_the_same_methods():
    cells = re.findall(r"^\| (`.+?) \|", HOW_TO.read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for cell in cells for name in re.findall("`(.+?)`", cell)}
    assert named == SUMMARIES.keys()


def test_a_summary_fits_on_a_line_of_a_terminal():
    assert {name: text for name, text in SUMMARIES.items() if len(text) > 110 or "\n" in text} == {}
