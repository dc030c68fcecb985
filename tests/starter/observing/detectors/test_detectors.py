"""All detectors: each against an independent computation, on obvious OOD images, and one set at a time."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch
from pytorch_ood.detector import GradNorm as LibraryGradNorm
from pytorch_ood.detector import OpenMax as LibraryOpenMax
from scipy.spatial.distance import mahalanobis
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from torch.nn.functional import cross_entropy

from starter.data.sources.glyphs.digits import glyph_splits
from starter.models.classifiers import Classifier, read_classifier
from starter.observing.detectors import DETECTORS, Detector
from starter.observing.detectors.openmax import SHIFT, likeliest_weibull
from starter.observing.observation import Observation, Source
from starter.observing.temperature import temperature
from submission.errors import UnusableInput


def seen_by(classifier: Classifier, images: np.ndarray, name: str) -> Observation:
    """An observation with all that detectors read."""
    logits, features = classifier(images)
    halves = features.numpy().astype(np.float16)
    return Observation(name, classifier.name, logits.numpy(), features=halves, render=lambda: images)


@pytest.fixture(scope="module")
def tiny(weights) -> Classifier:
    return read_classifier(weights)


@pytest.fixture(scope="module")
def source(tiny) -> Source:
    """600 labelled digits and 1,000 that the classifier was trained on."""
    splits = glyph_splits(0)
    reference = splits.reference.take(np.arange(600))
    seen = seen_by(tiny, reference.images, "reference")
    train = seen_by(tiny, splits.train.take(np.arange(1000)).images, "train_ref")
    return Source(seen, reference.labels, train, tiny.head_weight, tiny.head_bias, classifier=tiny)


@pytest.fixture(scope="module")
def few(tiny) -> dict[str, Observation]:
    """A hundred digits, and a hundred OOD images that anyone would tell from them."""
    noise = torch.randint(256, (100, 32, 32, 3), generator=torch.Generator().manual_seed(0))
    digits = glyph_splits(0).test_base.images[:100]
    return {"digits": seen_by(tiny, digits, "digits"), "noise": seen_by(tiny, noise.byte().numpy(), "noise")}


def rows(observation):
    return observation.features.astype(np.float64)


def energy(source, features, weight=None):
    weight = source.head_weight if weight is None else weight
    logits = features @ weight.T.astype(np.float64) + source.head_bias
    return -scipy.special.logsumexp(logits, axis=1)


def least(logits):
    """-max_c of the softmax."""
    return -scipy.special.softmax(logits.astype(np.float64), axis=1).max(axis=1)


def moved(source, observation, eps=0.0014):
    """Logits of ODIN's images, one by one, with the network as it was stored and pixels on [0, 1]."""
    classifier, found = source.classifier, []
    mean, std = (torch.tensor(values)[:, None, None] for values in (classifier.mean, classifier.std))
    for image in torch.from_numpy(observation.images()).movedim(-1, 1):
        pixels = (image / 255).requires_grad_()
        logits = classifier.network(((pixels - mean) / std)[None])
        cross_entropy(logits / 1000, logits.argmax(dim=1)).backward()
        with torch.no_grad():
            inputs = (pixels - eps * pixels.grad.sign() - mean) / std
            found.append(classifier.network(inputs[None])[0].double().numpy())
    return np.array(found)


def mahalanobis_by_loop(source, observation):
    known, classes = rows(source.train_ref), source.train_ref.logits.argmax(axis=1)
    means = {c: known[classes == c].mean(axis=0) for c in set(classes)}
    inverse = np.linalg.inv(
        sum(np.outer(h - means[c], h - means[c]) for h, c in zip(known, classes, strict=True)) / len(known)
    )
    return [min(mahalanobis(h, mean, inverse) for mean in means.values()) ** 2 for h in rows(observation)]


def knn(source, observation):
    known, given = (
        h / np.linalg.norm(h, axis=1, keepdims=True) for h in (rows(source.train_ref), rows(observation))
    )
    return [np.sort(np.linalg.norm(known - h, axis=1))[49] for h in given]


def vim(source, observation):
    weight, bias = source.head_weight.astype(np.float64), source.head_bias
    origin = -np.linalg.pinv(weight) @ bias
    known, given = rows(source.train_ref) - origin, rows(observation) - origin
    _, axes = np.linalg.eigh(known.T @ known)
    rest = axes[:, : known.shape[1] // 2]
    alpha = (known @ weight.T).max(axis=1).mean() / np.linalg.norm(known @ rest, axis=1).mean()
    return alpha * np.linalg.norm(given @ rest, axis=1) + energy(source, rows(observation))


def kept(h):
    """The features among the largest tenth, the others 0; NaN where two share the last place."""
    count = len(h) - round(0.9 * len(h))
    *_, last, next_one = -np.sort(-h)[: count + 1]
    return np.where(h >= last, h, 0) if last > next_one else np.full(len(h), np.nan)


def ash_b(source, observation):
    signs = [np.sign(kept(h)) for h in rows(observation)]
    shaped = [sign * h.sum() / sign.sum() for sign, h in zip(signs, rows(observation), strict=True)]
    return energy(source, np.array(shaped))


def ash_s(source, observation):
    shaped = [kept(h) * np.exp(h.sum() / kept(h).sum()) for h in rows(observation)]
    return energy(source, np.array(shaped))


def dice(source, observation):
    contributions = source.head_weight * rows(source.train_ref).mean(axis=0)
    weight = np.where(contributions > np.quantile(contributions, 0.9), source.head_weight, 0)
    return energy(source, rows(observation), weight)


def rankfeat(source, observation):
    """Stage by stage with NumPy's decomposition: `small` has blocks 0 to 3."""
    network, classifier = source.classifier.network, source.classifier
    with torch.no_grad():
        stages = network.stages(classifier.normalised(observation.images()))
        third = network.blocks[3](without_first(stages[2])).mean(dim=(2, 3))
        logits = (network.head(third) + network.head(without_first(stages[3]).mean(dim=(2, 3)))) / 2
    return -scipy.special.logsumexp(logits.numpy(), axis=1)


def without_first(maps):
    found = []
    for matrix in maps.flatten(2).double().numpy():
        u, s, v = np.linalg.svd(matrix, full_matrices=False)
        found.append((u[:, 1:] * s[1:]) @ v[1:])
    return torch.from_numpy(np.array(found)).float().reshape(maps.shape)


def openmax(source, observation):
    """The library's, with a row more for each class, since it takes distances to predicted classes alone."""
    library = LibraryOpenMax(None, tailsize=20, alpha=3)
    known = torch.from_numpy(source.train_ref.logits).double()
    library.fit_logits(known, known.argmax(dim=1))
    n, k = observation.logits.shape
    rows = np.vstack([observation.logits.astype(np.float64), np.eye(k)])
    return library.predict_logits(torch.from_numpy(rows)).numpy()[:n]


EXACT = {
    "msp": lambda source, seen: least(seen.logits),
    "energy": lambda source, seen: -scipy.special.logsumexp(seen.logits.astype(np.float64), axis=1),
    "mls": lambda source, seen: -seen.logits.max(axis=1),
    "ts": lambda source, seen: least(np.float64(seen.logits) / temperature(source)),
    "odin": lambda source, seen: least(moved(source, seen) / 1000),
    "ip_ts_mls": lambda source, seen: -moved(source, seen).max(axis=1) / 1000,
    "mahalanobis": mahalanobis_by_loop,
    "knn": knn,
    "vim": vim,
    "react": lambda source, seen: energy(
        source, np.minimum(rows(seen), np.quantile(rows(source.observation), 0.9))
    ),
    "ash_b": ash_b,
    "ash_s": ash_s,
    "dice": dice,
    "rankfeat": rankfeat,
    "openmax": openmax,
    "maxcos": lambda source, seen: -cosine_similarity(rows(seen), source.head_weight).max(axis=1),
}


@pytest.fixture(scope="module")
def fitted(source):
    return {name: detector.fit(source) for name, detector in DETECTORS.items()}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("kind", ["digits", "noise"])
def test_scores_by_an_independent_computation(name, kind, fitted, few, source):
    expected = np.asarray(EXACT[name](source, few[kind]))
    known = np.isfinite(expected)
    assert known.mean() > 0.9
    scores, expected = fitted[name].score(few[kind])[known], expected[known]
    # the network computes in float32
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=5e-3 * expected.std())


def test_gradnorm_is_k_times_the_gradient_by_the_weights(fitted, few, source):
    """By backpropagation through the head; the library's loss is a mean over classes."""
    head = torch.nn.Linear(*source.head_weight.shape[::-1]).double()
    head.weight.data = torch.from_numpy(source.head_weight).double()
    head.bias.data = torch.from_numpy(source.head_bias).double()
    given = torch.from_numpy(rows(few["digits"]))
    seen = replace(few["digits"], logits=head(given).detach().float().numpy())
    detector = LibraryGradNorm(head, param_filter=lambda name: name == "weight").to("cpu")
    expected = 10 * detector.predict(given).numpy()
    np.testing.assert_allclose(fitted["gradnorm"].score(seen), expected, rtol=1e-4)


def cells(source, observation):
    """The first block's maps, image by image, averaged over 4 x 4 cells: (n, 16 * 4 * 4), channel by channel."""
    found = []
    for image in observation.images():
        with torch.no_grad():
            inputs = source.classifier.normalised(image[None])
            maps = source.classifier.network.blocks[0](inputs)[0].double().numpy()
        side = maps.shape[1] // 4
        found.append(maps.reshape(len(maps), 4, side, 4, side).mean(axis=(2, 4)).ravel())
    return np.array(found)


def test_oodl_by_an_independent_computation(fitted, few, source):
    """Cells, components and Nystroem's kernel by hand; the weights are those that were learnt."""
    known = cells(source, source.train_ref)
    _, nystroem, svm = (step for _, step in fitted["oodl"].model_.steps)
    whitened = PCA(64, whiten=True, svd_solver="full").fit(known.astype(np.float64))
    basis = whitened.transform(known)[nystroem.component_indices_]
    values, vectors = np.linalg.eigh(rbf_kernel(basis, gamma=1 / 64))
    kept = values > 1e-12
    root = vectors[:, kept] / np.sqrt(values[kept]) @ vectors[:, kept].T
    for observation in few.values():
        mapped = rbf_kernel(whitened.transform(cells(source, observation)), basis, 1 / 64) @ root
        expected = svm.offset_ - mapped @ svm.coef_.ravel()
        np.testing.assert_allclose(
            fitted["oodl"].score(observation), expected, rtol=0, atol=2e-2 * np.std(expected)
        )


@pytest.mark.parametrize("name", DETECTORS)
def test_scores_depend_on_no_other_image(name, fitted, few):
    whole = fitted[name].score(few["noise"])
    for n in (1, 7):
        part = fitted[name].score(few["noise"].take(np.arange(n)))
        np.testing.assert_allclose(part, whole[:n], rtol=1e-4, atol=1e-3 * whole.std())
    assert np.array_equal(fitted[name].score(few["noise"]), whole)


def degenerate(kind, n=60, d=8, k=4):
    """Features and logits with nothing, or almost nothing, to learn from."""
    rng = np.random.default_rng(0)
    features = {
        "zeros": np.zeros((n, d)),
        "one point": np.ones((n, d)),
        "dependent": np.outer(rng.uniform(size=n), np.arange(d)),
        "dead": rng.uniform(size=(n, d)) * (np.arange(d) < 5),
        "large": 6e4 * rng.uniform(size=(n, d)),
    }[kind]
    weight, bias = rng.normal(size=(k, d)).astype(np.float32), rng.normal(size=k).astype(np.float32)
    logits = (features @ weight.T + bias).astype(np.float32)
    seen = Observation("s", "c", logits, features=features.astype(np.float16))
    return Source(seen, rng.integers(k, size=n), seen, weight, bias)


@pytest.mark.parametrize("kind", ["zeros", "one point", "dependent", "dead", "large"])
@pytest.mark.parametrize("name", [name for name, detector in DETECTORS.items() if not detector.online])
def test_degenerate_features_give_finite_scores(name, kind):
    source = degenerate(kind)
    others = degenerate("large").observation
    fitted = DETECTORS[name].fit(source)
    for observation in (source.observation, others):
        assert np.isfinite(fitted.score(observation)).all()


@pytest.mark.parametrize("spread", [1e-4, 1e-2, 1.0, 100.0])
def test_openmax_fits_the_likeliest_weibull(spread):
    """Logits of a cosine classifier differ by some hundredths, where SciPy's search ends too early."""
    values = SHIFT + spread * np.random.default_rng(0).gamma(2, size=20)

    def likelihood(shape, scale):
        return scipy.stats.weibull_min.logpdf(values, shape, scale=scale).sum()

    shape, scale = likeliest_weibull(values)
    best = likelihood(shape, scale)
    assert best > max(likelihood(shape * factor, scale) for factor in (0.99, 1.01))
    assert best > max(likelihood(shape, scale * np.exp(step / shape)) for step in (-0.01, 0.01))
    if spread >= 1:
        fitted, _, width = scipy.stats.weibull_min.fit(values, floc=0)
        assert (shape, scale) == pytest.approx((fitted, width), rel=1e-6)


@dataclass
class Broken(Detector):
    needs = ("features",)

    def _score(self, observation):
        return np.full(len(observation), np.nan)


def test_scores_that_are_not_finite_and_missing_fields_are_refused():
    source = degenerate("dead")
    with pytest.raises(UnusableInput, match="no finite score for 60 of 60 images of set 's' seen by 'c'"):
        Broken().fit(source).score(source.observation)
    with pytest.raises(ValueError, match="needs `features`, which set 's'"):
        Broken().fit(source).score(replace(source.observation, features=None))
    with pytest.raises(UnusableInput, match="50 training images"):
        DETECTORS["knn"].fit(degenerate("dead", n=49))
