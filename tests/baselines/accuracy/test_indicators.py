"""Set-level indicators against naive forms on random and adversarial inputs, by hand, and on the source itself."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from observations import LOGITS, featured, seen, source_of
from scipy.optimize import isotonic_regression
from scipy.spatial.distance import cosine
from scipy.special import softmax
from sklearn.base import clone

from baselines import BASELINES
from baselines.accuracy.agreement import Agreement
from baselines.accuracy.atc import Atc, atc, atc_datacv, atc_threshold, confidence_log_odds
from baselines.accuracy.cbpe import cbpe
from baselines.accuracy.confscore import confscore
from baselines.accuracy.dispersion import SMALLEST, dispersion, scatter, subsamples
from baselines.accuracy.doc import doc
from baselines.accuracy.ei import ei
from baselines.accuracy.entropy import entropy
from baselines.accuracy.gde import gde
from baselines.accuracy.mano import Mano, chosen_normaliser, mano, taylor_softmax, uniform_cross_entropy
from baselines.accuracy.mde import mde
from baselines.accuracy.nuclear import nuclear
from baselines.accuracy.priors import LabelShift
from baselines.accuracy.rotation import rotation
from baselines.accuracy.softmaxcorr import softmaxcorr
from baselines.contract.conformance import example_meta_train
from starter.observing.temperature import temperature
from submission import UnusableInput

META = example_meta_train(sets=6)
ANY = source_of([[1.0, 0.0]], [0])
VIEWS = {"rotate90": 0, "rotate180": 1, "rotate270": 3, "grey": 1e4, "peer:a": 1, "peer:b": 1e4}
"""Views, and the noise that tells each from the image's own logits."""


def observed(name):
    """A set of these logits with all that an indicator reads."""
    logits, rng = np.asarray(LOGITS[name], np.float32), np.random.default_rng(0)
    noisy = {view: (logits + scale * rng.normal(size=logits.shape)) for view, scale in VIEWS.items()}
    rotations = (rng.integers(5, size=len(logits)) / 4).astype(np.float32)
    views = {view: each.astype(np.float32) for view, each in noisy.items()}
    return featured(logits, views=views, rotation=rotations)


def soft(row):
    row = [float(value) for value in row]
    odds = [math.exp(value - max(row)) for value in row]
    return [each / sum(odds) for each in odds]


def top(row):
    p = soft(row)
    return int(np.argmax(row)), max(p)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def calibrated(target, source):
    """Isotonic fit by SciPy over distinct confidences, interpolated, constant beyond the ends."""
    reference = np.round([top(row)[1] for row in source.observation.logits], 12)
    x, where, count = np.unique(reference, return_inverse=True, return_counts=True)
    share = np.bincount(where, weights=source.correct) / count
    fitted = isotonic_regression(share, weights=count).x
    return np.interp([top(row)[1] for row in target.logits], x, fitted).mean()


def scatter_by_hand(target, source=None):
    n, k = target.logits.shape
    rows, centre = target.features.astype(float), target.features.astype(float).mean(axis=0)
    members = [rows[target.predicted == c] for c in range(k)]
    return sum(len(each) * ((each.mean(axis=0) - centre) ** 2).sum() for each in members if len(each)) / (
        n * (k - 1)
    )


def gram(target, source):
    p = np.array([soft(row) for row in target.logits])
    values = np.linalg.eigvalsh(p @ p.T if len(p) < p.shape[1] else p.T @ p)
    return np.sqrt(values.clip(0)).sum() / np.sqrt(min(p.shape) * len(p))


def correlation(target, source):
    p = np.array([soft(row) for row in target.logits])
    mine = sum(np.outer(row, row) for row in p) / len(p)
    shares = np.bincount(source.labels, minlength=p.shape[1]) / len(source.labels)
    return 1 - cosine(mine.ravel(), np.diag(shares).ravel())


def energies(target, source):
    rows = target.logits.astype(float)
    found = [-max(row) - math.log(sum(math.exp(q - max(row)) for q in row)) for row in rows]
    most = max(found)
    return most + math.log(mean(math.exp(each - most) for each in found)) - mean(found)


def taylor(row):
    values = [1 + q + q * q / 2 for q in map(float, row)]
    shifted = [value - min(values) for value in values]
    return [value / sum(shifted) if sum(shifted) else 1 / len(row) for value in shifted]


def fourth(rows):
    return mean(value**4 for row in rows for value in row) ** 0.25


def invariance(target, source):
    pairs = [
        (top(row), top(other))
        for name in ("rotate90", "rotate180", "rotate270", "grey")
        for row, other in zip(target.logits, target.views[name], strict=True)
    ]
    return mean(math.sqrt(p * q) if label == other else 0.0 for (label, p), (other, q) in pairs)


def agreed(target, source):
    peers = [target.views[name].argmax(axis=1) for name in ("peer:a", "peer:b")]
    return mean(float(a == b) for peer in peers for a, b in zip(peer, target.predicted, strict=True))


def certain(observation):
    return mean(top(row)[1] for row in observation.logits)


NORMALISED = {"softmax": soft, "taylor": taylor}
NAIVE = {
    confscore: lambda target, source: certain(target),
    entropy: lambda target, source: mean(scipy.stats.entropy(soft(row)) for row in target.logits),
    doc: lambda target, source: source.accuracy + certain(target) - certain(source.observation),
    rotation: lambda target, source: mean(target.rotation),
    cbpe: calibrated,
    scatter: scatter_by_hand,
    nuclear: gram,
    softmaxcorr: correlation,
    mde: energies,
    mano: lambda target, source: fourth(map(NORMALISED[chosen_normaliser(source)], target.logits)),
    ei: invariance,
    gde: agreed,
}


@pytest.mark.parametrize("name", LOGITS)
@pytest.mark.parametrize("indicator", NAIVE, ids=lambda each: each.__name__)
def test_an_indicator_against_its_naive_form(indicator, name):
    target, rng, k = observed(name), np.random.default_rng(4), LOGITS[name].shape[1]
    source = source_of(rng.integers(-3, 4, size=(200, k)), rng.integers(k, size=200))
    found = indicator(target) if indicator is scatter else indicator(target, source)
    assert found == pytest.approx(NAIVE[indicator](target, source), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "name",
    ["atc", "atc-ts", "atc-ne", "atc-ne-ts", "doc", "doc-ts", "cbpe", "cott", "agreement", "aline", "frap"],
)
def test_a_method_gives_the_sources_accuracy_on_the_source(name):
    found = clone(BASELINES[name]).fit(META).predict([META.source.observation])
    assert found[0] == pytest.approx(META.source.accuracy)


@pytest.mark.parametrize("name", ["atc-ts", "atc-ne", "atc-ne-ts", "atc"])
def test_atc_against_a_loop(name):
    source, t = META.source, temperature(META.source) if name.endswith("ts") else 1.0

    def score(row):
        p = soft(row.astype(float) / t)
        return sum(each * math.log(each) for each in p if each) if "ne" in name else max(p)

    cut = sorted(map(score, source.observation.logits))[sum(map(int, ~source.correct))]
    expected = [mean(score(row) >= cut - 1e-12 for row in each.logits) for each in META.sets]
    assert clone(BASELINES[name]).fit(META).predict(META.sets) == pytest.approx(expected)


@pytest.mark.parametrize(("labels", "expected"), [([0, 0, 0], 1.0), ([1, 1, 1], 0.0)])
def test_where_all_or_none_of_the_source_is_right(labels, expected):
    source = source_of([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]], labels)
    assert atc(source.observation, source) == expected
    assert cbpe(seen([[-1e4, 1e4], [0.0, 0.0]]), source) == expected


def test_atc_datacv_cuts_at_the_accuracys_quantile():
    logits = np.array([[x, 0.0] for x in (0.5, 1.0, 1.5, 2.0, 2.5)])
    source = source_of(logits, [0, 0, 1, 0, 0])
    negative_entropy = -scipy.stats.entropy(softmax(logits, axis=1), axis=1)
    threshold = np.sort(negative_entropy)[int(np.ceil(0.8 * 5))]
    assert atc_datacv(source.observation, source) == pytest.approx((negative_entropy < threshold).mean())
    assert atc_datacv(source.observation, source_of(logits, [0] * 5)) == pytest.approx(0.8)


SHAPES = st.tuples(st.integers(1, 20), st.integers(2, 6))


@given(arrays(np.float32, SHAPES, elements=st.floats(-50, 50, width=32)))
def test_log_odds_are_those_of_the_largest_probability(logits):
    ratios = np.sort(softmax(logits.astype(np.float64), axis=1), axis=1)
    expected = np.log(ratios[:, -1]) - np.log(ratios[:, :-1].sum(axis=1))
    np.testing.assert_allclose(confidence_log_odds(seen(logits)), expected, rtol=1e-6, atol=1e-6)


def test_log_odds_tell_apart_what_a_float32_softmax_cannot():
    logits = np.array([[20.0, 0.0], [30.0, 0.0], [1e4, -1e4]], np.float32)
    assert (softmax(logits, axis=1)[:, 0] == 1).sum() >= 2
    assert np.diff(confidence_log_odds(seen(logits))).min() > 0
    source = META.source
    below = confidence_log_odds(source.observation) < atc_threshold(source)
    assert below.mean() == pytest.approx(1 - source.accuracy, abs=1e-12)


def test_doc_after_temperature_scaling_is_doc_of_scaled_logits():
    source, t = META.source, temperature(META.source)
    scaled = source_of(source.observation.logits / t, source.labels)
    expected = [doc(seen(each.logits / t), scaled) for each in META.sets]
    found = clone(BASELINES["doc-ts"]).fit(META).predict(META.sets)
    assert found == pytest.approx(np.clip(expected, 0, 1), abs=1e-6)


def test_of_dispersion_one_predicted_class_has_a_number_and_large_sets_are_the_mean_of_subsamples():
    assert dispersion(featured(LOGITS["one class"]), ANY) == np.log(SMALLEST)
    target = featured(np.random.default_rng(0).normal(size=(270, 4)))
    parts = [np.log(scatter_by_hand(part)) for part in subsamples(target)]
    assert len(parts) == 3
    assert dispersion(target, ANY) == pytest.approx(np.mean(parts))


CONFIDENT = source_of([[9.0, -9.0]], [0])


def test_of_mano_the_source_decides_and_no_set_does():
    assert (chosen_normaliser(CONFIDENT), chosen_normaliser(ANY)) == ("softmax", "taylor")
    target = seen(LOGITS["random"])
    assert mano(target, CONFIDENT) == pytest.approx(fourth(map(soft, target.logits)), rel=1e-6)
    assert uniform_cross_entropy(np.zeros((3, 8))) == pytest.approx(np.log(8))
    q = taylor_softmax(np.array([[0.0, 1.0, -1.0], [2.0, 2.0, 2.0]]))
    np.testing.assert_allclose(q, [[0.2, 0.8, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    for normaliser in ("phi", "softmax", "taylor"):
        method = Mano(normaliser).fit(META)
        assert method.normaliser_ == ("taylor" if normaliser == "phi" else normaliser)
        assert method._measure(META.sets[3])[0] == mano(META.sets[3], META.source, method.normaliser_)


def test_mde_does_not_depend_on_the_sets_size():
    target = LOGITS["random"]
    assert mde(seen(np.tile(target, (9, 1))), ANY) == pytest.approx(mde(seen(target), ANY))


@pytest.mark.parametrize(
    ("method", "word"),
    [
        *((Agreement("firm"), "kind"), (Atc("margin"), "score")),
        *((LabelShift("even"), "prior"), (Mano("l2"), "normaliser")),
    ],
)
def test_refuses_parameters_by_name(method, word):
    with pytest.raises(UnusableInput, match=word):
        method.fit(META)
