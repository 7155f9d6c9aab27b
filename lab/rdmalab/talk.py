"""Talk goes to stderr; stdout belongs to answers."""

import sys
import time

_START = time.monotonic()


class LabError(Exception):
    """Something the operator must know: what, where, why, and what to do."""


def say(text: str) -> None:
    """Prints one line of progress with the seconds since the command began."""
    print(f"lab {time.monotonic() - _START:5.1f}s  {text}", file=sys.stderr, flush=True)
