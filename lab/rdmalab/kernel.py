"""What QEMU boots: an unpacked kernel, and the modules it needs before its root.

Under TCG the kernel's own decompression costs seconds, so it is done once, on
the host, and QEMU starts the bare ELF through its PVH entry point.
"""

import ctypes
import lzma
import struct
from pathlib import Path

from .talk import LabError

# The way to the root file system: disk, ext4, overlay; 6.12 has virtio built in.
ROOT_MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4", "overlay")


def unpack_vmlinux(bzimage: bytes):
    """The ELF inside a bzImage; `None` when its compression is none that we can undo."""
    # Offsets of the boot protocol, Documentation/arch/x86/boot.rst.
    setup_sectors = bzimage[0x1F1] or 4
    offset, length = struct.unpack_from("<II", bzimage, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    payload = bzimage[start:start + length]
    if payload.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(payload)
    if payload.startswith(b"\x28\xb5\x2f\xfd"):
        return unpack_zstd(payload)
    return None


def unpack_zstd(payload: bytes):
    """Python 3.14 is the first with zstd; apt's own library does it until then."""
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        return None
    # The kernel's build appends the unpacked size.
    (size,) = struct.unpack("<I", payload[-4:])
    target = ctypes.create_string_buffer(size)
    library.ZSTD_decompress.restype = ctypes.c_size_t
    done = library.ZSTD_decompress(target, ctypes.c_size_t(size), payload,
                                   ctypes.c_size_t(len(payload) - 4))
    return target.raw if done == size else None


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
