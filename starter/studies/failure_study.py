"""The tables of `starter.studies.failure` for a competition of the OOD track.

No hidden image or label is read. Clean IND images are those of its meta-train mixes; covariate shift is the
same under corruptions, and natural-shift sets of the user's; semantic shift is the mixes' OOD sets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from starter.contest.ood.observe import DetectorSubject, MixSets
from starter.data.operations.corruptions import CORRUPTIONS
from starter.data.sets.recipe import Recipe
from starter.data.sets.rendering import FromRecipe, Rendering
from starter.data.sources.sources import load_images, set_names
from starter.observing.observation import Observation
from starter.studies import contrasts, failure
from starter.studies.contrasts import CLEAN, NEARER
from starter.studies.study import Study
from submission import Competition
from submission.arrays import FloatArray, IntArray
from submission.errors import UnusableInput
from submission.random import FAILURE

SEVERITY = 5
CORRUPTED, OOD, NEAR_FAR, MEAN = "corrupted", "ood", ("near", "far"), "mean"
AVERAGED = ("auroc", "detection", "rejected", "groups", "misclassification")
"""Names of tables that also show the mean over classifiers, as the paper does."""
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
intercept at distance 0, with a 95 % interval (_low, _high). New classes (ood, near, far) above covariate
shift (the others) is better. nan: fewer than three subsets.""",
    "zoom": """Images that are right clean and nearer: mean rank, the share of OOD images farther out, and
the ranks of the image that falls most by the other detectors compared with the first.""",
}
"""Tables in the study's text, with a description of their columns: units, and the better direction."""
KINDS = "ind: clean, corrupted (severity 5), nearer (the middle, 1.5 times), --shifted; ood: of the mixes."

Labelled = tuple[Sequence[Rendering], IntArray]
"""Unlabelled sets, and the classes of all their images, in order."""


def failure_study(
    competition: Competition,
    names: Sequence[str] = (),
    *,
    shifted: Sequence[Path] = (),
    images: int = 400,
    device: str = "cpu",
) -> Study:
    """Returns whether detectors find new classes or errors; the others are compared with the first."""
    if competition.track != "ood":
        raise UnusableInput(f"{competition.root}: failure detection is about OOD detectors (--track ood)")
    sets = MixSets(competition)
    kinds, semantic = ind_kinds(sets, shifted, images), ood_kinds(sets)
    views = {
        classifier: DetectorSubject.open(sets, classifier, ("features",), device, names)
        for classifier in competition.classifiers
    }
    found = {classifier: scored(view, kinds, semantic) for classifier, view in views.items()}
    tables = {name: _of_all(found, name) for name in failure.TABLES}
    pictures = {kind: each for kind, (each, _) in kinds.items()} | dict(semantic)
    rows = _some_rows(sets, images)
    tables["contrasts"] = _joined({name: contrasts.contrast_table(each) for name, each in found.items()})
    tables["zoom"] = _joined({name: contrasts.zoom_table(each, rows) for name, each in found.items()})
    figures = contrasts.figures(tables["contrasts"], tables["zoom"], pictures, rows)
    others = {kind: each for kind, each in pictures.items() if kind != CLEAN}
    points = {}
    for name, each in found.items():
        # A detector has an advantage if it reads the features by which images are matched.
        judge = next((view for other, view in views.items() if other != name), views[name])
        points[name] = failure.matched_table(each, _distances(judge, others))
    tables["matched"] = _joined(points)
    tables["intercepts"] = _joined({name: failure.intercepts_table(each) for name, each in points.items()})
    tables = {name: table for name, table in tables.items() if len(table)}
    return Study(tables, figures, report_text(tables), competition.out / "failure")


def report_text(tables: Mapping[str, pd.DataFrame]) -> str:
    """Returns the most informative tables as text, each with a description of its columns below it."""
    texts = [
        f"{name}\n{tables[name].to_string(index=False, float_format='{:.3f}'.format)}\n\n{explained}"
        for name, explained in EXPLAINED.items()
        if name in tables  # no image may be right twice
    ]
    return "\n\n".join([*texts, KINDS])


def ind_kinds(sets: MixSets, shifted: Sequence[Path], images: int) -> dict[str, Labelled]:
    """Returns labelled IND images by kind: clean, corrupted at severity 5, and by name those at each path."""
    base = sets.base
    some = base.take(_some_rows(sets, images), "ind")
    near = FromRecipe.whole(contrasts.nearer(some))
    unlabelled = replace(some, labels=None)
    corrupted = [
        FromRecipe(Recipe(name, 0, ((name, {"severity": SEVERITY}),)), unlabelled) for name in CORRUPTIONS
    ]
    kinds: dict[str, Labelled] = {
        CLEAN: ([FromRecipe.whole(sets.ind_pool)], base.truth),
        CORRUPTED: (corrupted, np.tile(some.truth, len(corrupted))),
        NEARER: ([near], some.truth),
    }
    for path in shifted:
        classes = sets.competition.classes
        found = [load_images(name, classes, images, 0, sets.fit) for name in set_names(path, classes)]
        kind = path.resolve().stem
        if kind in (*kinds, MEAN, OOD, *NEAR_FAR):
            raise UnusableInput(f"--shifted {path}: there is a kind {kind!r} already; rename the folder")
        whole = [FromRecipe.whole(replace(each, labels=None)) for each in found]
        kinds[kind] = whole, np.concatenate([each.truth for each in found])
    return kinds


def _some_rows(sets: MixSets, images: int) -> IntArray:
    """Returns the rows of at most so many random IND images, ascending."""
    return np.sort(FAILURE(0).permutation(len(sets.base))[:images])


def ood_kinds(sets: MixSets) -> dict[str, list[Rendering]]:
    """Returns the OOD sets of the meta-train mixes, by kind."""
    found: dict[str, list[Rendering]] = {}
    for name in dict.fromkeys(mix.ood_set for mix in sets.mixes):
        found.setdefault(ood_kind(name), []).append(FromRecipe.whole(sets.ood_pools[name]))
    return dict(sorted(found.items()))


def ood_kind(name: str) -> str:
    """Returns the kind of an OOD set: "near" or "far" if that is the middle of its name, else "ood".

    >>> ood_kind("bus_near_cifar100"), ood_kind("tinyin_food")
    ('near', 'ood')
    """
    parts = name.split("_")
    return parts[1] if len(parts) == 3 and parts[1] in NEAR_FAR else OOD


def scored(
    view: DetectorSubject, kinds: Mapping[str, Labelled], semantic: Mapping[str, Sequence[Rendering]]
) -> failure.Detectors:
    """Returns each detector's scores of the labelled IND images and of the OOD images, by kind."""
    view.observe([each for renderings, _ in kinds.values() for each in renderings])
    view.observe([each for renderings in semantic.values() for each in renderings])
    correct = {
        kind: np.concatenate([view.observation(each).predicted for each in renderings]) == labels
        for kind, (renderings, labels) in kinds.items()
    }
    return {
        detector: failure.Scored(
            {kind: (_scores(view, detector, each), correct[kind]) for kind, (each, _) in kinds.items()},
            {kind: _scores(view, detector, each) for kind, each in semantic.items()},
        )
        for detector in view.detectors
    }


def _distances(view: DetectorSubject, kinds: Mapping[str, Sequence[Rendering]]) -> dict[str, FloatArray]:
    """Returns the distance of each image (m,) to the nearest training image in features of a classifier."""
    reference = _features(view.plain_source.train_ref)
    return {
        kind: np.concatenate(
            [failure.nearest_distances(_features(view.observation(one)), reference) for one in each]
        )
        for kind, each in kinds.items()
    }


def _of_all(found: Mapping[str, failure.Detectors], name: str) -> pd.DataFrame:
    """Returns a table of all classifiers, with the mean over them."""
    frames = {classifier: failure.TABLES[name](detectors) for classifier, detectors in found.items()}
    if len(frames) > 1 and name in AVERAGED:
        keys = [key for key in ("detector", "ind", "ood") if key in frames[next(iter(frames))]]
        frames[MEAN] = pd.concat(frames.values()).groupby(keys, sort=False, as_index=False).mean()
    return _joined(frames)


def _joined(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Returns the tables of all classifiers as one, with the classifier's name as the first column."""
    return pd.concat(frames, names=["classifier"]).reset_index("classifier").reset_index(drop=True)


def _scores(view: DetectorSubject, detector: str, renderings: Sequence[Rendering]) -> FloatArray:
    return np.concatenate([view.scores(detector, each) for each in renderings])


def _features(observation: Observation) -> FloatArray:
    assert observation.features is not None
    return observation.features
