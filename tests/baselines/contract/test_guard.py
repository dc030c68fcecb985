"""Guarding methods: one line for whatever goes wrong, and Ctrl-C as it is."""

import sys

import numpy as np
import pytest

from baselines import Constant, Estimator
from baselines.contract.conformance import example_meta_train
from baselines.contract.guard import fitted, guarded, predict_each, told
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
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise ValueError", "ValueError"),
        ("raise ValueError('two\\n  lines')", "ValueError: two lines"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("np.linalg.inv(np.zeros((2, 2)))", "LinAlgError: Singular matrix"),
    ],
)
def test_an_error_is_told_with_the_line_of_the_folder(raised, tmp_path, statement, line):
    error = raised(statement)
    assert told(error, tmp_path) == f"{line} (own_guarded.py:5)"
    assert told(error, None) == told(error, tmp_path / "elsewhere") == line


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("bad"), "mine:M fails in fit for tiny: ValueError: bad"),
        (SystemExit(0), "mine:M fails in fit for tiny: SystemExit: 0"),
        (StopIteration(), "mine:M fails in fit for tiny: StopIteration"),
        (UnusableInput("iterations are too few"), "mine:M: iterations are too few"),
    ],
)
def test_what_a_step_raises_names_method_and_step(error, line):
    with pytest.raises(UnusableInput) as refused, guarded("mine:M", "fit for tiny", Constant()):
        raise error
    assert str(refused.value) == line


def test_ctrl_c_stays_ctrl_c():
    with pytest.raises(KeyboardInterrupt), guarded("mine:M", "fit", Constant()):
        raise KeyboardInterrupt


def test_predictions_have_the_ids_of_their_sets():
    mean, method = META.targets.mean(), fitted("constant", Constant(), "tiny", META)
    assert predict_each("constant", method, "tiny", META.sets) == {"tiny/train_0": mean, "tiny/train_1": mean}
    assert predict_each("constant", method, "tiny", []) == {}


class Gives(Estimator):
    def __init__(self, value=0.5):
        self.value = value

    def _predict(self, observation):
        return self.value


@pytest.mark.parametrize("value", [73.0, float("nan"), None, "much", np.ones(3)])
def test_what_is_no_fraction_is_refused_with_its_set(value):
    with pytest.raises(UnusableInput, match="mine:M fails in predict for tiny/train_0"):
        predict_each("mine:M", Gives(value).fit(META), "tiny", META.sets)
