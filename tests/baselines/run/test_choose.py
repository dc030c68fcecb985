"""Choosing methods by name or object: settings as lines of text, and every way to get one of them wrong."""

import contextlib
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN, KMeans
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from baselines import BASELINES, OOD_BASELINES, Estimator
from baselines.run.choose import choose, listing, methods_given, set_parameter
from baselines.run.tabular import Tabular
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

    def _predict(self, observation):
        return self.rate


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("rate=0.5", 0.5),
        ("rate=2", 2.0),
        ("steps=7", 7),
        ("fast=true", True),
        ("limit=[1, 2]", [1, 2]),
        ("limit=null", None),
        ('name="3"', "3"),
        ("name=plain", "plain"),
        ("name=a=b", "a=b"),
    ],
)
def test_a_line_sets_a_parameter_of_one_method_to_json_or_text(setting, value):
    methods = {"m:M": Typed(), "b": Typed()}
    set_parameter(methods, f"m:M.{setting}")
    found = getattr(methods["m:M"], setting.partition("=")[0])
    assert (found, type(found)) == (value, type(value))
    assert methods["b"].get_params() == Typed().get_params()


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        *((line, "is not METHOD.PARAM=VALUE") for line in ("", "atc", "atc=3", "atc.=3", ".x=3", "a.rate=")),
        ("z.rate=1", "'z' is not among the methods to run: a, fd"),
        ("a.speed=1", "no such parameter; it has fast, limit, name, rate, steps"),
        ("fd.needs=x", "no such parameter; it has regressor$"),
        ("a.steps=2.5", "2.5 is no int, as the default 5"),
        ("a.steps=many", "'many' is no int"),
        ("a.rate=null", "None is no float"),
        ("a.rate={}", "{} is no float"),
        ("a.name=3", "3 is no str"),
        ("a.fast=1", "1 is no bool"),
        (f"a.rate={'9' * 100_000}", "'9999.*' is no float"),
    ],
)
def test_what_cannot_be_set_is_refused_in_a_short_line(setting, word):
    methods = {"a": Typed(), "fd": BASELINES["fd"]}
    with pytest.raises(UnusableInput, match=f"^set .*{word}") as error:
        set_parameter(methods, setting)
    assert len(str(error.value)) < 150
    assert methods["a"].get_params() == Typed().get_params()


@drawn(st.text())
def test_any_text_is_a_setting_or_refused(text):
    method = Typed()
    for line in (text, f"a.rate={text}", f"a.limit={text}"):
        with contextlib.suppress(UnusableInput):
            set_parameter({"a": method}, line)
    assert type(method.rate) is float


def test_methods_are_chosen_as_copies_with_their_parameters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "own_choice.py").write_text("from sklearn.linear_model import Ridge\n\nmodel = Ridge()\n")
    names, settings = ["fd", "ora-a", *["own_choice:model"] * 2], ["ora-a.seed=4", "weak.alpha=9"]
    chosen = choose(names, settings, KIT, called=["fd", "ora-a", "weak", "strong"])
    assert list(chosen) == ["fd", "ora-a", "weak", "strong"]
    assert chosen["fd"] is not BASELINES["fd"]
    assert (chosen["ora-a"].seed, ORACLES["ora-a"].seed) == (4, 0)
    assert (chosen["weak"].regressor.alpha, chosen["strong"].regressor.alpha) == (9, 1)
    del sys.modules["own_choice"]


def given(methods):
    return methods_given(methods, BASELINES, "accuracy")


def test_objects_are_named_after_what_was_set():
    methods = ["fd", Typed(), Typed(rate=0.5), Ridge(alpha=2), Ridge(), BASELINES["cot"]]
    assert list(given(methods)) == ["fd", "Typed", "Typed(rate=0.5)", "Ridge(alpha=2)", "Ridge", "cot"]
    assert list(given({"one": Typed(), "two": "fd"})) == ["one", "two"]
    assert isinstance(given(Ridge())["Ridge"], Tabular)
    assert given("fd")["fd"] is not BASELINES["fd"]


@pytest.mark.parametrize(
    ("methods", "word"),
    [
        ([Typed(), Typed()], "two methods are called Typed"),
        (Typed, r"^Typed is a class: give an instance, Typed\(...\)$"),
        (Ridge, "Ridge is a class"),
        (3, "no method 3"),
        ([StandardScaler()], "^StandardScaler is a transformer: .* give a regressor"),
        ([LogisticRegression(C=2)], r"^LogisticRegression\(C=2\) is a classifier"),
        ([KMeans(2)], r"^KMeans\(n_clusters=2\) is a transformer"),
        ([DBSCAN()], "^DBSCAN is no regressor"),
        ([GridSearchCV(LogisticRegression(), {})], "is a classifier"),
        (
            [make_pipeline(Ridge(), StandardScaler())],
            r"^Ridge\+StandardScaler ends in StandardScaler, a transformer",
        ),
        ([make_pipeline(StandardScaler(), LogisticRegression())], "ends in LogisticRegression, a classifier"),
        (["ATK"], "no method 'ATK': did you mean atc"),
        (["gscore-ude-w"], "no method 'gscore-ude-w': the accuracy track has"),
        (["own_way"], "module:Class"),
        ({"fd": Typed()}, "fd is a method of the kit"),
        ({"../x": Typed()}, "'../x' cannot name a method"),
    ],
)
def test_mistakes_are_named(methods, word):
    with pytest.raises(UnusableInput, match=word):
        given(methods)


def test_the_listing_tells_what_is_read_and_what_can_be_set():
    text = listing({"fd": KIT["fd"], "ora-a": KIT["ora-a"]}, {"fd": "by default", "ora-a": "if named"})
    lines = [line.split() for line in text.splitlines()[2:]]
    assert (lines[0][0], lines[0][-1]) == ("fd", "[moments]")
    assert lines[1:3] == [["runs", "by", "default"], ["--set", "fd.regressor=linear"]]
    assert (lines[3][0], lines[3][-2:]) == ("ora-a", ["[moments,", "image_stats]"])
    assert lines[4] == ["runs", "if", "named"]
    assert "ora-a.iterations=30000" in lines[5]


HOW_TO = Path(__file__).parents[3] / "docs/how-to/methods.md"


def test_every_method_of_the_kit_has_a_summary_and_a_line_in_the_docs():
    kit = {**KIT, **OOD_BASELINES}
    assert {name: each.summary for name, each in kit.items() if not 20 < len(each.summary) <= 110} == {}
    cells = re.findall(r"^\| (`.+?) \|", HOW_TO.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for cell in cells for name in re.findall("`(.+?)`", cell)} == kit.keys()
