"""Faults of the SSH server."""

from .fault import Fault

SSHD = "/usr/lib/rdmalab/sshd"
OTHER_KEY = "/run/rdmalab/other_key"
CONFIG = "/run/rdmalab/sshd-config"
# PAM reads the files in the order of their names, and the last one counts: this one is the first.
LIMITS = "/etc/security/limits.d"
LOW = f"{LIMITS}/10-rdmalab.conf"

FAULTS = (
    Fault("ssh-wrong-hostkey", "restarts sshd with another host key than known_hosts has",
          "unreachable: host key mismatch; nothing was sent",
          f"test -e {OTHER_KEY} || ssh-keygen -q -t ed25519 -N '' -f {OTHER_KEY}; "
          f"sed 's,^HostKey .*,HostKey {OTHER_KEY},' /etc/ssh/sshd_config > {CONFIG}; {SSHD} restart",
          f"rm -f {CONFIG} {OTHER_KEY} {OTHER_KEY}.pub; {SSHD} restart"),
    Fault("ssh-refuse-user", "empties root's authorized_keys; `user` can still log in",
          "unreachable: permission denied for root",
          "cd /root/.ssh && { test -e authorized_keys.refused || cp -p authorized_keys "
          "authorized_keys.refused; } && : > authorized_keys",
          "cd /root/.ssh && { test ! -e authorized_keys.refused || "
          "mv authorized_keys.refused authorized_keys; }"),
    Fault("memlock-pam", "gives SSH logins VALUE KiB of lockable memory by PAM, from a file in "
          "/etc/security/limits.d; not root",
          "limit.locked_memory of `check`, for a login of `user`",
          f"mkdir -p {LIMITS} && echo '* - memlock '$VALUE > {LOW} && "
          f"sed 's,^UsePAM .*,UsePAM yes,' /etc/ssh/sshd_config > {CONFIG} && {SSHD} restart",
          f"rm -f {LOW} {CONFIG}; {SSHD} restart",
          value="16", value_is="KiB"),
    # The kernel accepts for a stopped server: the port opens and nobody ever speaks.
    Fault("sshd-silent", "stops sshd: the port accepts connections and sends nothing",
          "unreachable: no SSH banner before the deadline",
          "kill -STOP $(cat /run/sshd.pid)", "kill -CONT $(cat /run/sshd.pid)"),
)
