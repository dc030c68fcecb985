"""The files common to builds of both tracks: the draft of a competition, and its private part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from starter.build.folder import Claim, hashes, public_sets
from starter.classifiers import Classifier
from starter.competition.cluster import Cluster
from starter.competition.sets import GROUPS_FILE
from starter.sources.splits import Splits
from submission import Competition, SolutionRow, make_id, write_predictions, write_solution
from submission.card import LICENCES
from submission.scoring import NOISE

INPUTS = (
    *("--test-ind", "--source", "--val-from", "--test-from", "--recipes", "--ood", "--classes"),
    *("--classifier", "--grid", "--referee"),
)
"""Options that name the inputs of a build, in the order of its record."""
Key = tuple[str, str, str]
"""Name, group and family of a set."""
Values = dict[str, dict[str, float]]
"""A number for each id, by part."""


@dataclass(frozen=True)
class Truth:
    """The measured targets.

    Attributes:
        targets: Targets by part and id, fractions.
        deviations: Standard deviations of the targets of "val" and "test" over draws of images, by part and
            id; {} if they follow from the number of images.
    """

    targets: Values
    deviations: Values = field(default_factory=dict)


class Plans(Protocol):
    """The planned sets of a competition: the interface that each track implements."""

    @property
    def inputs(self) -> Mapping[str, str]:
        """Hashes of the inputs except source and classifiers, by option."""

    @property
    def told(self) -> Mapping[str, object]:
        """Public settings of the competition that follow from the plan, plain JSON values."""

    @property
    def seen(self) -> Sequence[str]:
        """The public files that `measure` writes."""

    @property
    def files(self) -> Sequence[str]:
        """The public files that `write` writes, except those of validation and test sets."""

    @property
    def sizes(self) -> Mapping[str, Mapping[str, int]]:
        """The images of each set, by part and name, in order."""

    def write(self, public: Path) -> None:
        """Write the sets, those of the test without labels."""

    def measure(self, draft: Competition, device: str, cluster: Cluster | None) -> Truth:
        """Observe every set with every classifier, and measure every subject on it."""

    def keys(self, part: str) -> list[Key]:
        """Returns the keys of the sets of "val" or "test"."""

    def divided(self) -> list[Key]:
        """Returns the keys by which test sets are divided into the public and the private part."""

    def record(self) -> list[dict[str, object]]:
        """Returns the data to make the test sets again, plain JSON values."""


def drafted(claim: Claim, splits: Splits, plans: Plans, given: Mapping[str, Classifier]) -> Competition:
    """Returns the competition before its targets are known; its `files` are listed by name, not by search."""
    settings = claim.settings
    bare = [name for name, classifier in given.items() if classifier.logits_alone]
    told = {"logits_alone": bare} if bare else {}
    files = ["base.npz", "reference.npz", "train_ref.npz", *plans.files, GROUPS_FILE, LICENCES]
    files += [f"classifiers/{name}.safetensors" for name in settings.classifier_names]
    files += [f"{part}/{name}.npz" for part in ("val", "test") for name in plans.sizes[part]]
    return Competition(
        root=claim.root,
        name=claim.root.resolve().name,
        track=settings.plan.track,
        visibility="hidden" if settings.hidden else "practice",
        source=Path(settings.source).absolute().name,
        classes=splits.classes,
        image_size=splits.image_size,
        subjects=settings.subjects,
        sizes={part: dict(sizes) for part, sizes in plans.sizes.items()},
        precision=settings.precision,
        seed=settings.seed,
        settings=settings.public() | dict(plans.told) | told,
        files=hashes(claim.root / "public", files),
        engine=settings.engine,
        **settings.rules(),
    )


def write_private(draft: Competition, claim: Claim, plans: Plans, truth: Truth) -> None:
    """Write the solution with each set's usage, the targets' deviations, and the record of the test sets."""
    public = public_sets(plans.divided(), claim.test_seed)
    rows = [
        SolutionRow(
            id=make_id(subject, name),
            prediction=truth.targets["test"][make_id(subject, name)],
            usage="Public" if name in public else "Private",
            subject=subject,
            set=name,
            group=group,
        )
        for subject in draft.subjects
        for name, group, _ in plans.keys("test")
    ]
    write_solution(draft.private / "solution.csv", rows)
    if truth.deviations:
        noise = draft.root / NOISE["test"]
        write_predictions(noise, truth.deviations["test"], column="deviation")
        noise.chmod(0o600)
    claim.record(test=plans.record())
