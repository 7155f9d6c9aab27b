"""The QEMU command of one node."""

from pathlib import Path

from .accelerator import CPU_OF
from .image import Image
from .node import DOOR_PORT, SSH_PORT, Node, wire

MEMORY_MIB = 512

# quiet boot, no probing for hardware that is not there, the CPU's own random numbers trusted
KERNEL_LINE = ("console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off random.trust_cpu=on "
               "cryptomgr.notests no_timer_check tsc=reliable rcupdate.rcu_expedited=1 "
               "nokaslr audit=0 selinux=0 apparmor=0")

# The kernel measures the frequency of an emulated TSC at boot. If the CPUs of this machine are busy
# then, the result can be wrong, and the clock of the node runs several times too fast: leases
# expire early. The frequencies of the ACPI timer and of the HPET are fixed. The ACPI timer wraps
# after 4.7 s: if a node does not run for so long, its clock stops, for ever with Debian 13. The HPET
# wraps after 43 s.
EMULATED_CLOCK = " clocksource=hpet"


def command(node: Node, image: Image, lab: dict) -> list:
    """Runs in the lab's folder, so that the paths of sockets stay short."""
    slot = lab["slot"]
    words = ["qemu-system-x86_64", "-name", f"rdmalab-{lab['name']}-{node.name}"]
    accelerator = lab["accelerator"]
    tuning = ",thread=multi,tb-size=96" if accelerator == "tcg" else ""
    kernel_line, hpet = (KERNEL_LINE + EMULATED_CLOCK, "on") if accelerator == "tcg" else (KERNEL_LINE, "off")
    words += ["-accel", accelerator + tuning, "-cpu", CPU_OF[accelerator]]
    words += ["-M", f"pc,usb=off,vmport=off,smbus=off,hpet={hpet}", "-m", str(MEMORY_MIB), "-smp", "1",
              "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
              "-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append", kernel_line,
              "-chardev", f"socket,id=con,path={node.name}.tty,server=on,wait=off,"
                          f"logfile={node.name}.console",
              "-serial", "chardev:con"]
    for number, (path, extra) in enumerate(((image.root, ",file.locking=off"),
                                            (Path(f"{node.name}.seed"), ""))):
        words += ["-drive", f"file={path},format=raw,if=none,id=d{number},readonly=on{extra}",
                  "-device", f"virtio-blk-pci,drive=d{number}"]
    address = node.host_address(slot)
    guest = node.management_ip
    network = guest.rsplit(".", 1)[0]
    words += ["-netdev", f"user,id=mgmt,restrict=on,ipv6=off,net={network}.0/24,host={network}.2,"
                         f"dhcpstart={guest},"
                         f"hostfwd=tcp:{address}:{SSH_PORT}-{guest}:22,"
                         f"hostfwd=tcp:{address}:{DOOR_PORT}-{guest}:{DOOR_PORT}",
              "-device", f"virtio-net-pci,netdev=mgmt,romfile=,mac={node.mac(slot, 0)}"]
    for rail in range(1, lab["rails"] + 1):
        words += ["-netdev", f"socket,id=rail{rail},mcast={wire(slot, rail)},localaddr=127.0.0.1",
                  "-device", f"virtio-net-pci,netdev=rail{rail},romfile=,mac={node.mac(slot, rail)}"]
    return words
