"""A competition under other rules: limits, a deadline, feedback."""

from submission import Competition


def with_fields(competition: Competition, **changes: object) -> Competition:
    """A copy with other values in some fields, checked."""
    return type(competition)(**{**dict(competition), **changes})  # type: ignore[arg-type]


def with_rules(competition: Competition, **rules: object) -> Competition:
    """The competition, saved with other values in some fields."""
    with_fields(competition, **rules).save()
    return Competition.open(competition.root)
