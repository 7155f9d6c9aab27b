"""Every fault does what it says, its undo restores; proved by commands on the nodes."""

import os
import re
import socket
import time
import unittest

from rdmalab import inject, ssh
from rdmalab.node import SSH_PORT
from tests.labtest import LabTest, wait_until

FAKE_AGENT = """
mkdir -p /dev/shm/x && cd /dev/shm/x && echo 'sleep 60' > agent
bash -c 'exec -a /dev/shm/x/agent perl {words}' </dev/null >/dev/null 2>&1 &
"""


class Faults(LabTest):
    NAME = "faults"
    # Another release by hand: RDMACTL_LAB_TEST_RELEASE=13 lab/test vm
    NODES = ("--nodes", "2", "--release", os.environ.get("RDMACTL_LAB_TEST_RELEASE", "12"))

    def port_state(self) -> str:
        return self.on("n2", "cat /sys/class/infiniband/rxe0/ports/1/state").stdout.strip()

    def uptime(self) -> float:
        return float(self.on("n2", "cat /proc/uptime").stdout.split()[0])

    def login(self, user: str, command: str, timeout_s: float = 15):
        """Through the ordinary sshd, the one that rdmactl uses."""
        return ssh.run(self.lab, "n2", command, timeout_s, user=user, door=False)

    def test_a_clean_lab_passes_pingpong_at_every_size(self):
        self.assertTrue(self.pingpong("-s 64"))
        self.assertTrue(self.pingpong("-m 4096 -s 65536"))

    def test_udp4791_drop(self):
        self.start("udp4791-drop")
        self.assertFalse(self.pingpong(limit_s=3))
        self.assertEqual(self.on("n1", "ping -c 1 -W 3 10.10.1.2").returncode, 0)
        self.undo("udp4791-drop")
        self.assertTrue(self.pingpong())

    def test_udp4791_drop_in_is_one_way(self):
        self.start("udp4791-drop-in")
        self.assertFalse(self.pingpong(limit_s=3))
        filters = self.on("n2", "/usr/sbin/tc filter show dev eth1 egress").stdout
        self.assertEqual(filters, "")
        self.undo("udp4791-drop-in")
        self.assertTrue(self.pingpong())

    def test_nftables_drop(self):
        self.start("nftables-drop")
        self.assertFalse(self.pingpong(limit_s=3))
        self.assertEqual(self.on("n1", "ping -c 1 -W 3 10.10.1.2").returncode, 0)
        self.undo("nftables-drop")
        self.assertTrue(self.pingpong())

    def test_drop_large_lets_small_messages_pass(self):
        self.start("drop-large")
        self.assertTrue(self.pingpong("-m 4096 -s 64"))
        self.assertFalse(self.pingpong("-m 4096 -s 4096", limit_s=3))
        self.assertEqual(self.on("n1", "ping -c 1 -W 3 -s 1372 10.10.1.2").returncode, 0)
        # 1,373 bytes and the headers of ICMP and IP are 1,401.
        self.assertNotEqual(self.on("n1", "ping -c 1 -W 1 -s 1373 10.10.1.2").returncode, 0)
        self.undo("drop-large")
        self.assertTrue(self.pingpong("-m 4096 -s 4096"))

    def test_mtu_small(self):
        active = "ibv_devinfo -d rxe0 | grep active_mtu"
        self.start("mtu-small")
        self.assertIn("1024", self.on("n2", active).stdout)
        self.undo("mtu-small")
        self.assertIn("4096", self.on("n2", active).stdout)

    def test_link_down(self):
        self.start("link-down")
        self.assertIn("DOWN", self.port_state())
        self.undo("link-down")
        self.assertTrue(self.pingpong())

    def test_address_removed(self):
        self.start("address-removed")
        self.assertNotIn("0a0a", self.on("n2", "cat /sys/class/infiniband/rxe0/ports/1/gids/1").stdout)
        self.undo("address-removed")
        self.assertTrue(self.pingpong())

    def test_loss(self):
        self.start("loss", value="40%")
        lost = self.on("n1", "ping -q -c 60 -i 0.02 -W 1 10.10.1.2").stdout
        self.assertNotIn(" 0% packet loss", lost)
        self.assertNotIn(" 100% packet loss", lost)
        self.undo("loss")
        self.assertIn(" 0% packet loss", self.on("n1", "ping -q -c 20 -i 0.02 10.10.1.2").stdout)

    def test_loss_and_delay_can_be_active_at_once(self):
        self.start("delay", value="300ms")
        self.start("loss", value="1%")
        minimum_ms = re.search(r"= ([0-9.]+)/", self.on("n1", "ping -q -c 4 10.10.1.2").stdout)
        self.assertGreater(float(minimum_ms.group(1)), 299)
        inject.stop(self.lab, "delay", "n2")
        self.assertIn("loss 1%", self.on("n2", "/usr/sbin/tc qdisc show dev eth1").stdout)
        self.undo("loss")

    def strike(self, fault: str, words: str, expected_state: str) -> None:
        self.start(fault, value="100")
        self.on("n2", FAKE_AGENT.format(words="other thing"))
        self.on("n2", FAKE_AGENT.format(words=words))

        def fired():
            return self.on("n2", f"/usr/lib/rdmalab/agents fired {fault}").stdout.split()

        self.assertTrue(wait_until(fired), "the watcher never fired")
        pid, _, _, hit = fired()
        self.assertEqual(hit, "hit")

        def state():
            return self.on("n2", f"grep State /proc/{pid}/status 2>/dev/null || echo gone").stdout

        # Who was killed is a zombie until its parent has a turn.
        self.assertTrue(wait_until(lambda: re.search(expected_state, state())), state())
        inject.stop(self.lab, fault, "n2")
        if fault.endswith("-stop"):
            self.assertIn("(sleeping)", self.on("n2", f"grep State /proc/{pid}/status").stdout)
        self.on("n2", "/usr/lib/rdmalab/leftovers kill; rm -rf /dev/shm/x")
        self.assert_as_at_boot("n2")

    def test_worker_stop(self):
        self.strike("worker-stop", "agent worker", r"stopped")

    def test_worker_kill(self):
        self.strike("worker-kill", "agent worker", r"gone")

    def test_supervisor_stop(self):
        self.strike("supervisor-stop", "agent", r"stopped")

    def test_supervisor_kill(self):
        self.strike("supervisor-kill", "agent --lease 3", r"gone")

    def test_a_supervisor_is_no_worker(self):
        self.start("worker-kill", value="0")
        self.on("n2", FAKE_AGENT.format(words="agent"))
        roles = self.on("n2", "/usr/lib/rdmalab/agents list").stdout
        self.assertIn("supervisor", roles)
        self.assertNotIn("worker", roles)
        self.assertNotEqual(self.on("n2", "/usr/lib/rdmalab/agents fired worker-kill").returncode, 0)

    def test_power_off(self):
        self.start("power-off")
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((self.lab.address(self.lab.node("n2")), SSH_PORT), 5)
        self.undo("power-off")
        self.assertTrue(self.pingpong())

    def test_freeze(self):
        uptime, at = self.uptime(), time.monotonic()
        self.start("freeze")
        with socket.create_connection((self.lab.address(self.lab.node("n2")), SSH_PORT), 5) as line:
            line.settimeout(1.5)
            with self.assertRaises(socket.timeout):
                line.recv(16)
        # Longer than the ACPI timer takes to wrap: a clock that uses it would stop.
        time.sleep(5)
        self.undo("freeze")
        self.assertEqual(self.login("root", "true").returncode, 0)
        self.assertAlmostEqual(self.uptime() - uptime, time.monotonic() - at, delta=2)

    def test_memlock(self):
        self.start("memlock")
        self.assertEqual(self.login("user", "ulimit -l").stdout, "16\n")
        denied = self.login("user", "timeout 5 ibv_rc_pingpong -d rxe0 -g 1 -s 65536")
        self.assertIn("register MR", denied.stderr)
        self.undo("memlock")
        self.assertEqual(self.login("user", "ulimit -l").stdout, "unlimited\n")

    def test_memlock_pam_limits_logins_until_a_later_file_does_not(self):
        self.start("memlock-pam")
        self.assertEqual(self.login("user", "ulimit -l").stdout, "16\n")
        limits = "/etc/security/limits.d/rdma.conf"
        self.on("n2", f"echo '* - memlock unlimited' > {limits}")
        self.assertEqual(self.login("user", "ulimit -l").stdout, "unlimited\n")
        self.on("n2", f"rm {limits}")
        self.undo("memlock-pam")
        self.assertEqual(self.login("user", "ulimit -l").stdout, "unlimited\n")

    def test_uverbs_denied(self):
        opened = "ibv_devinfo -d rxe0 | grep -q PORT_ACTIVE"
        self.assertEqual(self.login("user", opened).returncode, 0)
        self.start("uverbs-denied")
        self.assertNotEqual(self.login("user", opened).returncode, 0)
        self.undo("uverbs-denied")
        self.assertEqual(self.login("user", opened).returncode, 0)

    def test_uverbs_missing(self):
        listed = "ls /dev/infiniband/uverbs0"
        self.assertEqual(self.on("n2", listed).returncode, 0)
        self.start("uverbs-missing")
        self.assertNotEqual(self.on("n2", listed).returncode, 0)
        self.undo("uverbs-missing")
        self.assertEqual(self.on("n2", listed).returncode, 0)
        self.assertTrue(self.pingpong())

    def test_no_verbs(self):
        self.start("no-verbs")
        self.assertIn("libibverbs.so.1", self.on("n2", "ibv_devinfo").stderr)
        self.assertIn("ACTIVE", self.port_state())
        self.undo("no-verbs")
        self.assertTrue(self.pingpong())

    def test_no_device(self):
        self.start("no-device")
        self.assertEqual(self.on("n2", "ls /sys/class/infiniband").stdout, "")
        self.undo("no-device")
        self.assertTrue(self.pingpong())

    def test_no_module(self):
        self.start("no-module")
        self.assertNotEqual(self.on("n2", "ls /sys/class/infiniband").returncode, 0)
        self.undo("no-module")
        self.assertTrue(self.pingpong())

    def test_ssh_wrong_hostkey(self):
        self.start("ssh-wrong-hostkey")
        refused = self.login("root", "true")
        self.assertEqual(refused.returncode, 255)
        self.assertIn("Host key verification failed", refused.stderr)
        self.undo("ssh-wrong-hostkey")
        self.assertEqual(self.login("root", "true").returncode, 0)

    def test_ssh_refuse_user(self):
        self.start("ssh-refuse-user")
        self.assertIn("Permission denied", self.login("root", "true").stderr)
        self.assertEqual(self.login("user", "true").returncode, 0)
        self.undo("ssh-refuse-user")
        self.assertEqual(self.login("root", "true").returncode, 0)

    def test_sshd_silent(self):
        self.start("sshd-silent")
        with socket.create_connection((self.lab.address(self.lab.node("n2")), SSH_PORT), 5) as line:
            line.settimeout(1.5)
            with self.assertRaises(socket.timeout):
                line.recv(16)
        self.undo("sshd-silent")
        self.assertEqual(self.login("root", "true").returncode, 0)

    def test_every_fault_has_a_test(self):
        here = {name for name in dir(self) if name.startswith("test_")}
        for fault in inject.TABLE:
            word = "test_" + fault.replace("-", "_")
            self.assertTrue(any(name.startswith(word) for name in here) or fault == "delay", fault)
        self.assertIn("test_loss_and_delay_can_be_active_at_once", here)


if __name__ == "__main__":
    unittest.main()
