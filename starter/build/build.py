"""Building a competition folder from settings: public parts, hidden solution, observations."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from starter.build.accuracy import plan_accuracy
from starter.build.draft import INPUTS, Plans, Truth, drafted, write_private
from starter.build.folder import (
    Claim,
    claimed,
    given_classifiers,
    hashes,
    licences,
    write_bases,
    write_classifiers,
)
from starter.build.ood import check_detectors, plan_mixes
from starter.build.referees import load_referees
from starter.build.settings import AccuracyPlan, OodPlan, Settings
from starter.classifiers import Classifier, check_device
from starter.competition.cluster import Cluster
from starter.competition.sets import GROUPS_FILE, write_groups
from starter.encoders.choose import EMBEDDED, load_encoder
from starter.observing.cache import keep_elsewhere
from starter.shift.ruler import read_laid
from starter.sources.sources import load_source
from starter.sources.splits import Splits
from submission import Competition, write_predictions, write_sample
from submission.card import LICENCES
from submission.files import digest_of, write_text
from submission.scoring import NOISE
from submission.solution import solution_of

PLANNERS: dict[type, Callable[[Any, Claim, Splits, str], Plans]] = {
    AccuracyPlan: plan_accuracy,
    OodPlan: plan_mixes,
}
"""Functions of plan, claim, splits and device that plan the sets, by the plan's type."""


def build(
    root: Path,
    settings: Settings,
    test_seed: int | None = None,
    device: str = "cpu",
    data_root: Path | None = None,
    cluster: Cluster | None = None,
    cache: str = "",
) -> Competition:
    """Build the competition of `settings` in `root`, or finish a build of the same settings.

    Every step writes whole files and every observation is cached, so an interrupted build continues where it
    stopped and ends in the same files. ``public/competition.json`` is written last and marks the end.

    Args:
        root: Folder of the competition.
        settings: Settings of the build.
        test_seed: Seed of everything hidden; by default from the system's entropy (others are for tests).
        device: Device that runs the classifiers.
        data_root: Folder for the download of a named source.
        cluster: Cluster that observes instead of this process; the files are the same.
        cache: Folder or address of the cache, now and later, instead of ``root/cache``.

    Raises:
        UnusableInput: `root` holds something else or was built with other settings (the message names them),
            another build is running there, images or weights have changed since the build was begun, test
            images are public, or an argument cannot be used.
    """
    check_device(device)
    with claimed(root, settings, test_seed, device) as claim:
        if cache:
            keep_elsewhere(root, cache)
        if (root / "public/competition.json").is_file():
            return _finished(root)
        _check_encoders(settings)
        return _built(claim, device, data_root, cluster)


def _built(claim: Claim, device: str, data_root: Path | None, cluster: Cluster | None) -> Competition:
    """Build the claimed competition: read and plan everything, write it, and measure the targets."""
    settings, public = claim.settings, claim.root / "public"
    settings.plan.check_files()
    splits = settings.plan.divided(load_source(settings.source, data_root, settings.seed, settings.fit()))
    given = given_classifiers(settings, splits, device)
    check_detectors(settings, given)
    plans = PLANNERS[type(settings.plan)](settings.plan, claim, splits, device)
    claim.check_inputs(_inputs(settings, splits, given, plans))
    paths, tested = settings.plan.public_paths, bool(settings.test_from)
    write_text(public / LICENCES, licences(settings.source, settings.licence, paths, tested))
    write_bases(public, splits, settings.seed)
    write_classifiers(public, given, splits, settings)
    plans.write(public)
    write_groups(public / GROUPS_FILE, plans.keys("val"))
    draft = drafted(claim, splits, plans, given)
    truth = plans.measure(draft, device, cluster)
    _write_targets(draft, truth)
    write_private(draft, claim, plans, truth)
    files = ["sample_submission.csv", "train/targets.csv", "val/targets.csv"]
    files += [NOISE["val"]] if truth.deviations else []
    files += plans.seen
    competition = replace(draft, files={**draft.files, **hashes(public, files)})
    competition.save()
    return competition


def _write_targets(draft: Competition, truth: Truth) -> None:
    """Write the public targets of meta-train and validation sets, and a sample submission."""
    for part in ("train", "val"):
        write_predictions(draft.public / part / "targets.csv", truth.targets[part], column="target")
    if truth.deviations:
        write_predictions(draft.public / NOISE["val"], truth.deviations["val"], column="deviation")
    write_sample(draft.public / "sample_submission.csv", draft.ids("test"))


def _inputs(settings: Settings, splits: Splits, given: dict[str, Classifier], plans: Plans) -> dict[str, str]:
    """Returns hashes of the files that the build reads, by option, in the record's order."""
    parts = (splits.train, splits.reference, splits.meta_base, splits.val_base, splits.test_base)
    found = {f"--source {settings.source}": digest_of(splits.classes, *(part.digest for part in parts))}
    found |= {f"--classifier {name}": classifier.digest for name, classifier in given.items()}
    found |= plans.inputs
    return dict(sorted(found.items(), key=lambda each: INPUTS.index(each[0].split()[0])))


def _check_encoders(settings: Settings) -> None:
    """Read the files of --grid, --laid and --referee first, except those that have to be trained."""
    if isinstance(settings.plan, AccuracyPlan):
        load_referees(settings.plan.referees, trained=False)
    if settings.laid:
        read_laid(Path(settings.laid), settings.grid)
    elif settings.grid not in ("", EMBEDDED):
        load_encoder(settings.grid, Path())


def _finished(root: Path) -> Competition:
    """Refuse to build a finished competition again, since its solution must not change."""
    competition = Competition.open(root)
    for file in competition.files:
        competition.file(file)
    solution_of(competition)
    return competition
