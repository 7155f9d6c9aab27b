"""Writes a cpio archive in the `newc` format, the one the kernel unpacks at boot.

A few lines instead of a cpio program, and every file belongs to root even when
an ordinary user builds the image.
"""

from pathlib import Path


class Cpio:
    """An archive that grows in memory."""

    def __init__(self):
        self._parts = []
        self._count = 0

    def _add(self, name: str, mode: int, data: bytes) -> None:
        self._count += 1
        path = name.encode() + b"\0"
        fields = (self._count, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields)
        for part in (header + path, data):
            self._parts.append(part + b"\0" * (-len(part) % 4))

    def folder(self, name: str) -> None:
        self._add(name, 0o040755, b"")

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        self._add(name, 0o100000 | mode, data)

    def link(self, name: str, target: str) -> None:
        self._add(name, 0o120777, target.encode())

    def write(self, path: Path) -> None:
        self._add("TRAILER!!!", 0, b"")
        path.write_bytes(b"".join(self._parts))
