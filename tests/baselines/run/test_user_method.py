"""A user's own method: the template, loading it, and every way to get one of them wrong."""

import sys

import numpy as np
import pytest
from mixes import gaussian_mixes
from sklearn.base import clone

from baselines.contract.conformance import check_method, example_meta_train
from baselines.run.choose import set_parameters
from baselines.run.user_method import class_name, load_method, new_method
from starter.observing.observation import NEEDS
from submission import UnusableInput

META = example_meta_train()


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


def written(folder, name, text):
    (folder / f"{name}.py").write_text(text)
    return name


def test_the_new_method_runs_as_it_is(folder):
    path = new_method("own_margin", folder)
    assert path == folder / "own_margin.py"
    assert "my_method" not in path.read_text()
    assert "MyMethod" not in path.read_text()
    method = load_method("own_margin:OwnMargin")
    assert [check for check in check_method(method) if check.problem] == []
    set_parameters({"own_margin:OwnMargin": method}, {"own_margin:OwnMargin": {"degree": 2}})
    assert clone(method).fit(META).predict(META.sets[:2]).shape == (2,)


def test_a_new_method_of_the_ood_track_runs_as_it_is(folder):
    path = new_method("own_mixes", folder, "ood")
    for name in ("my_ood_method", "MyOodMethod", "my_method", "MyMethod"):
        assert name not in path.read_text()
    method = load_method("own_mixes:OwnMixes")
    assert [check for check in check_method(method, "ood") if check.problem] == []
    meta = gaussian_mixes(sets=40, share=(0.5, 0.5))
    method.fit(meta)
    assert np.corrcoef(method.predict(meta.sets), meta.targets)[0, 1] > 0.8
    with pytest.raises(UnusableInput, match="--track 'x' is unknown; there are accuracy, ood"):
        new_method("own_other", folder, "x")


def test_two_new_methods_are_two_modules(folder):
    """The second is found though the folder was searched before it was written."""
    for name in ("own_first", "own_second"):
        new_method(name, folder)
        assert type(load_method(f"{name}:{class_name(name)}")).__module__ == name


@pytest.mark.parametrize(
    "name", ["", "My_method", "2nd", "my-method", "my method", "../x", "a.b", "_x", "é", "x\n"]
)
def test_what_is_no_module_name_is_refused(folder, name):
    with pytest.raises(UnusableInput) as error:
        new_method(name, folder)
    message = "cannot name a module: use lower-case letters, digits and _, such as my_method"
    assert str(error.value) == f"{name!r} {message}"
    assert not list(folder.iterdir())


@pytest.mark.parametrize("name", ["json", "numpy", "torch", "baselines", "unseen", "class", "none"])
def test_a_name_that_is_taken_is_refused(folder, name):
    with pytest.raises(
        UnusableInput, match=f"'{name}' (would hide an installed module|is a keyword of Python)"
    ):
        new_method(name, folder)
    assert not list(folder.iterdir())


def test_a_file_that_is_there_is_kept(folder):
    (folder / "own_method.py").write_text("mine")
    with pytest.raises(UnusableInput, match=r"own_method\.py exists already; choose another name, or remove"):
        new_method("own_method", folder)
    assert (folder / "own_method.py").read_text() == "mine"


@pytest.mark.parametrize("spec", ["", "own", "own:", ":Own"])
def test_what_is_no_module_and_class_is_refused(spec):
    with pytest.raises(UnusableInput, match=r"is not of the form module:Class, such as my_method:MyMethod"):
        load_method(spec)


def test_a_missing_module_is_named_with_the_folder(folder):
    with pytest.raises(UnusableInput) as error:
        load_method("own_missing:Own")
    assert str(error.value) == (
        f"own_missing:Own: no module named 'own_missing', neither installed nor in {folder}"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import own_not_there", "no module named 'own_not_there', neither installed nor in"),
        ("x = 1", "module 'own_a' has no attribute 'Own'"),
        ("import numpy as np\nnp.no_such", "has no attribute 'no_such'"),
        ("class Own(", "the module fails on import: SyntaxError"),
        ("1 / 0", r"the module fails on import: ZeroDivisionError: division by zero \(own_a\.py:1\)$"),
        ("\nraise SystemExit(3)", r"the module fails on import: SystemExit: 3 \(own_a\.py:2\)$"),
        (
            "from numpy import no_such",
            "the module fails on import: ImportError: cannot import name 'no_such'",
        ),
        ("Own = 3", "is neither a subclass of unseen.Estimator nor"),
        ("class Own: pass", "is neither a subclass of unseen.Estimator nor"),
        (
            "from baselines import BASELINES\nOwn = BASELINES['fd']",
            "is neither a subclass of unseen.Estimator nor",
        ),
        (
            "from baselines import Estimator\nclass Own(Estimator):\n def __init__(self, k): self.k = k",
            "every argument of its constructor needs a default: .*'k'",
        ),
    ],
)
def test_a_class_that_cannot_be_used_is_told(folder, text, message):
    written(folder, "own_a", text)
    with pytest.raises(UnusableInput, match=rf"^own_a:Own:? .*{message}"):
        load_method("own_a:Own")


CLASS = "from baselines import Estimator\nclass Own(Estimator):\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            " def __init__(self): 1 / 0",
            "its constructor fails: ZeroDivisionError: division by zero (own_a.py:3)",
        ),
        (" def __init__(self): exit(1)", "its constructor fails: SystemExit: 1 (own_a.py:3)"),
        (
            " def __init__(self): self.x = 1 + None",
            "its constructor fails: TypeError: unsupported operand type(s) for +: 'int' and 'NoneType' (own_a.py:3)",
        ),
        (
            " def __init__(self, k=1): self.power = k",
            "its constructor must store each argument unchanged in an attribute of its name: AttributeError: 'Own'",
        ),
        (
            " def __init__(self, k=1): self.k = [k]",
            "its constructor must store each argument unchanged in an attribute of its name: RuntimeError: Cannot clone",
        ),
        (
            " def __init__(self, *k): pass",
            "its constructor must store each argument unchanged in an attribute of its name: RuntimeError: ",
        ),
    ],
)
def test_a_constructor_that_cannot_be_used_is_told(folder, body, message):
    written(folder, "own_a", CLASS + body)
    with pytest.raises(UnusableInput) as error:
        load_method("own_a:Own")
    assert str(error.value).startswith(f"own_a:Own: {message}")


@pytest.mark.parametrize("needs", ["moments", ["moments"], ("moment",), ("",), (3,), None, {"moments"}])
def test_needs_that_name_no_field_are_refused(folder, needs):
    written(folder, "own_a", f"{CLASS} needs = {needs!r}")
    with pytest.raises(UnusableInput) as error:
        load_method("own_a:Own")
    assert str(error.value) == (
        f'own_a:Own: needs must be a tuple of names among {", ".join(NEEDS)}, as in ("moments",); got {needs!r}'
    )


@pytest.mark.parametrize("needs", [(), ("moments",), NEEDS])
def test_needs_that_name_fields_are_taken(folder, needs):
    written(folder, "own_a", f"{CLASS} needs = {needs!r}")
    assert load_method("own_a:Own").needs == needs


def test_ctrl_c_while_a_module_is_imported_stays_ctrl_c(folder):
    written(folder, "own_a", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_method("own_a:Own")


def test_a_file_in_the_working_folder_takes_no_modules_place(folder):
    written(folder, "colorsys", "raise RuntimeError('the wrong one')")
    sys.modules.pop("colorsys", None)
    with pytest.raises(UnusableInput, match=r"colorsys:Own: module 'colorsys' has no attribute 'Own'"):
        load_method("colorsys:Own")
    assert sys.path[-1] == str(folder)
    load_again = list(sys.path)
    with pytest.raises(UnusableInput):
        load_method("colorsys:Own")
    assert sys.path == load_again


def test_a_file_of_a_packages_name_is_told_to_be_renamed(folder):
    written(folder, "submission", "class Own: pass\n")
    with pytest.raises(
        UnusableInput, match=r"submission is a package of the kit; rename your file submission\.py"
    ):
        load_method("submission:Own")
