"""Verification of an entry: does the team's method reproduce the team's submission?"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from baselines.contract.estimator import Estimator, asked
from baselines.run.predict import observe_parts, predictions
from submission import Competition, UnusableInput, validate

TOLERANCE = 1e-4
"""Default tolerance as a fraction (0.01 points), above the rounding of answer.txt and of other machines."""
SHOWN = 20


@dataclass(frozen=True)
class Verification:
    """The predictions in a submitted file, and those that the method gives now.

    Attributes:
        submitted, rerun: Predictions {id: fraction}, in the order of the ids.
        tolerance: Largest difference at which two predictions count as equal, a fraction.
    """

    submitted: Mapping[str, float]
    rerun: Mapping[str, float]
    tolerance: float

    @property
    def differences(self) -> dict[str, float]:
        """The absolute difference of each id."""
        return {name: abs(value - self.rerun[name]) for name, value in self.submitted.items()}

    @property
    def differing(self) -> tuple[str, ...]:
        """The ids whose predictions differ by more than the tolerance, the largest difference first."""
        found = [name for name, gap in self.differences.items() if gap > self.tolerance]
        return tuple(sorted(found, key=lambda name: -self.differences[name]))

    def __str__(self) -> str:
        """Returns the result as text: one line, and the first 20 ids with different predictions."""
        most = f"largest difference {max(self.differences.values()):.2g}, tolerance {self.tolerance:g}"
        if not self.differing:
            return f"verified: the method predicts all {len(self.rerun)} submitted numbers ({most})"
        lines = [f"not verified: {len(self.differing)} of {len(self.rerun)} predictions differ ({most})"]
        lines += [
            f"  {name}: {self.submitted[name]:.6f} submitted, {self.rerun[name]:.6f} now"
            for name in self.differing[:SHOWN]
        ]
        if len(self.differing) > SHOWN:
            lines.append(f"  ... and {len(self.differing) - SHOWN} more")
        return "\n".join(lines)


def verify_entry(
    competition: Competition,
    file: Path,
    name: str,
    method: Estimator,
    tolerance: float = TOLERANCE,
    device: str = "cpu",
    progress: bool = True,
) -> Verification:
    """Fit the method again, predict the test sets, and compare with a submitted file.

    Nothing below ``private/`` is opened. A method that draws random numbers needs a fixed seed.

    Args:
        competition: Organizer's or participant's copy of the competition.
        file: The submitted file, in any format that :func:`submission.validate` accepts.
        name: Name of the method on the command line.
        method: The prototype, which is cloned.
        tolerance: Largest difference at which two predictions count as equal, a fraction in [0, 1).
        device: Device that runs the classifiers.
        progress: True to show progress bars.
    """
    if not 0 <= tolerance < 1:
        raise UnusableInput(f"--tolerance must be a fraction, 0 or more and below 1, got {tolerance}")
    submitted = validate(competition, file)
    observed = observe_parts(competition, asked([method], competition), ("test",), device, progress)
    return Verification(submitted, predictions(name, method, observed)["test"], tolerance)
