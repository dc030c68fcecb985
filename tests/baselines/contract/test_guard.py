"""Guarding methods: one line for whatever goes wrong, and Ctrl-C as it is."""

import sys

import numpy as np
import pandas as pd
import pytest

from baselines import Constant, Estimator
from baselines.contract.conformance import example_meta_train, example_mixes
from baselines.contract.guard import (
    LONGEST,
    fitted,
    folder_of,
    fractions_problem,
    guarded,
    predict_each,
    predict_one,
    told,
)
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
    assert str(told_error.value).endswith("; run `unseen check-method mine:M` for details")


def test_a_method_that_fails_on_mixes_is_to_be_checked_for_their_track():
    class ReadsLogits(Constant):
        def _predict(self, mix):
            return mix.logits

    mixes = example_mixes()
    with pytest.raises(UnusableInput, match="run `unseen check-method mine:M --track ood` for details"):
        predict_each("mine:M", ReadsLogits().fit(mixes), "a:msp:auroc", mixes.sets)


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
        (np.array([0.5]), "predict must return an array (2,), got (1,)"),
        (np.array([[0.5, 0.5]]), "predict must return an array (2,), got (1, 2)"),
        (np.float64(0.5), "predict must return an array (2,), got float64"),
        (pd.Series([0.5, 0.5]), "predict must return an array (2,), got Series"),
        ([0.5, 0.5], "predict must return an array (2,), got list"),
        (None, "predict must return an array (2,), got NoneType"),
        ("0.5", "predict must return an array (2,), got str"),
        (np.array(["0.5", "0.5"]), "predict must return numbers, got an array of <U3"),
        (np.array([0.5, None]), "predict must return numbers, got an array of object"),
        (np.array([True, False]), "predict must return numbers, got an array of bool"),
        (np.array([0.5j, 0]), "predict must return numbers, got an array of complex128"),
        (np.array([np.nan, 0]), "predictions must be finite and in [0, 1], got [nan  0.]"),
        (np.array([0, np.inf]), "predictions must be finite and in [0, 1], got [ 0. inf]"),
        (
            np.array([50, 0]),
            "predictions look like percentages: return fractions in [0, 1], got [50  0]",
        ),
        (np.array([1.1, 0]), "predictions must be finite and in [0, 1], got [1.1 0. ]"),
        (np.array([-0.1, 0]), "predictions must be finite and in [0, 1], got [-0.1  0. ]"),
    ],
)
def test_predictions_that_are_none_are_told(values, problem):
    assert fractions_problem(values, 2) == problem


class Percentages(Estimator):
    def _predict(self, observation):
        return 73.0


class Slightly(Estimator):
    def _predict(self, observation):
        return 1.05


class Reads(Estimator):
    needs = ("moments",)

    def _predict(self, observation):
        return float(observation.features.mean())


class Empty(Estimator):
    def _predict(self, observation):
        return float(np.asarray(observation.features, np.float64))


class Standardised(Estimator):
    def predict(self, observations):
        confidence = np.array([each.probabilities.max(axis=1).mean() for each in observations])
        return np.clip(0.5 + confidence - confidence.mean(), 0, 1)


def refusal(method):
    with pytest.raises(UnusableInput) as error:
        predict_each("mine:M", fitted("mine:M", method, "tiny", META), "tiny", META.sets)
    return str(error.value)


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (
            Percentages(),
            "predict for tiny/train_0: ValueError: Percentages predicts 73 for set 'train_0', which",
        ),
        (Percentages(), "looks like a percentage: predict fractions in [0, 1]"),
        (Reads(), "AttributeError"),
        (Empty(), "predicts nan"),
        (
            Standardised(),
            "predict for tiny: ValueError: each set must be predicted by itself, but",
        ),
    ],
)
def test_what_breaks_the_contract_is_refused_by_name(method, told):
    assert told in refusal(method)
    assert refusal(method).startswith("mine:M fails in predict for tiny")


def test_a_little_outside_is_clipped():
    assert predict_each("mine:M", Slightly().fit(META), "tiny", META.sets) == {
        "tiny/train_0": 1.0,
        "tiny/train_1": 1.0,
    }


def test_a_field_that_is_not_declared_is_absent_though_others_asked_for_it():
    assert META.sets[0].features is not None
    assert META.only(("moments",)).sets[0].features is None
    assert META.only(("moments",)).source.train_ref.features is None
    assert set(META.sets[0].only(("rotations", "peers")).views) == {
        "rotate90",
        "rotate180",
        "rotate270",
        "peer:other",
    }
    whole = META.sets[0].only(
        ("moments", "features", "image_stats", "rotation", "rotations", "grey", "peers")
    )
    assert (whole.referee, whole.referee_features) == (None, None)


def test_nothing_is_predicted_of_no_sets():
    assert predict_each("constant", Constant().fit(META), "tiny", []) == {}
