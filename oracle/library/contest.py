"""A competition as a Python object: what is in it, its sets as observations and as a table of features."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from baselines.run.features import NEEDS, measure_of
from starter.build.build import build as make
from starter.build.presets import preset as settings_of_preset
from starter.build.settings import settings_of
from starter.competition.subjects import Subject, open_subjects
from starter.observing.observation import MetaTrain, Seen
from submission import Competition, UnusableInput, make_id
from submission.competition import PARTS, VISIBILITIES
from submission.page import templates
from submission.scoring import read_targets
from submission.tracks import TRACKS

READ = ("moments", "features")
"""What `Contest.observations` has beside the logits unless asked otherwise."""


class Contest(Competition):
    """A competition in a folder, as `unseen.open` and `unseen.build` give it; a notebook shows what is in it.

    It is a `Competition`, whose attributes it has: `subjects`, `sizes`, `classes`, `root` and others.

    >>> import unseen
    >>> contest = unseen.open("contest")
    >>> contest.subjects, len(contest.sets("train"))
    (('tiny',), 12)
    """

    def features(self, part: str = "train", device: str = "cpu", progress: bool = False) -> pd.DataFrame:
        """Returns the sets of "train", "val" or "test" as a table, a row each: what a regressor learns from.

        >>> import unseen
        >>> table = unseen.open("contest").features("val")
        >>> table.index[0], table.columns[-1], len(table)
        ('tiny/val_0001', 'target', 6)

        Args:
            part: "train", "val" or "test".
            device: where classifiers run.
            progress: whether bars are shown.

        Returns:
            by id, as in a submission; the columns are indicators (`baselines.run.features`), then `target`,
            a fraction, but for test sets, where it is hidden.

        Raises:
            UnusableInput: there is no such part.
        """
        self._check(part)
        rows: dict[str, Mapping[str, float]] = {}
        for name, subject in open_subjects(self, NEEDS[self.track], device).items():
            measure = measure_of(self.track, subject.source)
            sets = self._seen(subject, part, progress)
            rows |= {make_id(name, seen.set_name): measure(seen) for seen in sets}
        table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("id")
        if part != "test":
            targets = read_targets(self, part)
            table["target"] = [targets[name] for name in table.index]
        return table

    def observations(
        self,
        part: str = "train",
        subject: str | None = None,
        needs: Sequence[str] | None = None,
        device: str = "cpu",
        progress: bool = False,
    ) -> Sequence[Seen]:
        """Returns the sets of a part as a method sees them, read one by one when they are asked for.

        >>> import unseen
        >>> first = unseen.open("contest").observations("test")[0]
        >>> first.logits.shape, first.probabilities.sum(axis=1).round(6).tolist()[:2], first.features.shape
        ((60, 10), [1.0, 1.0], (60, 64))

        Args:
            part: "train", "val" or "test".
            subject: whose; needed where the competition has several.
            needs: what they hold beside the logits, names of `starter.observing.observation.NEEDS`; moments
                and features unless given, where the classifiers have them.
            device: where the classifier runs.
            progress: whether bars are shown.

        Raises:
            UnusableInput: there is no such part or subject.
        """
        self._check(part)
        return self._seen(self._subject(subject, needs, device), part, progress)

    def meta_train(
        self,
        subject: str | None = None,
        needs: Sequence[str] | None = None,
        device: str = "cpu",
        progress: bool = False,
    ) -> MetaTrain:
        """Returns what a method's `fit` gets.

        The meta-train sets with their targets, and the labelled source.

        >>> import unseen
        >>> meta = unseen.open("contest").meta_train()
        >>> len(meta.sets), meta.targets.shape, round(meta.source.accuracy, 1) > 0.5
        (12, (12,), True)

        The arguments are those of `observations`.
        """
        return self._subject(subject, needs, device).meta_train(progress)

    def targets(self, part: str = "train") -> "pd.Series[float]":
        """Returns the true values, fractions, of the sets of "train" or "val", by id.

        >>> import unseen
        >>> unseen.open("contest").targets("val").between(0, 1).all()
        np.True_
        """
        if part not in PARTS[:2]:
            raise UnusableInput(f'the targets of {part!r} are not public: ask for "train" or "val"')
        return pd.Series(read_targets(self, part), name="target").rename_axis("id")

    def __repr__(self) -> str:
        """Returns what a terminal shows."""
        return self.describe()

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: sizes, subjects, rules."""
        page = templates(Path(__file__).parent).get_template("contest.html")
        return page.render(
            contest=self,
            asks=TRACKS[self.track].asks,
            sizes={part: sorted(self.sizes[part].values()) for part in PARTS},
            visibility=VISIBILITIES[self.visibility],
        )

    def _check(self, part: str) -> None:
        if part not in PARTS:
            raise UnusableInput(f"there is no part {part!r}: ask for one of {', '.join(PARTS)}")

    def _seen(self, subject: Subject, part: str, progress: bool) -> Sequence[Any]:
        return subject.meta_train(progress).sets if part == "train" else subject.observations(part, progress)

    def _subject(self, name: str | None, needs: Sequence[str] | None, device: str) -> Subject:
        if needs is None:
            needs = () if self.logits_alone else READ
        subjects = open_subjects(self, tuple(needs), device)
        chosen = name or (next(iter(subjects)) if len(subjects) == 1 else "")
        if chosen not in subjects:
            raise UnusableInput(f"name a subject: one of {', '.join(subjects)}")
        return subjects[chosen]


def open(folder: Path | str) -> Contest:
    """Returns a competition that was built, or unpacked from an organizer's archive.

    >>> import unseen
    >>> unseen.open("contest").track
    'accuracy'

    Raises:
        UnusableInput: there is no such folder, or it is no competition.
    """
    found = Contest.open(folder)
    assert isinstance(found, Contest)
    return found


def build(
    folder: Path | str,
    preset: str = "",
    settings: Mapping[str, object] | None = None,
    track: str = "accuracy",
    test_seed: int | None = None,
    data_root: Path | None = None,
    device: str = "cpu",
) -> Contest:
    """Build a competition, or finish an interrupted build; with the same settings it is opened.

    >>> import unseen
    >>> settings = {"train_sets": 4, "val_sets": 2, "test_sets": 3, "set_size": 40}
    >>> len(unseen.build("new", settings=settings).sets("train"))
    4

    Args:
        folder: a new one.
        preset: settings of a kind: "small" is built in seconds on embedded images.
        settings: others by name, as a settings file has them (`unseen build --write-settings FILE`); they go
            before those of the preset.
        track: "accuracy" or "ood".
        test_seed: of the test sets, to be kept secret; random unless given.
        data_root: where a named source is, or is downloaded to.
        device: where classifiers run.

    Raises:
        UnusableInput: a setting is unknown or out of its limits, or the folder holds something else.
    """
    asked = settings_of(track, {**(settings_of_preset(preset, track) if preset else {}), **(settings or {})})
    make(Path(folder), asked, test_seed, device, data_root)
    return open(folder)
