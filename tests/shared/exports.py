"""What tests of exports share."""

from datetime import datetime, timezone

START = datetime(2027, 1, 1, tzinfo=timezone.utc)
