"""What QEMU boots: an unpacked kernel, and the modules it needs before its root.

Under TCG the kernel's own decompression costs seconds, so it is done once, on
the host, and QEMU starts the bare ELF through its PVH entry point.
"""

import lzma
import struct
from pathlib import Path

from .talk import LabError

# The way to the root file system: disk, ext4, overlay; 6.12 has virtio built in.
ROOT_MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4", "overlay")


def unpack_vmlinux(bzimage: bytes):
    """The ELF inside an xz-compressed bzImage, or `None` for any other compression."""
    start = bzimage.find(b"\xfd7zXZ\x00")
    while start >= 0:
        try:
            image = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(bzimage[start:])
        except lzma.LZMAError:
            image = b""
        if image.startswith(b"\x7fELF"):
            return image
        start = bzimage.find(b"\xfd7zXZ\x00", start + 1)
    return None


def has_pvh_entry(elf: bytes) -> bool:
    """Whether QEMU can start this ELF: a Xen note of type 18 (PHYS32_ENTRY)."""
    at = elf.find(b"Xen\x00")
    while at >= 0:
        size, _, kind = struct.unpack_from("<III", elf, at - 12) if at >= 12 else (0, 0, 0)
        if size == 4 and kind == 18:
            return True
        at = elf.find(b"Xen\x00", at + 1)
    return False


class Modules:
    """The modules of one kernel, as depmod sees them."""

    def __init__(self, root: Path, version: str):
        self.base = root / "lib/modules" / version
        self.version = version
        self.needs = {}
        self.path_of = {}
        for line in (self.base / "modules.dep").read_text(encoding="ascii").splitlines():
            path, _, needs = line.partition(":")
            self.needs[path] = needs.split()
            self.path_of[module_name(path)] = path
        self.builtin = {module_name(line) for line in
                        (self.base / "modules.builtin").read_text(encoding="ascii").splitlines()}

    def load_order(self, names) -> list:
        """Paths to insmod, each after what it needs. Built-in modules are left out."""
        order = []
        for name in names:
            if name in self.builtin:
                continue
            if name not in self.path_of:
                raise LabError(f"kernel {self.version} has no module {name}")
            path = self.path_of[name]
            # modules.dep lists a module's needs from the nearest to the deepest.
            for item in [*reversed(self.needs[path]), path]:
                if item not in order:
                    order.append(item)
        return order


def module_name(path: str) -> str:
    """`kernel/drivers/virtio/virtio-pci.ko.xz` is the module `virtio_pci`."""
    return Path(path).name.split(".ko")[0].replace("-", "_")
