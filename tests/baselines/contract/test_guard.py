"""Guarding methods: one line for whatever goes wrong, and Ctrl-C as it is."""

import sys
from pathlib import Path

import numpy as np
import pytest

from baselines import Constant
from baselines.contract.conformance import example_meta_train
from baselines.contract.guard import guarded, told
from submission import UnusableInput

META = example_meta_train(sets=2)
NONE = "TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'"


@pytest.mark.parametrize(
    ("fail", "line"),
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda: next(iter(())), "StopIteration"),
        (lambda: exec("raise ValueError('two\\n  lines')"), "ValueError: two lines"),
        (
            lambda: None + 1,
            f"{NONE}; is a `return` missing, or what is read only in the other track (--track)?",
        ),
        (lambda: sys.exit(3), "SystemExit: 3"),
        (lambda: np.linalg.inv(np.zeros((2, 2))), "LinAlgError: Singular matrix"),
    ],
)
def test_an_error_is_told_with_the_last_line_of_the_folder(fail, line):
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        fail()
    place = f"(test_guard.py:{fail.__code__.co_firstlineno})"
    assert told(caught.value, Path(__file__).parent) == f"{line} {place}"
    assert told(caught.value, None) == told(caught.value, Path("elsewhere")) == line


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
