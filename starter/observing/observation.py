"""Everything that a method sees: observations of unlabelled sets, the labelled source, meta-train sets."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import scipy.linalg

from starter.observing.undeclared import Undeclared
from submission import Competition
from submission.arrays import BoolArray, FloatArray, IntArray, Pixels

if TYPE_CHECKING:
    from starter.models.classifiers import Classifier

Value = TypeVar("Value")
Made = TypeVar("Made", covariant=True)

#: The names that a method may have in its `needs`: the fields of an observation besides the logits.
NEEDS = (
    *("moments", "features", "image_stats", "rotation", "rotations", "grey", "peers"),
    *("referee", "referee_features"),
)
#: Those of NEEDS that are computed from the classifier's penultimate features.
FEATURE_NEEDS = frozenset({"moments", "features", "rotation"})
#: Those of NEEDS that come from referees.
REFEREE_NEEDS = frozenset({"referee", "referee_features"})
#: The columns of `Observation.image_stats`.
IMAGE_STATS = ("variance", "entropy", "laplacian")
#: The views of `rotations`: images turned counter-clockwise by this number of degrees.
ROTATED = ("rotate90", "rotate180", "rotate270")
#: Prefix of the name of a peer's view, which the name of the peer follows.
PEER = "peer:"
#: Prefix of the name of a referee's view, which the name of the referee follows.
REFEREE = "referee:"

OWN_FIELDS = ("moments", "features", "image_stats", "rotation", "referee_features")
"""Those of NEEDS that are fields of an observation; the others are views."""


def _need_of(view: str) -> str:
    """Returns the name of a view in a method's `needs`."""
    if view in ROTATED:
        return "rotations"
    return {PEER: "peers", REFEREE: "referee"}.get(view.partition(":")[0] + ":", view)


@dataclass(frozen=True)
class Moments:
    """Mean (d,) and unbiased covariance (d, d) of the penultimate features of `n` images, float64."""

    mean: FloatArray
    covariance: FloatArray
    n: int

    @classmethod
    def of(cls, features: Any) -> "Moments":
        """Returns those of features (n, d), of a tensor as tensors; the covariance of one image is 0."""
        rows = features.astype(np.float64) if isinstance(features, np.ndarray) else features.double()
        mean = rows.mean(0)
        centred = rows - mean
        return cls(mean, centred.T @ centred / max(len(rows) - 1, 1), len(rows))

    @cached_property
    def factor(self) -> FloatArray:
        """The lower triangle L (d, d) with L L' = covariance, by Cholesky; by QR if an eigenvalue is 0."""
        try:
            return scipy.linalg.cholesky(self.covariance, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(self.covariance)
            root = vectors * np.sqrt(np.clip(values, 0, None))
            return scipy.linalg.qr(root.T, mode="r", check_finite=False)[0].T


@dataclass(frozen=True)
class Observation:
    """Everything that a method may know about an unlabelled set seen by one classifier, without any labels.

    Attributes:
        set_name: Name of the set.
        classifier: Name of the classifier.
        logits: Logits, float32 (n, k), finite, n >= 1, k >= 2.
        moments: Moments of the penultimate features; None if no method asked for them.
        features: Penultimate features, float16 (n, d), clipped to +-65504; or None.
        image_stats: Statistics of the images, float32 (n, 3), with the columns of IMAGE_STATS; or None.
        rotation: Share of each image's four rotations that the rotation head recognises, float32 (n,); or
            None.
        views: Logits (n, k), by name, of changed images (ROTATED, "grey"), or of the same images by another
            classifier ("peer:<classifier>") or by a referee's calibrated probe ("referee:<name>").
            `rotations`, `grey`, `peers` and `referee` return them by their names in `needs`.
        referee_features: Features of the first referee, float16 (n, d); or None.
        render: Function that returns the images, uint8 (n, h, w, 3), in the order of the rows; call
            `images()`. A pickled observation has none.
        declared: The `needs` with which a method sees it; None for all. Any use of another field is refused.

    Raises:
        ValueError: a field has the wrong shape or values that are not finite; the message names set and
            field.
    """

    set_name: str
    classifier: str
    logits: FloatArray
    moments: Moments | None = None
    features: FloatArray | None = None
    image_stats: FloatArray | None = None
    rotation: FloatArray | None = None
    views: Mapping[str, FloatArray] = field(default_factory=dict)
    referee_features: FloatArray | None = None
    render: Callable[[], Pixels] | None = field(default=None, repr=False, compare=False)
    declared: tuple[str, ...] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.declared is not None:
            for name in set(OWN_FIELDS) - {*self.declared}:
                object.__setattr__(self, name, Undeclared(name, self.declared))
        if not isinstance(self.logits, np.ndarray) or self.logits.ndim != 2:
            raise ValueError(f"{self._label}: logits must be a NumPy array (n, k)")
        n, k = self.logits.shape
        shapes = {name: (n, k) for name in ("logits", *self.views)} | {"rotation": (n,)}
        shapes |= {"image_stats": (n, len(IMAGE_STATS))}
        for name, values in {**self._own_rows, **self.views}.items():
            self._check(name, values, shapes.get(name, (n, values.shape[-1])))

    @property
    def _own_rows(self) -> dict[str, Any]:
        """The fields with a row for each image."""
        own = {name: getattr(self, name) for name in ("logits", *OWN_FIELDS) if name != "moments"}
        return {name: values for name, values in own.items() if _is_there(values)}

    @property
    def _label(self) -> str:
        return f"set {self.set_name!r} seen by {self.classifier!r}"

    def _check(self, name: str, values: FloatArray, shape: tuple[int, ...]) -> None:
        """Refuse values of another shape or that are not finite, and sets without images or classes."""
        if values.shape != shape or 0 in shape[:1] or (name == "logits" and shape[1] < 2):
            raise ValueError(f"{self._label}: {name} must be {shape}, got {values.shape}")
        if not np.isfinite(values).all():
            raise ValueError(f"{self._label}: {name} holds NaN or infinite values")

    def __getstate__(self) -> dict[str, Any]:
        """Returns the fields to pickle, without the function that renders, which may read files."""
        return {**_fields_of(self), "render": None}

    def __len__(self) -> int:
        return len(self.logits)

    def lacking(self, needs: Iterable[str]) -> str:
        """Returns the first of `needs` that was not observed; "" if all were."""
        return next((need for need in needs if not _is_there(getattr(self, need))), "")

    def only(self, needs: Iterable[str]) -> "Observation":
        """Returns the observation as a method with these `needs` sees it: these fields, logits, images."""
        needs = tuple(needs)
        if needs not in self._restricted:
            views = {name: logits for name, logits in self.views.items() if _need_of(name) in needs}
            self._restricted[needs] = replace(self, views=views, declared=needs)
        return self._restricted[needs]

    @cached_property
    def _restricted(self) -> dict[tuple[str, ...], "Observation"]:
        """What `only` returned, by the needs, so that what is computed of it is computed once."""
        return {}

    def images(self) -> Pixels:
        """Returns the set's images, uint8 (n, h, w, 3), in the order of the rows, rendered on demand."""
        if self.render is None:
            raise ValueError(f"{self._label}: this observation was made without its images")
        return self.render()

    def take(self, rows: IntArray) -> "Observation":
        """Returns the observation of the images at `rows` (indices), which may repeat.

        The moments remain those of the whole set.
        """
        return replace(
            self,
            **{name: values[rows] for name, values in self._own_rows.items()},
            views={name: logits[rows] for name, logits in self.views.items()},
            render=None if self.render is None else lambda: self.images()[rows],
        )

    @property
    def rotations(self) -> dict[str, FloatArray] | None:
        """The logits (n, k) of the turned images, by the names in ROTATED; None if no method asked."""
        found = {name: self.views[name] for name in ROTATED} if ROTATED[0] in self.views else None
        return self._viewed("rotations", found)

    @property
    def grey(self) -> FloatArray | None:
        """The logits (n, k) of the images without colour; None if no method asked for them."""
        return self._viewed("grey", self.views.get("grey"))

    @property
    def peers(self) -> dict[str, FloatArray] | None:
        """The logits (n, k) of the competition's other classifiers, by name; None if no method asked."""
        names = [name for name in self.views if name.startswith(PEER)]
        return self._viewed("peers", {name.removeprefix(PEER): self.views[name] for name in names} or None)

    @cached_property
    def referee(self) -> FloatArray | None:
        """The mean softmax of the referees' calibrated logits, float64 (n, k); None if no method asked."""
        found = [_softmax(logits) for name, logits in self.views.items() if name.startswith(REFEREE)]
        return self._viewed("referee", sum(found[1:], found[0]) / len(found) if found else None)

    def _viewed(self, need: str, found: Any) -> Any:
        """Returns a field that is made of views; if the method did not declare it, what refuses its use."""
        return found if self.declared is None or need in self.declared else Undeclared(need, self.declared)

    @cached_property
    def probabilities(self) -> FloatArray:
        """The softmax of the logits, float64 (n, k)."""
        return _softmax(self.logits)

    @cached_property
    def predicted(self) -> IntArray:
        """The predicted class of each image, int64 (n,)."""
        return self.logits.argmax(axis=1)


def _is_there(values: object) -> bool:
    """Returns True if a field was observed, and declared."""
    return values is not None and not isinstance(values, Undeclared)


def _fields_of(record: Any) -> dict[str, Any]:
    return {each.name: getattr(record, each.name) for each in fields(record)}


def _softmax(logits: FloatArray) -> FloatArray:
    """Returns the softmax of each row, float64 (n, k)."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=np.float64)
    return shifted / shifted.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class ScoredMix:
    """An unlabelled mix of in-distribution and OOD images, as a classifier and an OOD detector see it.

    Attributes:
        observation: Observation of the mix by the classifier.
        detector: Name of the detector.
        metric: Name of the metric to predict, as in the subject's name, such as "fpr95".
        scores: Score of every image by the detector, float64 (n,), finite; higher means more OOD.

    Raises:
        ValueError: the scores have the wrong shape, or are not finite.
    """

    observation: Observation
    detector: str
    metric: str
    scores: FloatArray

    def __post_init__(self) -> None:
        self.observation._check("scores", self.scores, (len(self.observation),))

    @property
    def set_name(self) -> str:
        """The name of the mix."""
        return self.observation.set_name

    def __len__(self) -> int:
        return len(self.observation)

    def lacking(self, needs: Iterable[str]) -> str:
        """Returns the first of `needs` that was not observed; "" if all were."""
        return self.observation.lacking(needs)

    def only(self, needs: Iterable[str]) -> "ScoredMix":
        """Returns the mix as a method with these `needs` sees it, with its scores; see `Observation.only`."""
        return replace(self, observation=self.observation.only(needs))


Seen = Observation | ScoredMix
"""The type of an unlabelled set: an observation, in the OOD track a scored mix."""


@dataclass(frozen=True)
class Source:
    """The labelled in-distribution reference of one classifier.

    Attributes:
        observation: Observation of the reference images, on which the classifier was not trained.
        labels: Classes of the reference images, int64 (n,).
        train_ref: Observation of unlabelled training images, used by FD, KNN, Mahalanobis and ViM.
        head_weight, head_bias: Weight (k, d) and bias (k,) of the classifier's last layer; d is 0 if only
            logits are known.
        classifier: Copy of the network, for methods that train or run it; None if the source was made
            without.
        scores: In the OOD track, the detector's score of every reference image, float64 (n,), finite; higher
            means more OOD. All reference images are in-distribution, and none is in a mix. None in the
            accuracy track.
    """

    observation: Observation
    labels: IntArray
    train_ref: Observation
    head_weight: FloatArray
    head_bias: FloatArray
    classifier: "Classifier | None" = None
    scores: FloatArray | None = None

    def __post_init__(self) -> None:
        n, k = self.observation.logits.shape
        if self.labels.shape != (n,) or self.labels.min() < 0 or self.labels.max() >= k:
            raise ValueError(f"source: {n} reference images need labels ({n},) in 0..{k - 1}")
        if self.scores is not None:
            self.observation._check("scores", self.scores, (n,))

    def __getstate__(self) -> dict[str, Any]:
        """Returns the fields to pickle, without what was computed from them."""
        return _fields_of(self)

    @cached_property
    def correct(self) -> BoolArray:
        """True for each reference image that is classified correctly, bool (n,)."""
        return self.observation.predicted == self.labels

    @cached_property
    def computed(self) -> dict[str, Any]:
        """Values computed from logits and labels alone, by the name of the function; see `once`."""
        return {}

    def only(self, needs: Iterable[str]) -> "Source":
        """Returns the source as a method with these `needs` sees it; see `Observation.only`.

        Logits, labels and the values computed from them remain.
        """
        needs = tuple(needs)
        seen = replace(self, observation=self.observation.only(needs), train_ref=self.train_ref.only(needs))
        vars(seen)["computed"] = self.computed
        return seen

    @property
    def accuracy(self) -> float:
        """The classifier's accuracy on the reference images, in [0, 1]."""
        return float(self.correct.mean())


def once(learn: Callable[[Source], Value]) -> Callable[[Source], Value]:
    """Returns the function with a cache: its value is computed once per source, copies by `only` included."""
    # Therefore it may read only logits, labels, and fields that every method that calls it declares.

    @wraps(learn)
    def cached(source: Source) -> Value:
        name = f"{learn.__module__}.{learn.__qualname__}"
        if name not in source.computed:
            source.computed[name] = learn(source)
        value: Value = source.computed[name]
        return value

    return cached


@dataclass(frozen=True)
class Lazy(Sequence[Made], Generic[Made]):
    """A sequence of the results of `make` on each of `sources`, computed again on each access.

    >>> squares = Lazy((1, 2, 3), lambda n: n * n)
    >>> squares[-1], list(squares[:2])
    (9, [1, 4])
    """

    sources: Sequence[Any]
    make: Callable[[Any], Made]

    def __getitem__(self, index: Any) -> Any:
        """Returns the member at an index, or these of a slice as lazily."""
        if isinstance(index, slice):
            return replace(self, sources=self.sources[index])
        return self.make(self.sources[index])

    def __len__(self) -> int:
        return len(self.sources)

    def __reduce__(self) -> tuple[type, tuple[list[Made]]]:
        """Returns how a pickle makes the tuple."""
        return tuple, ([*self],)


@dataclass(frozen=True)
class MetaTrain:
    """The meta-train sets of one subject, from which an estimator learns.

    Attributes:
        source: Labelled in-distribution reference; in the OOD track with scores.
        sets: m observations, in the OOD track scored mixes, possibly read lazily one by one.
        targets: True accuracies, in the OOD track true values of the metric, float64 (m,) in [0, 1].
        correct: For each set, True for images that are classified correctly, bool (n_i,); () in the OOD
            track.
        families: For each set, the operations that made it, in the OOD track the family of its OOD images. A
            family is never on both sides of a cross-validation fold.
        ood: For each set, True for OOD images, bool (n_i,); () in the accuracy track.
        ood_sets: For each set, the name of the OOD set of its OOD images; () if unknown.
        fpr: IND images that set the threshold of FPR: "pool" (all of them) or "mix" (those of the mix).
        bases: For each set, the index of the base image from which each image was made, int64 (n_i,); () if
            unknown, and in the OOD track.
        labels: For each set, the classes of its images, int64 (n_i,); () if unknown, and in the OOD track.
    """

    source: Source
    sets: Sequence[Any]
    targets: FloatArray
    correct: Sequence[BoolArray]
    families: Sequence[frozenset[str]]
    ood: Sequence[BoolArray] = ()
    ood_sets: Sequence[str] = ()
    fpr: str = "pool"
    bases: Sequence[IntArray] = ()
    labels: Sequence[IntArray] = ()

    def __post_init__(self) -> None:
        m, truths = len(self.sets), self.ood or self.correct
        if not m or self.targets.shape != (m,) or len(truths) != m or len(self.families) != m:
            raise ValueError(
                f"meta-train: {m} sets need as many targets, correct (or ood) and families, and one, got "
                f"{self.targets.shape}, {len(truths)}, {len(self.families)}"
            )
        if not ((self.targets >= 0) & (self.targets <= 1)).all():
            raise ValueError("meta-train: targets must be fractions in [0, 1]")

    def only(self, needs: Iterable[str]) -> "MetaTrain":
        """Returns the meta-train sets as a method with these `needs` sees them; see `Observation.only`."""
        needs = tuple(needs)
        sets = Lazy(range(len(self.sets)), lambda i: self.sets[i].only(needs))
        return replace(self, source=self.source.only(needs), sets=sets)


def unmet(needs: Iterable[str], competition: Competition) -> str:
    """Returns the reason why the competition lacks a field in `needs`; "" if it has all of them."""
    needs = tuple(needs)
    if "peers" in needs and len(competition.classifiers) < 2:
        return "`peers` needs a second classifier, and the competition has one"
    for need in needs:
        if need in FEATURE_NEEDS and competition.logits_alone:
            return f"features are read, and {', '.join(competition.logits_alone)} gives logits alone"
        if need in REFEREE_NEEDS and not competition.referees:
            return f"`{need}` needs a competition built with --referee"
    return ""
