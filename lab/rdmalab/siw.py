"""Soft-iWARP: siw.ko, which Debian's kernels leave out, built from Debian's source."""

from .talk import LabError


def provide(release):
    raise LabError("soft-iWARP is not built yet")
