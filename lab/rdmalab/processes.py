"""Children that cannot outlive us, and a handle on processes that are not ours."""

import ctypes
import os
import select
import signal

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent(sig: int = signal.SIGKILL):
    """A `preexec_fn`: the child gets `sig` when the thread that started it ends.

    The kernel ties this to the parent's THREAD, so call it from a main thread.
    """
    parent = os.getpid()

    def arm() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(sig), 0, 0, 0)
        if os.getppid() != parent:
            # The parent died between fork and prctl; nobody would tell us any more.
            os.kill(os.getpid(), signal.SIGKILL)
    return arm


class Watched:
    """A process by its pidfd, which becomes readable when it ends, however it ends."""

    def __init__(self, pid: int):
        self.pid = pid
        self.fd = os.pidfd_open(pid)

    def fileno(self) -> int:
        return self.fd

    def ended(self) -> bool:
        return bool(select.select([self.fd], [], [], 0)[0])
