"""The settings of `unseen build` that both tracks have; those of one track are in its own `settings`.

A setting is one field: type and limits, default, help (the text below it), and in `json_schema_extra` the
placeholder of its option ("metavar"), and "often" for those that a first competition needs. Modules that
import torch are imported where they are needed, so that help texts load none of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from submission.competition import FEW, time_of, usual_limit

if TYPE_CHECKING:
    from typing_extensions import Self

    from starter.data.images.reading import Fit

OFTEN: dict[str, Any] = {"often": True}


class Settings(BaseModel, ABC):
    """The settings of both tracks, plain JSON values, which a competition's folder keeps."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)

    track: str
    source: str = Field("glyphs", json_schema_extra=OFTEN)
    """glyphs, cifar10, or a path: class folders, zip or npz."""
    classifiers: tuple[str, ...] = Field(("small",), min_length=1, json_schema_extra=OFTEN)
    """NAME=WEIGHTS (a file, official, module:function[=FILE]), timm:NET or torchvision:NET."""
    train_sets: int = Field(120, ge=2, le=100_000, json_schema_extra=OFTEN)
    """Number of meta-train sets."""
    val_sets: int = Field(24, ge=0, le=10_000, json_schema_extra=OFTEN)
    """Number of labelled validation sets to make."""
    test_sets: int = Field(48, ge=0, le=10_000, json_schema_extra=OFTEN)
    """Number of hidden test sets to make."""
    set_size: int = Field(500, ge=2, le=1_000_000, json_schema_extra=OFTEN)
    """Number of images in a set."""
    test_from: tuple[str, ...] = Field((), json_schema_extra=OFTEN)
    """A path of natural-shift sets to add to the test; OOD track: a folder of OOD sets."""
    image_size: int = Field(0, ge=0, le=4096)
    """Height and width in pixels to which images at paths are resized; 0 for their most common size."""
    resize: Literal["crop", "pad", "stretch"] = "crop"
    """How to resize images: crop (the middle), pad (black borders), stretch (changes proportions)."""
    skip_unreadable: float = Field(0.01, ge=0, lt=1)
    """Largest share of unreadable files in a set; these files are left out."""
    seed: int = Field(0, ge=0, le=2**63 - 1)
    """Seed of the public part."""
    engine: Literal["", "torch", "openvino"] = ""
    """What runs classifiers: openvino or torch; if left out openvino on CPUs, else torch."""
    precision: Literal["", "float32", "float16", "bfloat16"] = ""
    """float32 (also if left out), float16 (of openvino), or bfloat16 (moves indicators)."""
    hidden: bool = Field(False, json_schema_extra=OFTEN)
    """Declare that the test images are published nowhere."""
    licence: str = Field("", max_length=500, json_schema_extra={"metavar": "TEXT"})
    """Licence of the images at paths, for participants."""
    contact: str = Field("", max_length=500, json_schema_extra={"metavar": "TEXT"})
    """Contact for participants, shown in the archive's README."""
    decimals: int = Field(1, ge=0, le=2)
    """Number of decimals of published scores, 0 to 2."""
    daily_limit: int = Field(5, ge=0, le=1_000_000)
    """Submissions per team and day (UTC); 0 for any number."""
    total_limit: int = Field(0, ge=0, le=1_000_000)
    """Submissions per team in total; 0 for any number, with --hidden for a fifth of the public sets, at
    least 3."""
    free_invalid: bool = False
    """Do not count ten invalid files of a team a day."""
    deadline: datetime | None = Field(None, json_schema_extra={"metavar": "TIME", **OFTEN})
    """End, as 2026-12-31T23:59 (UTC, or with an offset); 23:59 of a date alone."""

    @field_validator("classifiers")
    @classmethod
    def _differ(cls, specs: tuple[str, ...]) -> tuple[str, ...]:
        from starter.models.classifiers import Spec

        names = [Spec.parse(spec).name.casefold() for spec in specs]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise ValueError(f"{twice} is given twice; give each a name of its own (not only in case)")
        return specs

    @field_validator("deadline", mode="before")
    @classmethod
    def _in_utc(cls, deadline: object) -> datetime | None:
        """Returns the time that a text of ISO 8601 is; pydantic takes a number for seconds since 1970."""
        if deadline is None:
            return None
        time = deadline if isinstance(deadline, datetime) else time_of(str(deadline))
        return time.replace(tzinfo=time.tzinfo or timezone.utc).astimezone(timezone.utc)

    def settled(self, device: str = "cpu", begun: "Settings | None" = None) -> "Self":
        """Returns the settings with engine and precision: those asked for, else as begun, else as usual."""
        from starter.models.classifiers.engine import chosen

        first = begun or self
        engine, precision = chosen(self.engine or first.engine, self.precision or first.precision, device)
        return self.model_copy(update={"engine": engine, "precision": precision})

    def sets(self, part: str) -> int:
        """Returns the number of sets to make of "train", "val" or "test"."""
        return {"train": self.train_sets, "val": self.val_sets, "test": self.test_sets}[part]

    def fit(self, size: tuple[int, int] | None = None) -> "Fit":
        """Returns how images at paths get one size (h, w); None: --image-size, or the most common."""
        from starter.data.images.reading import Fit

        asked = (self.image_size, self.image_size) if self.image_size else None
        return Fit(size or asked, self.resize, self.skip_unreadable)

    @property
    def classifier_names(self) -> tuple[str, ...]:
        """The names of the classifiers."""
        from starter.models.classifiers import Spec

        return tuple(Spec.parse(spec).name for spec in self.classifiers)

    def rules(self, public_sets: int) -> dict[str, Any]:
        """Returns the fields of a `Competition` with its rules; if hidden it has a total limit."""
        usual = usual_limit(public_sets) if self.hidden else None
        return {
            "decimals": self.decimals,
            "silent": self.hidden and public_sets < FEW,
            "deadline": self.deadline,
            "daily_limit": self.daily_limit or None,
            "total_limit": self.total_limit or usual,
            "free_invalid": self.free_invalid,
        }

    @property
    def encoders(self) -> tuple[str, ...]:
        """The specs of the referees' encoders; none in a track without referees."""
        return ()

    @property
    def whole_test(self) -> bool:
        """True if every part is made of all test images of the source, as DataCV does."""
        return False

    @property
    @abstractmethod
    def subjects(self) -> tuple[str, ...]:
        """The names of what is under evaluation."""

    @property
    @abstractmethod
    def public_paths(self) -> tuple[str, ...]:
        """The paths, besides the source, whose images participants get."""

    @abstractmethod
    def public(self) -> Mapping[str, object]:
        """Returns the settings that participants see: none about the test sets, and no paths."""
