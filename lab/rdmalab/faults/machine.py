"""Faults of a node's RDMA software, its limits and its permissions."""

from .fault import Fault

DEVICES = "/usr/lib/rdmalab/devices"
SSHD = "/usr/lib/rdmalab/sshd"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
HIDDEN = "/usr/lib/rdmalab/hidden"
# In the file system of /dev: a device file cannot be moved to another one.
HIDDEN_FILES = "/dev/rdmalab-hidden"

FAULTS = (
    Fault("memlock", "gives SSH logins VALUE KiB of lockable memory; root has CAP_IPC_LOCK: use `user`",
          "local.memlock, named as the limit of that login",
          f"echo $VALUE > /run/rdmalab/sshd-memlock && {SSHD} restart",
          f"rm -f /run/rdmalab/sshd-memlock && {SSHD} restart",
          value="16", value_is="KiB"),
    Fault("uverbs-denied", "lets only root open /dev/infiniband/uverbs* (mode 0600); log in as `user`",
          "local.permission: the device is listed, opening it is denied",
          "chmod 0600 /dev/infiniband/uverbs*", "chmod 0666 /dev/infiniband/uverbs*"),
    Fault("uverbs-missing", "removes the files /dev/infiniband/uverbs*, as in a container without them",
          "local.permission: the file of the device does not exist",
          f"mkdir -p {HIDDEN_FILES} && mv /dev/infiniband/uverbs* {HIDDEN_FILES}/ 2>/dev/null || "
          f"test -e {HIDDEN_FILES}/uverbs0",
          f"test ! -e {HIDDEN_FILES}/uverbs0 || mv {HIDDEN_FILES}/* /dev/infiniband/"),
    Fault("no-verbs", "hides libibverbs and its providers, so that dlopen fails",
          "local: libibverbs is not installed; data of sysfs and netlink is still shown",
          f"mkdir -p {HIDDEN} && mv {LIBRARIES}/libibverbs* {HIDDEN}/ 2>/dev/null || "
          f"test -e {HIDDEN}/libibverbs.so.1",
          f"test ! -e {HIDDEN}/libibverbs.so.1 || mv {HIDDEN}/* {LIBRARIES}/ && rm -rf {HIDDEN}"),
    Fault("no-device", "removes the node's RDMA devices; the network interfaces stay",
          "no RDMA device on the node; n/a, not failed",
          f"{DEVICES} delete", f"{DEVICES} add && {DEVICES} wait"),
    Fault("no-module", "unloads the RDMA modules, so that even /sys/class/infiniband is gone",
          "no RDMA support in the running kernel",
          f"{DEVICES} delete; {DEVICES} unload",
          f"{DEVICES} load && {DEVICES} add && {DEVICES} wait"),
)
