"""The tables of `starter.studies.failure`, for the detectors of a competition of the OOD track.

Clean IND images are those from which its meta-train mixes are drawn, whose classes are public. Covariate
shift is the same images under corruptions, and natural-shift sets of the user's. Semantic shift is the OOD
sets of its meta-train mixes. No hidden image or label is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from starter.competition.mixes import MixSets
from starter.competition.scorer import Scorer
from starter.images.imageset import ImageSet
from starter.images.reading import Fit
from starter.observing.observation import Observation
from starter.operations.corruptions import CORRUPTIONS
from starter.sets.recipe import Recipe
from starter.sets.rendering import FromRecipe, Rendering
from starter.sources.sources import load_images, set_names
from starter.studies.failure import TABLES, Detectors, Scored
from starter.studies.figures import plot_failure
from starter.studies.matched import intercepts_table, matched_table, nearest_distances
from starter.studies.sanity import SEVERITY, chosen
from submission import Competition
from submission.arrays import FloatArray
from submission.errors import UnusableInput
from submission.files import write_text
from submission.random import FAILURE
from submission.tracks import TRACKS

CLEAN, CORRUPTED, OOD = "clean", "corrupted", "ood"
AVERAGED = ("auroc", "detection", "rejected", "groups", "misclassification")
"""Names of tables that also show the mean over classifiers, as the paper does."""
MEAN = "mean"
EXPLAINED = {
    "auroc": """AUROC, 0 to 1, higher is better. new_class: IND against OOD images; failure: correct IND
images against wrong and OOD ones; IND and OOD images weigh alike, however many there are.""",
    "detection": """IND against OOD images. fpr95: share of OOD images accepted where 95 % of IND images are;
detection_error: 0 to 1; of both lower is better, of auroc higher.""",
    "rejected": "Share of correct IND images that is rejected with 80 % of the OOD images: lower is better.",
    "groups": """What new_class is made of. accuracy: of the IND images; X_Y: AUROC of images X against Y,
higher is better; gain: new_class less the first detector's, from_correct and from_wrong: its parts.""",
    "misclassification": """Correct against wrong IND images, without OOD ones (correct is positive).
fpr95, detection_error: lower is better; auroc: higher is better.""",
    "intercepts": """AUROC against clean IND images, regressed on the distance to the nearest training image:
intercept at distance 0, level at the mean distance, with 95 % intervals (_low, _high). New classes (ood,
near, far) above covariate shift (the others) is better. nan: fewer than three subsets.""",
}
"""Tables in the report's text, with a description of their columns: units, and the better direction."""
KINDS = "ind: IND images, clean, corrupted (severity 5), --shifted; ood: OOD images of the meta-train mixes."

Labelled = tuple[Sequence[Rendering], NDArray[np.int64]]
"""Unlabelled sets, and the classes of all their images, in order."""


def failure_report(
    competition: Competition,
    detectors: Sequence[str] = (),
    shifted: Sequence[Path] = (),
    images: int = 400,
    device: str = "cpu",
) -> tuple[dict[str, pd.DataFrame], list[Path]]:
    """Returns every table by name, and the paths of their CSV and PNG files, written in DIR/failure.

    Args:
        competition: Competition of the OOD track.
        detectors: Names in DETECTORS; the others are compared with the first. () for the competition's own.
        shifted: Paths of natural-shift sets of the IND classes; all sets at one path are one kind.
        images: Largest number of IND images under each corruption, and of each set in `shifted`.
        device: Device of the classifiers.

    Raises:
        UnusableInput: The competition is of the other track, a detector is unknown, or a path cannot be read.
    """
    if competition.track != "ood":
        raise UnusableInput(f"{competition.root}: failure detection is about OOD detectors (--track ood)")
    own = dict.fromkeys(TRACKS["ood"].split(subject)[1] for subject in competition.subjects)
    names = list(chosen(detectors or list(own)))
    sets = MixSets(competition)
    kinds = ind_kinds(sets, shifted, images)
    semantic = ood_kinds(sets)
    views = {
        classifier: Scorer.open(sets, classifier, names, ("features",), device)
        for classifier in competition.classifiers
    }
    found = {classifier: scored(view, kinds, semantic) for classifier, view in views.items()}
    tables = {name: _of_all(found, name) for name in TABLES}
    tables["matched"], tables["intercepts"] = matched(found, views, kinds, semantic)
    return tables, write_failure(tables, competition.root / "failure")


def report_text(tables: Mapping[str, pd.DataFrame]) -> str:
    """Returns the most informative tables as text, each with a description of its columns below it."""
    texts = [
        f"{name}\n{tables[name].to_string(index=False, float_format='{:.3f}'.format)}\n\n{explained}"
        for name, explained in EXPLAINED.items()
    ]
    return "\n\n".join([*texts, KINDS])


def ind_kinds(sets: MixSets, shifted: Sequence[Path], images: int) -> dict[str, Labelled]:
    """Returns labelled IND images by kind: clean, corrupted at severity 5, and those at each path.

    A path's kind is named after its last part, without the suffix.
    """
    base = sets.base
    some = base.take(np.sort(FAILURE(0).permutation(len(base))[:images]), "ind")
    unlabelled = replace(some, labels=None)
    corrupted = [
        FromRecipe(Recipe(name, 0, ((name, {"severity": SEVERITY}),)), unlabelled) for name in CORRUPTIONS
    ]
    kinds: dict[str, Labelled] = {
        CLEAN: ([FromRecipe.whole(sets.ind_pool)], _labels(base)),
        CORRUPTED: (corrupted, np.tile(_labels(some), len(corrupted))),
    }
    for path in shifted:
        classes, size = sets.competition.classes, sets.competition.image_size
        found = [load_images(name, classes, images, 0, Fit(size)) for name in set_names(path, classes)]
        kind = path.resolve().stem
        if kind in (*kinds, MEAN, OOD, "near", "far"):
            raise UnusableInput(f"--shifted {path}: there is a kind {kind!r} already; rename the folder")
        whole = [FromRecipe.whole(replace(each, labels=None)) for each in found]
        kinds[kind] = whole, np.concatenate([_labels(each) for each in found])
    return kinds


def ood_kinds(sets: MixSets) -> dict[str, list[Rendering]]:
    """Returns the OOD sets of the meta-train mixes, by kind."""
    found: dict[str, list[Rendering]] = {}
    for name in dict.fromkeys(mix.ood_set for mix in sets.mixes):
        found.setdefault(ood_kind(name), []).append(FromRecipe.whole(sets.ood_pool(name)))
    return dict(sorted(found.items()))


def scored(
    view: Scorer, kinds: Mapping[str, Labelled], semantic: Mapping[str, Sequence[Rendering]]
) -> Detectors:
    """Returns each detector's scores of the labelled IND images and of the OOD images, by kind."""
    view.observe([each for renderings, _ in kinds.values() for each in renderings])
    view.observe([each for renderings in semantic.values() for each in renderings])
    correct = {kind: _predicted(view, renderings) == labels for kind, (renderings, labels) in kinds.items()}
    return {
        detector: Scored(
            {kind: (_scores(view, detector, each), correct[kind]) for kind, (each, _) in kinds.items()},
            {kind: _scores(view, detector, each) for kind, each in semantic.items()},
        )
        for detector in view.detectors
    }


def matched(
    found: Mapping[str, Detectors],
    views: Mapping[str, Scorer],
    kinds: Mapping[str, Labelled],
    semantic: Mapping[str, Sequence[Rendering]],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns `matched_table` and `intercepts_table` for every classifier.

    Distances are between features of another classifier, if the competition has one, or else of the same
    classifier: a detector has an advantage if it reads the features by which images are matched.
    """
    frames = []
    for name, detectors in found.items():
        eyes = next((view for other, view in views.items() if other != name), views[name])
        shifted = {kind: each for kind, (each, _) in kinds.items() if kind != CLEAN} | dict(semantic)
        reference = _features(eyes.source.train_ref)
        distances = {
            kind: np.concatenate(
                [nearest_distances(_features(eyes.observation(one)), reference) for one in each]
            )
            for kind, each in shifted.items()
        }
        clean = {detector: given.ind[CLEAN][0] for detector, given in detectors.items()}
        scores = {
            detector: {**{kind: pair[0] for kind, pair in given.ind.items()}, **given.ood}
            for detector, given in detectors.items()
        }
        frame = matched_table(clean, scores, distances)
        frames.append((frame.assign(classifier=name), intercepts_table(frame).assign(classifier=name)))
    points, lines = (pd.concat(each, ignore_index=True) for each in zip(*frames, strict=True))
    return _classifier_first(points), _classifier_first(lines)


def ood_kind(name: str) -> str:
    """Returns the kind of an OOD set: "near" or "far" if that is the middle of its name, else "ood".

    >>> ood_kind("bus_near_cifar100"), ood_kind("tinyin_food")
    ('near', 'ood')
    """
    parts = name.split("_")
    return parts[1] if len(parts) == 3 and parts[1] in ("near", "far") else OOD


def write_failure(tables: Mapping[str, pd.DataFrame], folder: Path) -> list[Path]:
    """Write ``<name>.csv`` and ``<name>.png`` of each table with rows into the folder, made if needed.

    Returns:
        The files' paths. One detector alone has no table of differences.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, frame in tables.items():
        if len(frame):
            paths += [folder / f"{name}.csv", folder / f"{name}.png"]
            write_text(paths[-2], frame.to_csv(index=False, float_format="%.6g"))
            plot_failure(frame, paths[-1])
    return paths


def _of_all(found: Mapping[str, Detectors], name: str) -> pd.DataFrame:
    """Returns a table of all classifiers, with the mean over them."""
    frames = [TABLES[name](detectors).assign(classifier=each) for each, detectors in found.items()]
    frame = pd.concat(frames, ignore_index=True)
    if len(frames) > 1 and name in AVERAGED:
        keys = [key for key in ("detector", "ind", "ood") if key in frame]
        mean = frame.drop(columns="classifier").groupby(keys, sort=False, as_index=False).mean()
        frame = pd.concat([frame, mean.assign(classifier=MEAN)], ignore_index=True)
    return _classifier_first(frame)


def _classifier_first(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["classifier", *frame.columns.drop("classifier")]]


def _features(observation: Observation) -> FloatArray:
    assert observation.features is not None
    return observation.features


def _predicted(view: Scorer, renderings: Sequence[Rendering]) -> NDArray[np.int64]:
    return np.concatenate([view.observation(each).predicted for each in renderings])


def _scores(view: Scorer, detector: str, renderings: Sequence[Rendering]) -> NDArray[np.float64]:
    return np.concatenate([view.scores(detector, each) for each in renderings])


def _labels(images: ImageSet) -> NDArray[np.int64]:
    assert images.labels is not None
    return images.labels
