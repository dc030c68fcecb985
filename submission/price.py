"""The price of each kind of feedback: how accurately submissions reveal the public labels."""

from datetime import datetime

from submission.competition import FEEDBACKS, Competition
from submission.solution import solution_of
from submission.told import KEPT, coarse_step, left_after


def left_by(feedback: str, numbers: int, rows: int, error: float, decimals: int) -> float:
    """Returns the error of the labels, in points, that is left after `numbers` submissions.

    Args:
        feedback: Kind of feedback: "rounded", "ladder" or "guarded".
        numbers: Number of submissions that a team makes to find out the labels.
        rows: Number of public rows.
        error: RMSE, in points, with which the team knows the labels before its first submission.
        decimals: Number of decimals of displayed scores.
    """
    if feedback == "rounded":
        return left_after(numbers, rows, error, 10.0**-decimals)
    found = left_after(numbers, rows, error, coarse_step(rows, error), ladder=True)
    return max(found, KEPT * error) if feedback == "guarded" else found


def price_text(competition: Competition, error: float, now: datetime) -> str:
    """Returns lines for the organizer: the error left after a day, 30 days, and all allowed submissions.

    Args:
        competition: Organizer's copy of the competition.
        error: RMSE, in points, with which a team knows the labels before its first submission.
        now: Present time, with its time zone.

    Raises:
        UnusableInput: the solution cannot be read.
    """
    rows = sum(row.usage == "Public" for row in solution_of(competition))
    daily, total = competition.daily_limit, submissions_in_all(competition, now)
    month = None if daily is None else min(30 * daily, total or 30 * daily)
    spans = {"one day": daily, "30 days": month, "the end": total}
    counts = {f"{count:,} ({span})": count for span, count in spans.items() if count is not None}
    counts = counts or {f"{count:,}": count for count in (5, rows, 2 * rows)}
    lines = [
        f"{rows} public rows, whose labels anybody can guess with an RMSE of {error:.1f} points; "
        "RMSE that a team can reach:"
    ]
    for feedback in FEEDBACKS:
        cells = [
            f"{left_by(feedback, count, rows, error, competition.decimals):.1f} after {name}"
            for name, count in counts.items()
        ]
        mark = "*" if feedback == competition.feedback else " "
        lines.append(f"{mark} {feedback:<8}  {', '.join(cells)}")
    return "\n".join(lines)


def submissions_in_all(competition: Competition, now: datetime) -> int | None:
    """Returns the number of submissions that a team may make until the end; None if there is no limit."""
    daily, total = competition.daily_limit, competition.total_limit
    if daily is None or competition.deadline is None:
        return total
    until = daily * (max((competition.deadline - now).days, 0) + 1)
    return until if total is None else min(until, total)
