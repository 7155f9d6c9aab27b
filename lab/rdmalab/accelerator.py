"""Whether QEMU may use KVM on this machine: found out by running code in a VM.

That /dev/kvm opens says little: on some machines creating a VM fails, on
others QEMU dies when it sets the first registers. So a boot sector is run
that tells QEMU to exit with an agreed code; nothing less counts.
"""

import os
import subprocess
import tempfile

from .talk import LabError

CPU_OF = {"kvm": "host", "tcg": "max"}
# mov al,0x15; out 0xf4,al; hlt -- isa-debug-exit makes it exit code 2*0x15+1.
BOOT_SECTOR = bytes.fromhex("b015e6f4f4").ljust(510, b"\0") + b"\x55\xaa"
AGREED_CODE = 43


def choose() -> str:
    """`kvm` where it truly works, else `tcg`; `RDMACTL_LAB_ACCEL` stands above it."""
    wanted = os.environ.get("RDMACTL_LAB_ACCEL")
    if wanted:
        if wanted not in CPU_OF:
            raise LabError(f"RDMACTL_LAB_ACCEL={wanted}: expected kvm or tcg")
        return wanted
    return "kvm" if os.access("/dev/kvm", os.R_OK | os.W_OK) and runs_code("kvm") else "tcg"


def runs_code(accelerator: str) -> bool:
    """Runs the boot sector; a QEMU that hangs is killed after five seconds."""
    with tempfile.NamedTemporaryFile(prefix="rdmalab-probe-") as disk:
        disk.write(BOOT_SECTOR)
        disk.flush()
        command = ["qemu-system-x86_64", "-accel", accelerator, "-cpu", CPU_OF[accelerator],
                   "-M", "pc", "-m", "32", "-nodefaults", "-no-user-config", "-display", "none",
                   "-snapshot", "-drive", f"file={disk.name},format=raw",
                   "-device", "isa-debug-exit,iobase=0xf4"]
        try:
            return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, timeout=5,
                                  check=False).returncode == AGREED_CODE
        except subprocess.TimeoutExpired:
            return False
