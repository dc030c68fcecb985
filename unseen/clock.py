"""The clock that submissions are entered by."""

from datetime import datetime, timezone


def now() -> datetime:
    """Returns the present time, in UTC."""
    return datetime.now(timezone.utc)
