"""What tests of exports share."""

import subprocess
from collections.abc import Callable
from datetime import datetime, timezone

START = datetime(2027, 1, 1, tzinfo=timezone.utc)
Bare = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs Python without anything installed but NumPy and pandas."""
