"""Chooses KVM where it boots the kernel of the nodes, else TCG.

An open /dev/kvm says little. On some machines QEMU cannot create a VM. On
others it runs a boot sector, but stops with "KVM internal error" at an
instruction that only a kernel uses. The kernel is therefore started without
a root: it panics, and QEMU ends, within a second or two. The result is kept
until the machine boots again.
"""

import os
import subprocess
import tempfile
from pathlib import Path

from .paths import cache_root
from .talk import LabError, say

CPU_OF = {"kvm": "host", "tcg": "max"}
# mov al,0x15; out 0xf4,al; hlt -- isa-debug-exit makes it exit code 2*0x15+1.
BOOT_SECTOR = bytes.fromhex("b015e6f4f4").ljust(510, b"\0") + b"\x55\xaa"
AGREED_CODE = 43
KERNEL_TIMEOUT_S = 15


def choose(kernel: Path) -> str:
    """Returns `kvm` or `tcg`; `RDMACTL_LAB_ACCEL` overrides the choice."""
    wanted = os.environ.get("RDMACTL_LAB_ACCEL")
    if wanted:
        if wanted not in CPU_OF:
            raise LabError(f"RDMACTL_LAB_ACCEL={wanted}: expected kvm or tcg")
        return wanted
    if not os.access("/dev/kvm", os.R_OK | os.W_OK) or not runs_code("kvm"):
        return "tcg"
    return "kvm" if boots_here(kernel) else "tcg"


def boots_here(kernel: Path) -> bool:
    """Returns whether KVM boots the kernel; the result of this boot of the machine is kept."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    known = cache_root() / "kvm"
    asked = f"{boot} {kernel}"
    if known.exists():
        *words, result = known.read_text(encoding="utf-8").split()
        if words == asked.split():
            return result == "boots"
    boots = boots_kernel("kvm", kernel)
    if not boots:
        say("KVM does not boot the kernel of the nodes; they are emulated")
    known.write_text(f"{asked} {'boots' if boots else 'fails'}\n", encoding="utf-8")
    return boots


def boots_kernel(accelerator: str, kernel: Path) -> bool:
    """Starts the kernel without a root; it panics, and QEMU ends with code 0."""
    command = ["qemu-system-x86_64", "-accel", accelerator, "-cpu", CPU_OF[accelerator],
               "-M", "pc,usb=off,vmport=off,smbus=off,hpet=off", "-m", "256", "-nodefaults",
               "-no-user-config", "-display", "none", "-no-reboot", "-kernel", str(kernel),
               "-append", "panic=-1 quiet nokaslr mitigations=off"]
    return ends_with(0, command, KERNEL_TIMEOUT_S)


def runs_code(accelerator: str) -> bool:
    """Runs the boot sector; a QEMU that hangs is killed after five seconds."""
    with tempfile.NamedTemporaryFile(prefix="rdmalab-probe-") as disk:
        disk.write(BOOT_SECTOR)
        disk.flush()
        command = ["qemu-system-x86_64", "-accel", accelerator, "-cpu", CPU_OF[accelerator],
                   "-M", "pc", "-m", "32", "-nodefaults", "-no-user-config", "-display", "none",
                   "-snapshot", "-drive", f"file={disk.name},format=raw",
                   "-device", "isa-debug-exit,iobase=0xf4"]
        return ends_with(AGREED_CODE, command, 5)


def ends_with(code: int, command: list, timeout_s: float) -> bool:
    """Runs QEMU; one that hangs is killed."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=timeout_s,
                              check=False).returncode == code
    except subprocess.TimeoutExpired:
        return False
