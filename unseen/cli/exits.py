"""The end of a command: its exit code, and one line in place of a traceback for unusable input."""

import io
import os
import sys
from collections.abc import Callable

from submission.errors import InvalidSubmission, UnusableInput, printable

INTERRUPTED = 130
"""Exit code after Ctrl-C, as Typer sets it."""


class Interrupted(Exception):
    """Ctrl-C in a command that would do something twice if it were run again; the message says what to do."""


def run(command: Callable[[], object]) -> None:
    """Run a Typer application, and end with its exit code.

    The code is 0 for success, 1 for an invalid submission or a failed check, and 2 for unusable input.
    Characters that the terminal's encoding lacks are printed as escapes. If the reader of a pipe closes it
    (``| head``), Typer ends the command silently.

    Raises:
        SystemExit: with the exit code, if it is not 0.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        command()
    except InvalidSubmission as error:
        _fail(str(error), 1)
    except UnusableInput as error:
        _fail(f"error: {error}", 2)
    except OSError as error:
        _fail(f"error: {_named(error)}", 2)
    except MemoryError as error:
        _fail(f"error: there is not enough memory: {error}", 2)
    except ModuleNotFoundError as error:
        _fail(f"error: this command needs {error.name}, which is not installed: pip install -e .", 2)
    except Interrupted as error:
        _fail(f"interrupted; {error}", INTERRUPTED)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _fail("interrupted; run the same command again to continue", INTERRUPTED)
        raise


def _fail(message: str, code: int) -> None:
    """Print the message and end; control characters, which file names may contain, are escaped."""
    print("\n".join(map(printable, message.split("\n"))), file=sys.stderr)
    sys.exit(code)


def _named(error: OSError) -> str:
    """Returns the system's message with the name of its file; for a renaming, the new name."""
    file = error.filename2 or error.filename
    return f"{error.strerror or error}" + (f": {os.fsdecode(file)}" if isinstance(file, str | bytes) else "")
