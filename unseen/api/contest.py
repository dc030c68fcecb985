"""A competition as a Python object, with its sets as observations and as a table of features."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from baselines.run.tabular import FEATURES, MEASURES, NEEDS
from starter.contest.build import build as make
from starter.contest.named_settings import preset as settings_of_preset
from starter.contest.named_settings import settings_of
from starter.contest.subject import Subject
from starter.contest.tracks import open_subjects
from starter.observing.observation import NEEDS as NAMES
from starter.observing.observation import Lazy, MetaTrain, Seen, unmet
from submission.competition import PARTS, Competition
from submission.errors import UnusableInput
from submission.ids import make_id, split_id
from submission.pack import unpacked
from submission.progress import progress
from submission.scoretable import validation_groups
from submission.scoring import read_targets

READ = ("moments", "features")
"""Default fields of `Contest.observations`, besides the logits."""


class Contest(Competition):
    """A competition in a folder, returned by `unseen.open` and `unseen.build`; a notebook shows its contents.

    It has the attributes of `Competition`: `subjects`, `sizes`, `classes`, `root` and others.

    >>> import unseen
    >>> contest = unseen.open("contest")
    >>> contest.subjects, len(contest.sets("train"))
    (('tiny',), 12)
    """

    def features(self, part: str = "train", device: str = "cpu") -> pd.DataFrame:
        """Returns the sets of a part as a table with one row per set, from which a regressor can learn.

        >>> import unseen
        >>> from sklearn.linear_model import Ridge
        >>> from sklearn.model_selection import GroupKFold, cross_val_score
        >>> table = unseen.open("contest").features("train")
        >>> table.index[0], *table.columns[-2:], len(table)
        ('tiny/train_0001', 'family', 'target', 12)
        >>> rows = table.drop(columns=["family", "target"])
        >>> len(cross_val_score(Ridge(), rows, table.target, groups=table.family, cv=GroupKFold(3)))
        3

        Args:
            part: "train", "val" or "test".
            device: Device that runs the classifiers.

        Returns:
            A table indexed by id, as in a submission. The columns are indicators, named after the methods
            that use them, which `columns` explains (besides, `norm` is the norm of the softmax, `turned` and
            `grey` are invariance to rotation and to the loss of colour; in the OOD track, `ind-share` is the
            estimated share of IND images). Except for test sets, of which they are hidden, `family` and
            `target`, a fraction, follow. A family is all operations of a set, or the source of its shift.
            Folds of families still share single operations, and so tell of `seen` test sets;
            `baselines.contract.families.folds`, which leave each operation out, tell of `new` ones.
        """
        rows: dict[str, Mapping[str, float]] = {}
        families = {name: family for name, (_, family) in validation_groups(self).items()}
        for name, subject in open_subjects(self, NEEDS[self.track], device).items():
            measure = MEASURES[self.track]
            source = subject.source
            sets = progress(self._seen(subject, part), f"measure {name}", unit="sets")
            rows |= {make_id(name, seen.set_name): measure(seen, source) for seen in sets}
            if part == "train":
                made_of = subject.meta_train().families
                families = dict(zip(self.sets("train"), map("+".join, map(sorted, made_of)), strict=True))
        table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("id")
        if part != "test":
            targets = read_targets(self, part)
            table["family"] = [families[split_id(name)[1]] for name in table.index]
            table["target"] = [targets[name] for name in table.index]
        return table

    @property
    def columns(self) -> pd.DataFrame:
        """The columns of `features`, with the `meaning` and the usual `direction` of each.

        >>> import unseen
        >>> unseen.open("contest").columns.loc["grey"].tolist()
        ['invariance of the predictions to the loss of colour', 'higher: more accurate']
        """
        rows = FEATURES[self.track]
        return pd.DataFrame.from_dict(rows, orient="index", columns=["meaning", "direction"])

    def observations(
        self,
        part: str = "train",
        subject: str | None = None,
        needs: Sequence[str] | None = None,
        device: str = "cpu",
    ) -> Sequence[Seen]:
        """Returns the sets of a part as a method sees them, read lazily one by one.

        >>> import unseen
        >>> first = unseen.open("contest").observations("test")[0]
        >>> first.logits.shape, first.probabilities.sum(axis=1).round(6).tolist()[:2], first.features.shape
        ((60, 10), [1.0, 1.0], (60, 64))

        Args:
            part: "train", "val" or "test".
            subject: Name of the subject; may be omitted if the competition has only one.
            needs: Names of the fields besides the logits, from `starter.observing.observation.NEEDS`; by
                default moments and features, if the classifiers have them.
            device: Device that runs the classifier.
        """
        return self._seen(self._subject(subject, needs, device), part)

    def meta_train(
        self,
        subject: str | None = None,
        needs: Sequence[str] | None = None,
        device: str = "cpu",
    ) -> MetaTrain:
        """Returns the argument of a method's `fit`: meta-train sets, their targets and the labelled source.

        >>> import unseen
        >>> meta = unseen.open("contest").meta_train()
        >>> len(meta.sets), meta.targets.shape, round(meta.source.accuracy, 1) > 0.5
        (12, (12,), True)

        The arguments are those of `observations`.
        """
        return self._subject(subject, needs, device).meta_train()

    def targets(self, part: str = "train") -> "pd.Series[float]":
        """Returns the true values, as fractions, of the sets of "train" or "val", by id.

        >>> import unseen
        >>> unseen.open("contest").targets("val").between(0, 1).all()
        np.True_
        """
        if part not in PARTS[:2]:
            raise UnusableInput(f'the targets of {part!r} are not public: ask for "train" or "val"')
        return pd.Series(read_targets(self, part), name="target").rename_axis("id")

    def __repr__(self) -> str:
        """Returns the text for a terminal."""
        return self.describe()

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Returns the same text for a notebook."""
        return f"<pre>{escape(self.describe())}</pre>"

    def _seen(self, subject: Subject, part: str) -> Sequence[Any]:
        if part not in PARTS:
            raise UnusableInput(f"there is no part {part!r}: ask for one of {', '.join(PARTS)}")
        sets = subject.meta_train().sets if part == "train" else subject.observations(part)
        return Lazy(range(len(sets)), lambda i: sets[i].only(subject.needs))

    def _subject(self, name: str | None, needs: Sequence[str] | None, device: str) -> Subject:
        if needs is None:
            needs = () if self.logits_alone else READ
        if unknown := set(needs) - set(NAMES):
            raise UnusableInput(f"there is no field {min(unknown)!r}: ask for any of {', '.join(NAMES)}")
        if problem := unmet(needs, self):
            raise UnusableInput(problem)
        subjects = open_subjects(self, tuple(needs), device)
        if name is None and len(subjects) > 1:
            raise UnusableInput(f"name a subject: one of {', '.join(subjects)}")
        return subjects[name or self.subjects[0]]


def open(folder: Path | str) -> Contest:
    """Returns the competition in a folder, or in an organizer's archive, which is unpacked.

    What cannot be written to the folder, since it is an archive's or read-only, goes to a folder
    ``unseen-NAME`` in the working folder: the archive's files, the cache, predictions.

    >>> import unseen
    >>> unseen.open("contest").track
    'accuracy'
    """
    return Contest.open(unpacked(folder))


def build(
    folder: Path | str,
    preset: str = "",
    settings: Mapping[str, object] | None = None,
    track: str = "accuracy",
    test_seed: int | None = None,
    device: str = "cpu",
) -> Contest:
    """Build a competition, or finish an interrupted build; a finished one with the same settings is opened.

    >>> import unseen
    >>> settings = {"train_sets": 4, "val_sets": 2, "test_sets": 3, "set_size": 40}
    >>> len(unseen.build("new", settings=settings).sets("train"))
    4

    Args:
        folder: Path of a new folder, or of one to finish.
        preset: Name of a preset; "small" is built in seconds on embedded images.
        settings: Values of settings by name, as in a settings file (`unseen build --write-settings FILE`);
            they override the preset.
        track: "accuracy" or "ood".
        test_seed: Secret seed of the test sets, 2^32 or more if `hidden`; None for a random one.
        device: Device that runs the classifiers.

    Raises:
        UnusableInput: a setting is unknown or out of range, or the folder holds something else.
    """
    asked = settings_of(track, {**(settings_of_preset(preset, track) if preset else {}), **(settings or {})})
    make(Path(folder), asked, test_seed, device)
    return open(folder)
