"""The settings of the OOD track."""

import math
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator, model_validator

from starter.contest.settings import OFTEN, Settings
from submission.tracks import TRACKS

if TYPE_CHECKING:
    from typing_extensions import Self

SHARES = (0.2, 0.8)
"""Range of a hidden IND share, which is drawn uniformly."""
HIDDEN = "hidden"
ANY = "any"


class OodSettings(Settings):
    """The settings of a competition of the OOD track; since no image is in two test mixes, they are fewer."""

    track: Literal["ood"] = "ood"
    test_sets: int = Field(40, ge=2, le=10_000, json_schema_extra=OFTEN)
    """Number of hidden test sets to make."""
    set_size: int = Field(125, ge=2, le=1_000_000, json_schema_extra=OFTEN)
    """Number of images in a set."""
    ood: str = Field("", json_schema_extra=OFTEN)
    """A folder or zip with a folder for each OOD data set; if left out the embedded ones."""
    classes: str = Field("", json_schema_extra={"metavar": "MANIFEST"})
    """A class manifest, whose near and far classes become the OOD sets."""
    images: str = Field("", json_schema_extra={"metavar": "ROOT"})
    """The folder of the manifest's images: ROOT/SOURCE or ROOT/SOURCE.zip."""
    id_up_to: Literal["", "T1", "T2"] = Field("", json_schema_extra={"metavar": "T1|T2"})
    """Count a manifest's classes of oodness 0-1 (T1) or 0-2 (T2) as ID; if left out as assigned."""
    classes_per_set: int = Field(1, ge=1, le=999_999, json_schema_extra={"metavar": "N"})
    """Make each OOD set of N related classes of the manifest."""
    exclude: tuple[str, ...] = ()
    """An OOD set to leave out."""
    detectors: tuple[str, ...] = Field(
        ("msp", "odin", "energy", "mls"), min_length=1, json_schema_extra=OFTEN
    )
    """An OOD detector, such as msp."""
    metrics: tuple[str, ...] = Field(("fpr95", "auroc"), min_length=1)
    """fpr95, auroc, fpr80, ...; the first one ranks."""
    ratio: str = HIDDEN
    """IND:OOD, such as 1:1; hidden (the IND share is drawn from 0.2 to 0.8); or any."""
    sizes: tuple[int, ...] = Field((), json_schema_extra={"metavar": "LOW HIGH"})
    """Smallest and largest number of images of a mix (of each kind, with the ratio any); if left out the
    set size."""
    fpr: Literal["pool", "mix"] = "pool"
    """Images that set FPR's threshold: all IND images (pool), or those of the mix (mix)."""
    test_ind: str = ""
    """A folder or zip of IND images for the test mixes only; if left out the source's."""

    @field_validator("detectors", "metrics")
    @classmethod
    def _known(cls, names: tuple[str, ...], info: Any) -> tuple[str, ...]:
        from starter.observing.detectors import DETECTORS

        known = tuple(DETECTORS) if info.field_name == "detectors" else tuple(TRACKS["ood"].metrics)
        for name in names:
            if name not in known:
                raise ValueError(f"{name!r} is unknown; there are {', '.join(known)}")
            if names.count(name) > 1:
                raise ValueError(f"{name} is given twice")
        return names

    @model_validator(mode="after")
    def _check(self) -> "Self":
        for option, given, other, needed in (
            ("classes", self.classes, "images ROOT", self.images),
            ("images", self.images, "classes MANIFEST", self.classes),
            ("id-up-to", self.id_up_to, "classes MANIFEST", self.classes),
            ("classes-per-set", self.classes_per_set > 1, "classes MANIFEST", self.classes),
            ("test-ind", self.test_ind, "test-from PATH, the OOD sets of the test", self.test_from),
            ("hidden", self.hidden, "test-from PATH, for OOD sets of your own", self.test_from),
            ("hidden", self.hidden, "test-ind PATH, for IND images of your own", self.test_ind),
        ):
            if given and not needed:
                raise ValueError(f"--{option} needs --{other}")
        if self.classes and self.ood:
            raise ValueError("--classes gives the OOD sets: leave --ood out")
        if len(self.test_from) > 1:
            raise ValueError("--test-from: name one folder or zip, of one folder per OOD data set")
        self._check_sizes()
        return self

    def _check_sizes(self) -> None:
        from starter.data.sets.mix import LEAST

        low, high = self.shares
        least = math.ceil(round(LEAST / min(low, 1 - high), 6)) if self.fixed else 2 * LEAST
        least = LEAST if self.ratio == ANY else least
        if len(self.mix_sizes) != 2 or not least <= self.mix_sizes[0] <= self.mix_sizes[1]:
            raise ValueError(
                f"--sizes (or --set-size) must be LOW HIGH with {least} <= LOW <= HIGH, since a mix has "
                f"{LEAST} images of each kind at least; got {' '.join(map(str, self.mix_sizes))}"
            )

    @property
    def mix_sizes(self) -> tuple[int, ...]:
        """Smallest and largest number of a mix's images, with the ratio `ANY` of either kind."""
        return self.sizes or (self.set_size, self.set_size)

    @property
    def fixed(self) -> bool:
        """True if the ratio is given as IND:OOD."""
        return self.ratio not in (HIDDEN, ANY)

    @property
    def shares(self) -> tuple[float, float]:
        """Smallest and largest IND share of a mix."""
        if not self.fixed:
            return SHARES
        ind, _, ood = self.ratio.partition(":")
        try:
            a, b = float(ind), float(ood)
        except ValueError:
            a = b = 0.0
        if not (0 < a < math.inf and 0 < b < math.inf):
            raise ValueError(f"--ratio must be {HIDDEN}, {ANY} or IND:OOD as in 1:1, got {self.ratio!r}")
        return (a / (a + b),) * 2

    @property
    def subjects(self) -> tuple[str, ...]:
        """Every metric of every detector on every classifier."""
        return tuple(
            f"{classifier}:{detector}:{metric}"
            for classifier in self.classifier_names
            for detector in self.detectors
            for metric in self.metrics
        )

    @property
    def public_paths(self) -> tuple[str, ...]:
        """The paths of OOD sets."""
        return tuple(path for path in (self.ood, self.images) if path)

    def public(self) -> dict[str, object]:
        """Returns the settings that participants see."""
        names = {"train_sets", "ratio", "fpr", "resize", *(["contact"] if self.contact else [])}
        return {**self.model_dump(mode="json", include=names), "sizes": list(self.mix_sizes)}
