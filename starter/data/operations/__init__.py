"""All operations by name, and the operation groups from which sets are drawn."""

from typing import NamedTuple

from starter.data.operations.corruptions import CORRUPTIONS
from starter.data.operations.default import TRANSFORMS
from starter.data.operations.groups import GROUP_A, GROUP_B
from starter.data.operations.natural import NATURAL
from starter.data.operations.operation import Operation
from submission.errors import UnusableInput

OPERATIONS: dict[str, Operation] = {**TRANSFORMS, **GROUP_A, **GROUP_B, **CORRUPTIONS, **NATURAL}

#: Names of operations by operation group: Deng & Zheng's default, their groups A and B, CIFAR-10-C's
#: corruptions, all of these, and what looks like natural shift.
GROUPS: dict[str, tuple[str, ...]] = {
    "default": tuple(name for name in TRANSFORMS if name != "identity"),
    "a": tuple(GROUP_A),
    "b": tuple(GROUP_B),
    "corruptions": tuple(CORRUPTIONS),
    "wide": tuple(name for name in OPERATIONS if name != "identity" and name not in NATURAL),
    "natural-like": tuple(NATURAL),
}


class Policy(NamedTuple):
    """Parameters of the draw of sets of an operation group; pairs are a smallest and a largest number.

    `prior_share` of the sets have resampled classes, with priors of some `concentration`, `part_share` a
    sub-population, `weak_share` weak operations.
    """

    ops_per_set: tuple[int, int] = (3, 3)
    prior_share: float = 0.0
    weak_share: float = 0.0
    part_share: float = 0.0
    concentration: tuple[float, float] = (0.5, 0.5)


#: The policies of the groups that do not have Deng & Zheng's, three operations at full strength.
POLICIES = {
    "wide": Policy(ops_per_set=(0, 3), prior_share=0.3, weak_share=0.5),
    "natural-like": Policy((0, 3), prior_share=0.4, part_share=0.3, concentration=(0.05, 2.0)),
}


def groups_of(text: str) -> tuple[str, ...]:
    """Returns the operation groups in a text with names joined by "+"."""
    names = tuple(text.split("+"))
    for name in names:
        if name not in GROUPS:
            raise UnusableInput(f"unknown operation group {name!r}; choose from {', '.join(GROUPS)}")
    return names


def policy_of(group: str) -> Policy:
    """Returns the parameters of the draw of one operation group's sets."""
    return POLICIES.get(group, Policy())


def new_operations(group: str) -> tuple[str, ...]:
    """Returns the corruptions that sets of `group` lack; for "corruptions", the operations of "default"."""
    seen = {OPERATIONS[name].family for each in groups_of(group) for name in GROUPS[each]}
    others = GROUPS["default" if group == "corruptions" else "corruptions"]
    return tuple(name for name in others if OPERATIONS[name].family not in seen)
