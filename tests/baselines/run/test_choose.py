"""Choosing methods by name or object, a user's own too, their settings, and every way to get one wrong."""

import contextlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from mixes import gaussian_mixes
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from baselines import BASELINES, OOD_BASELINES, Estimator
from baselines.contract.conformance import check_method
from baselines.run.choose import choose, class_name, listing, load_method, methods_given, set_parameter
from baselines.run.tabular import Tabular
from oracle import ORACLES
from starter.observing.observation import NEEDS
from submission import UnusableInput
from unseen.templates import new_method

KIT = {**BASELINES, **ORACLES}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder; what is imported from it is forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("own_"):
            del sys.modules[name]


class Typed(Estimator):
    def __init__(self, rate=0.1, steps=5, name="a", fast=False, limit=None):
        self.rate = rate
        self.steps = steps
        self.name = name
        self.fast = fast
        self.limit = limit

    def _predict(self, observation):
        return self.rate


class Changes(Typed):
    def __init__(self, rate=0.1):
        self.rate = [rate]


class NotATuple(Typed):
    needs = "features"


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


def test_methods_are_chosen_as_copies_with_their_parameters(folder):
    (folder / "own_choice.py").write_text("from sklearn.linear_model import Ridge\n\nmodel = Ridge()\n")
    names, settings = ["fd", "ora-a", *["own_choice:model"] * 2], ["ora-a.seed=4", "weak.alpha=9"]
    chosen = choose(names, settings, KIT, called=["fd", "ora-a", "weak", "strong"])
    assert list(chosen) == ["fd", "ora-a", "weak", "strong"]
    assert chosen["fd"] is not BASELINES["fd"]
    assert (chosen["ora-a"].seed, ORACLES["ora-a"].seed) == (4, 0)
    assert (chosen["weak"].regressor.alpha, chosen["strong"].regressor.alpha) == (9, 1)


def test_the_device_is_that_of_methods_that_train_unless_a_setting_or_an_object_has_its_own():
    chosen = choose(["fd", "ora-a", "syp"], ["syp.device=cpu"], KIT, device="cuda:1")
    assert (chosen["ora-a"].device, chosen["syp"].device) == ("cuda:1", "cpu")
    assert choose(["ora-a"], [], KIT)["ora-a"].device == "cpu"
    given = methods_given({"one": "ora-a", "two": clone(ORACLES["ora-a"])}, KIT, "accuracy", "cuda")
    assert (given["one"].device, given["two"].device) == ("cuda", "cpu")


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
        (3, "^3 is no method: yours is .* unseen.Estimator or a regressor"),
        (Changes(), r"^Changes: __init__ must store its arguments as they are \(.* parameter rate"),
        (NotATuple(), "^NotATuple: needs must be a tuple of names among moments"),
        ([StandardScaler()], "^StandardScaler is a transformer: .* give a regressor"),
        ([LogisticRegression(C=2)], r"^LogisticRegression\(C=2\) is a classifier"),
        ([KMeans(2)], r"^KMeans\(n_clusters=2\) is a transformer"),
        ([DBSCAN()], "^DBSCAN is no regressor"),
        ([GridSearchCV(LogisticRegression(), {})], "is a classifier"),
        ([make_pipeline(Ridge(), StandardScaler())], r"^Ridge\+StandardScaler ends in StandardScaler, a tr"),
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
    assert all(f"{name} " in listing(KIT, dict.fromkeys(KIT, "")) for name in KIT)


HOW_TO = Path(__file__).parents[3] / "docs/how-to/methods.md"


def test_every_method_of_the_kit_has_a_summary_and_a_line_in_the_docs():
    kit = {**KIT, **OOD_BASELINES}
    assert {name: each.summary for name, each in kit.items() if not 20 < len(each.summary) <= 110} == {}
    cells = re.findall(r"^\| (`.+?) \|", HOW_TO.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for cell in cells for name in re.findall("`(.+?)`", cell)} == kit.keys()


NO_NEEDS = ('"moments"', '["moments"]', '("moment",)', "(3,)", "None")


@pytest.mark.parametrize("track", ["accuracy", "ood"])
def test_the_new_method_runs_as_it_is(folder, track):
    path = new_method("own_margin", folder, track)
    assert path == folder / "own_margin.py"
    for name in ("my_ood_method", "MyOodMethod", "my_method", "MyMethod"):
        assert name not in path.read_text()
    method = load_method("own_margin:OwnMargin")
    assert [check for check in check_method(method, track) if check.problem] == []
    set_parameter({"own_margin:OwnMargin": method}, "own_margin:OwnMargin.degree=2")
    assert method.degree == 2
    if track == "ood":
        meta = gaussian_mixes(sets=40, share=(0.5, 0.5))
        assert np.corrcoef(method.fit(meta).predict(meta.sets), meta.targets)[0, 1] > 0.8


def test_new_methods_are_modules_of_their_own_named_as_such_or_as_files(folder):
    """Each is found though the folder was searched before it was written."""
    (folder / "methods").mkdir()
    for name, place in (("own_first", ""), ("own_second", "./"), ("own_third", "methods/")):
        new_method(name, folder / place)
        spec = f"{place}{name}.py" if place else name
        assert type(load_method(f"{spec}:{class_name(name)}")).__module__ == name
    (folder / "own_first.py").write_text("mine")
    with pytest.raises(UnusableInput, match=r"own_first\.py exists already"):
        new_method("own_first", folder)
    assert (folder / "own_first.py").read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["", "My_method", "2nd", "my method", "../x", "a.b", "é", "json", "numpy", "baselines"]
)
def test_what_cannot_name_a_module_is_refused(folder, name):
    with pytest.raises(UnusableInput, match="cannot name a module of yours"):
        new_method(name, folder)
    assert not list(folder.iterdir())


CLASS = "from baselines import Estimator\nclass Own(Estimator):\n def _predict(self, o): return 0.5\n"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("import own_not_there", "No module named 'own_not_there'"),
        ("Owns = 1", r"has no attribute 'Own' in .*own_a\.py; did you mean Owns\?"),
        ("class Own(", "SyntaxError"),
        ("1 / 0", r"ZeroDivisionError: division by zero \(own_a\.py:1\)$"),
        ("\nraise SystemExit(3)", r"SystemExit: 3 \(own_a\.py:2\)$"),
        ("Own = 3", "is no method: yours is a module:Class, or in Python"),
        ("class Own: pass", "is no method: yours is a module:Class, or in Python"),
        (
            "from sklearn.preprocessing import StandardScaler as Own",
            "StandardScaler is a transformer: .* a reg",
        ),
        (CLASS.replace("_predict", "judge"), "abstract"),
        *((CLASS.replace("_predict", own), "Own: a method defines _fit and _") for own in ("fit", "predict")),
        (f"{CLASS} def __init__(self, k): self.k = k", "missing 1 required positional argument: 'k'"),
        (f"{CLASS} def __init__(self): 1 / 0", r"ZeroDivisionError: division by zero \(own_a\.py:4\)$"),
        (f"{CLASS} def __init__(self): exit(1)", r"SystemExit: 1 \(own_a\.py:4\)$"),
        (f"{CLASS} def __init__(self, k=1): self.power = k", "no attribute 'k': in __init__, write self.k"),
        (f"{CLASS} def __init__(self, k=1): self.k = [k]", "Cannot clone"),
        *((f"{CLASS} needs = {needs}", "needs must be a tuple of names among moments") for needs in NO_NEEDS),
    ],
)
def test_what_cannot_be_used_is_told(folder, text, word):
    (folder / "own_a.py").write_text(text)
    with pytest.raises(UnusableInput, match=rf"^own_a:Own: .*{word}"):
        load_method("own_a:Own")


@pytest.mark.parametrize("spec", ["", "own", "own:", ":Own", "own_missing:Own"])
def test_what_is_no_module_and_class_is_refused(folder, spec):
    with pytest.raises(UnusableInput, match=f"^{spec}: "):
        load_method(spec)


def test_needs_that_name_fields_are_taken_and_ctrl_c_at_an_import_stays_ctrl_c(folder):
    (folder / "own_a.py").write_text(f"{CLASS} needs = {NEEDS!r}")
    assert load_method("own_a:Own").needs == NEEDS
    (folder / "own_b.py").write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_method("own_b:Own")


def test_a_file_in_the_working_folder_takes_no_modules_place(folder):
    (folder / "colorsys.py").write_text("raise RuntimeError('the wrong one')")
    sys.modules.pop("colorsys", None)
    for _ in range(2):
        with pytest.raises(UnusableInput, match=r"no attribute 'Own' in /.*/colorsys\.py"):
            load_method("colorsys:Own")
        assert sys.path.index(str(folder)) == len(sys.path) - 1
