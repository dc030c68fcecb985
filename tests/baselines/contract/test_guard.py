"""Guarding methods: one line for whatever goes wrong, and Ctrl-C as it is."""

import sys

import numpy as np
import pytest

from baselines import Constant, Estimator
from baselines.contract.conformance import example_meta_train
from baselines.contract.guard import LONGEST, folder_of, fractions_problem, guarded, predict_one, told
from submission import UnusableInput

META = example_meta_train(sets=2)


@pytest.fixture
def raised(tmp_path, monkeypatch):
    """The error of a module in a folder of its own whose function `fail` holds this statement."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    def from_statement(statement):
        (tmp_path / "own_guarded.py").write_text(f"import numpy as np\n\n\ndef fail():\n    {statement}\n")
        sys.modules.pop("own_guarded", None)
        import own_guarded

        with pytest.raises(BaseException) as error:  # noqa: PT011
            own_guarded.fail()
        return error.value

    yield from_statement
    sys.modules.pop("own_guarded", None)


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero (own_guarded.py:5)"),
        ("{}['x']", "KeyError: 'x' (own_guarded.py:5)"),
        ("raise ValueError", "ValueError (own_guarded.py:5)"),
        ("raise ValueError('two\\n  lines')", "ValueError: two lines (own_guarded.py:5)"),
        ("raise SystemExit(3)", "SystemExit: 3 (own_guarded.py:5)"),
        ("np.linalg.inv(np.zeros((2, 2)))", "LinAlgError: Singular matrix (own_guarded.py:5)"),
    ],
)
def test_an_error_is_told_with_the_line_of_the_folder(raised, tmp_path, statement, line):
    error = raised(statement)
    assert told(error, tmp_path) == line
    assert told(error, None) == line.removesuffix(" (own_guarded.py:5)")
    assert told(error, tmp_path / "elsewhere") == line.removesuffix(" (own_guarded.py:5)")


def test_a_long_message_is_cut(raised, tmp_path):
    assert len(told(raised("raise ValueError('x' * 10**6)"), tmp_path)) < LONGEST + 60


def test_the_folder_is_that_of_the_class(tmp_path):
    import baselines.accuracy.constant

    assert str(folder_of(Constant)) == baselines.accuracy.constant.__file__.removesuffix("/constant.py")
    assert folder_of(type("Made", (Estimator,), {"__module__": "nowhere"})) is None


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit(0), StopIteration(), MemoryError("much")])
def test_what_a_step_raises_names_method_and_step(error):
    with pytest.raises(UnusableInput) as told_error, guarded("mine:M", "fit for tiny", Constant()):
        raise error
    assert str(told_error.value).startswith(f"mine:M fails in fit for tiny: {type(error).__name__}")
    assert str(told_error.value).endswith("; `unseen check-method mine:M` tells more")


def test_an_error_that_is_clear_by_itself_gets_the_methods_name():
    with (
        pytest.raises(UnusableInput, match=r"^ora-a: iterations are too few$"),
        guarded("ora-a", "fit", Constant()),
    ):
        raise UnusableInput("iterations are too few")


def test_ctrl_c_stays_ctrl_c():
    with pytest.raises(KeyboardInterrupt), guarded("mine:M", "fit", Constant()):
        raise KeyboardInterrupt


def test_a_fraction_is_a_prediction():
    assert predict_one(Constant().fit(META), META.sets[0]) == pytest.approx(META.targets.mean())


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (np.array([0.0, 1.0]), ""),
        (np.array([0, 1]), ""),
        (np.array([0.5]), "predict must give an array (2,), got (1,)"),
        (np.array([[0.5, 0.5]]), "predict must give an array (2,), got (1, 2)"),
        (np.float64(0.5), "predict must give an array (2,), got ()"),
        ([0.5, 0.5], "predict must give an array (2,), got list"),
        (None, "predict must give an array (2,), got NoneType"),
        ("0.5", "predict must give an array (2,), got str"),
        (np.array(["0.5", "0.5"]), "predict must give numbers, got an array of <U3"),
        (np.array([0.5, None]), "predict must give numbers, got an array of object"),
        (np.array([True, False]), "predict must give numbers, got an array of bool"),
        (np.array([0.5j, 0]), "predict must give numbers, got an array of complex128"),
        (np.array([np.nan, 0]), "predictions must be finite and in [0, 1], got [nan  0.]"),
        (np.array([0, np.inf]), "predictions must be finite and in [0, 1], got [ 0. inf]"),
        (np.array([50, 0]), "predictions must be finite and in [0, 1], got [50  0]"),
        (np.array([-0.1, 0]), "predictions must be finite and in [0, 1], got [-0.1  0. ]"),
    ],
)
def test_predictions_that_are_none_are_told(values, problem):
    assert fractions_problem(values, 2) == problem
