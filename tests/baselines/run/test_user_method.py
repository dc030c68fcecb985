"""A user's own method: the template, loading it, and every way to get one of them wrong."""

import sys

import numpy as np
import pytest
from mixes import gaussian_mixes

from baselines.contract.conformance import check_method
from baselines.run.choose import set_parameter
from baselines.run.user_method import class_name, load_method
from starter.observing.observation import NEEDS
from submission import UnusableInput
from unseen.templates import new_method

NO_NEEDS = ('"moments"', '["moments"]', '("moment",)', "(3,)", "None")


@pytest.fixture(autouse=True)
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


@pytest.mark.parametrize(
    "name", ["", "My_method", "2nd", "my method", "../x", "a.b", "é", "json", "numpy", "baselines"]
)
def test_what_cannot_name_a_module_is_refused(folder, name):
    with pytest.raises(UnusableInput, match="cannot name a module of yours"):
        new_method(name, folder)
    assert not list(folder.iterdir())


def test_a_file_that_is_there_is_kept(folder):
    (folder / "own_method.py").write_text("mine")
    with pytest.raises(UnusableInput, match=r"own_method\.py exists already"):
        new_method("own_method", folder)
    assert (folder / "own_method.py").read_text() == "mine"


CLASS = "from baselines import Estimator\nclass Own(Estimator):\n def _predict(self, o): return 0.5\n"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("import own_not_there", "No module named 'own_not_there'"),
        ("x = 1", "has no attribute 'Own'"),
        ("class Own(", "SyntaxError"),
        ("1 / 0", r"ZeroDivisionError: division by zero \(own_a\.py:1\)$"),
        ("\nraise SystemExit(3)", r"SystemExit: 3 \(own_a\.py:2\)$"),
        ("Own = 3", "scikit-learn estimator"),
        ("class Own: pass", "scikit-learn estimator"),
        (
            "from sklearn.preprocessing import StandardScaler as Own",
            r"StandardScaler is a transformer: .* a regressor",
        ),
        (CLASS.replace("_predict", "judge"), "abstract"),
        (CLASS.replace("_predict", "predict"), "Own: a method defines _fit and _predict"),
        (f"{CLASS} def __init__(self, k): self.k = k", "missing 1 required positional argument: 'k'"),
        (f"{CLASS} def __init__(self): 1 / 0", r"ZeroDivisionError: division by zero \(own_a\.py:4\)$"),
        (f"{CLASS} def __init__(self): exit(1)", r"SystemExit: 1 \(own_a\.py:4\)$"),
        (f"{CLASS} def __init__(self, k=1): self.power = k", "no attribute 'k'"),
        (f"{CLASS} def __init__(self, k=1): self.k = [k]", "Cannot clone"),
        *((f"{CLASS} needs = {needs}", "needs must be a tuple of names among moments") for needs in NO_NEEDS),
    ],
)
def test_what_cannot_be_used_is_told(folder, text, word):
    (folder / "own_a.py").write_text(text)
    with pytest.raises(UnusableInput, match=rf"^own_a:Own: .*{word}"):
        load_method("own_a:Own")


@pytest.mark.parametrize("spec", ["", "own", "own:", ":Own", "own_missing:Own"])
def test_what_is_no_module_and_class_is_refused(spec):
    with pytest.raises(UnusableInput, match=f"^{spec}: "):
        load_method(spec)


def test_needs_that_name_fields_are_taken(folder):
    (folder / "own_a.py").write_text(f"{CLASS} needs = {NEEDS!r}")
    assert load_method("own_a:Own").needs == NEEDS


def test_ctrl_c_while_a_module_is_imported_stays_ctrl_c(folder):
    (folder / "own_a.py").write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_method("own_a:Own")


def test_a_file_in_the_working_folder_takes_no_modules_place(folder):
    (folder / "colorsys.py").write_text("raise RuntimeError('the wrong one')")
    sys.modules.pop("colorsys", None)
    for _ in range(2):
        with pytest.raises(
            UnusableInput, match=r"colorsys\.py is not imported, since an installed module has its name"
        ):
            load_method("colorsys:Own")
        assert sys.path.index(str(folder)) == len(sys.path) - 1


@pytest.mark.parametrize("file", ["baselines.py", "baselines/own_part.py", "json.py"])
def test_an_own_file_that_an_installed_module_hides_is_named(folder, file):
    (folder / "methods" / file).parent.mkdir(parents=True)
    (folder / "methods" / file).write_text("MINE = 1\n")
    module = file.removesuffix(".py").replace("/", ".")
    (folder / "methods" / "own_method.py").write_text(f"from {module} import MINE\n{CLASS}")
    shown = folder / "methods" / file.partition("/own_part")[0]
    for spec in ("own_method.py:Own", f"{module.partition('.')[0]}.py:Own"):
        with pytest.raises(UnusableInput, match="has its name: rename that file") as caught:
            load_method(f"methods/{spec}")
        assert f": {shown} is not imported" in str(caught.value)


def test_what_an_own_module_lacks_is_no_matter_of_names(folder):
    (folder / "own_part.py").write_text("")
    (folder / "own_method.py").write_text("from own_part import MINE\n" + CLASS)
    with pytest.raises(UnusableInput, match="cannot import name 'MINE' from 'own_part'"):
        load_method("own_method:Own")
