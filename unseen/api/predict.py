"""The function `unseen.predict`, which makes a submission from a method."""

import shutil
from pathlib import Path

from baselines.run.choose import Given, methods_given
from baselines.run.predict import predict as run
from submission import Competition, UnusableInput, validate
from submission.files import replacing
from unseen.api.kit import methods_of


def predict(
    contest: Competition,
    method: Given | dict[str, Given],
    out: Path | str | None = None,
    device: str = "cpu",
    note: str = "",
    progress: bool = False,
) -> Path:
    """Fit a method, predict the test sets, and write a valid submission.

    >>> import unseen
    >>> contest = unseen.open("contest")
    >>> unseen.predict(contest, "atc", out="mine.csv").name
    'mine.csv'

    Args:
        contest: The competition.
        method: A name, a method, or a scikit-learn regressor, as for `unseen.evaluate`; or ``{name:
            method}``.
        out: Path of the submission, ``.csv``. In any case the predictions of the test sets are also written
            to ``submissions/`` in the competition's folder, under the method's name, and those of the
            validation sets to ``validation/``.
        device: Device that runs the classifiers.
        note: Remark for ``runs.csv`` in the competition's folder.
        progress: True to show progress bars.

    Returns:
        The path of the file to hand in.

    Raises:
        UnusableInput: the method fails or breaks the contract, or `out` is not a possible path.
    """
    chosen = methods_given(method, methods_of(contest.track), contest.track)
    if len(chosen) != 1:
        raise UnusableInput(f"a submission is made by one method, not by {len(chosen)}")
    place = contest.check_output(Path(out), ".csv") if out is not None else None
    (paths,) = run(contest, chosen, device, progress, note=note).values()
    if place is not None:
        with replacing(place) as temporary:
            shutil.copyfile(paths["test"], temporary)
    file = place or paths["test"]
    validate(contest, file)
    return file
