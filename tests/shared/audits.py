"""A competition that an audit finds nothing in."""

import json
from pathlib import Path


def unguessable(root: Path) -> None:
    """Put a test seed into the record as large as builds draw it: tests build with a small one."""
    record = root / "private/build.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "test_seed": 2**62 - 57}))
