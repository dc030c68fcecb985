"""The settings of the accuracy track."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from starter.contest.settings import OFTEN, Settings

if TYPE_CHECKING:
    from typing_extensions import Self


class AccuracySettings(Settings):
    """The settings of a competition of the accuracy track."""

    track: Literal["accuracy"] = "accuracy"
    group: str = "default"
    """Operation group of meta-train sets: default, a, b, corruptions, wide, natural-like; or several joined
    by +."""
    ops_per_set: tuple[int, ...] = Field((), json_schema_extra={"metavar": "LOW HIGH"})
    """Smallest and largest number of operations of a meta-train set; if left out 3 3, of wide and
    natural-like 0 3."""
    recipes: str = ""
    """A file of recipes, one per line, instead of --train-sets, --group and --ops-per-set."""
    val_from: tuple[str, ...] = Field((), json_schema_extra=OFTEN)
    """A path of natural-shift sets to add to validation."""
    datacv_splits: bool = False
    """Make all sets, and the labelled reference, from all test images, as DataCV does."""
    referees: tuple[str, ...] = Field((), json_schema_extra={"metavar": "SPEC"})
    """A second opinion for methods, from an independent encoder: lite0, embedded, torchvision:NAME,
    timm:NAME, clip:MODEL[=WEIGHTS], module:function or a file."""

    @model_validator(mode="after")
    def _check(self) -> "Self":
        self._check_operations()
        if self.test_sets < 2 and not self.test_from:
            raise ValueError(
                "--test-sets must be at least 2, one for the public score and one for the private; or add "
                "sets of your own: --test-from PATH"
            )
        if self.hidden and (self.test_sets or not self.test_from):
            raise ValueError("--hidden needs test images of your own: --test-sets 0 and --test-from PATH")
        return self

    def _check_operations(self) -> None:
        """Set the usual number of operations, if the groups have one in common, and check it."""
        from starter.data.operations import GROUPS, groups_of, policy_of

        groups = groups_of(self.group)
        usual = {policy_of(group).ops_per_set for group in groups}
        if not self.ops_per_set:
            if len(usual) > 1:
                return
            object.__setattr__(self, "ops_per_set", usual.pop())
        most = min(len(GROUPS[group]) for group in groups)
        if len(self.ops_per_set) != 2 or not 0 <= self.ops_per_set[0] <= self.ops_per_set[1] <= most:
            got = " ".join(map(str, self.ops_per_set))
            raise ValueError(f"--ops-per-set must be LOW HIGH with 0 <= LOW <= HIGH <= {most}, got {got}")

    @property
    def encoders(self) -> tuple[str, ...]:
        """The specs of the referees' encoders."""
        return self.referees

    @property
    def whole_test(self) -> bool:
        """True if all sets are made of all test images."""
        return self.datacv_splits

    @property
    def subjects(self) -> tuple[str, ...]:
        """The classifiers."""
        return self.classifier_names

    @property
    def public_paths(self) -> tuple[str, ...]:
        """The paths of validation sets."""
        return self.val_from

    def public(self) -> dict[str, object]:
        """Returns the settings that participants see: none about the test sets, and no paths."""
        names = ["set_size", "datacv_splits", "resize", *(["contact"] if self.contact else [])]
        names += [] if self.recipes else ["train_sets", "group", "ops_per_set"]
        return self.model_dump(mode="json", include=set(names))
