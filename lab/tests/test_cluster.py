"""A mixed cluster: three releases, soft-RoCE and soft-iWARP, two rails."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from rdmalab import reset, ssh
from rdmalab.lab import Lab, take_down
from tests.labtest import LabTest, lab_command, wait_until

BOOT_ID = "cat /proc/sys/kernel/random/boot_id"


class Cluster(LabTest):
    NAME = "cluster"
    NODES = ("--nodes", "5", "--rails", "2", "--node", "n2=11", "--node", "n3=13",
             "--node", "n4=12,iwarp", "--node", "n5=13,iwarp")

    def test_every_node_is_what_was_asked_for(self):
        kernels = {"n1": "6.1.", "n2": "5.10.", "n3": "6.12.", "n4": "6.1.", "n5": "6.12."}
        for node, kernel in kernels.items():
            for user in ("root", "user"):
                answer = ssh.run(self.lab, node, "uname -r; hostname; whoami; echo $PATH; rdma link",
                                 user=user, door=False)
                release, name, who, path, *links = answer.stdout.splitlines()
                self.assertTrue(release.startswith(kernel), release)
                self.assertEqual((name, who), (node, user))
                self.assertTrue({"/usr/local/bin", "/usr/sbin", "/sbin"} <= set(path.split(":")))
                self.assertEqual(len([line for line in links if "state ACTIVE" in line]), 2, links)

    def test_soft_roce_works_between_releases(self):
        for client, server in (("n1", "n2"), ("n2", "n3"), ("n3", "n1")):
            with self.subTest(client=client, server=server):
                self.assertTrue(self.pingpong("-m 4096 -s 65536", client=client, server=server))

    def test_soft_iwarp_works_between_releases(self):
        self.on("n4", "(timeout 40 rping -s -C 5 -a 10.10.1.4 </dev/null >/dev/null 2>&1 &)")
        done = self.on("n5", "sleep 2; timeout 30 rping -c -C 5 -v -a 10.10.1.4")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_rails_are_separate_wires(self):
        self.assertEqual(self.on("n1", "ping -c 1 -W 3 10.10.2.3").returncode, 0)
        self.on("n3", "ip link set eth2 down")
        self.assertNotEqual(self.on("n1", "ping -c 1 -W 1 10.10.2.3").returncode, 0)
        self.assertEqual(self.on("n1", "ping -c 1 -W 3 10.10.1.3").returncode, 0)
        self.on("n3", "ip link set eth2 up")

    def test_a_fault_can_be_on_the_second_rail(self):
        name = ("--name", self.name)
        done = lab_command("fault", "link-down", "n3", "--rail", "2", *name)
        self.assertEqual(done.returncode, 0, done.stderr)
        links = self.on("n3", "rdma link").stdout
        self.assertRegex(links, "rxe0/1 state ACTIVE")
        self.assertRegex(links, "rxe1/1 state DOWN")
        record = json.loads(lab_command("status", "--json", *name).stdout)
        self.assertEqual(record["nodes"][2]["faults"], ["link-down"])
        done = lab_command("fault", "--undo", "link-down", "n3", *name)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_as_at_boot("n3")

    def test_ssh_with_the_printed_configuration_and_run_agree(self):
        config = lab_command("ssh-config", "--name", self.name).stdout.strip()
        direct = subprocess.run(["ssh", "-F", config, "n1", "cat; exit 3"], input="in\n", text=True,
                                stdout=subprocess.PIPE, check=False)
        ours = lab_command("run", "--name", self.name, "n1", "cat; exit 3", input="in\n")
        self.assertEqual((direct.returncode, direct.stdout), (3, "in\n"))
        self.assertEqual((ours.returncode, ours.stdout), (3, "in\n"))
        everywhere = lab_command("run", "--name", self.name, "--all", "hostname")
        self.assertEqual(everywhere.stdout.split(), [w for n in range(1, 6) for w in (f"n{n}:", f"n{n}")])

    def test_a_pushed_program_is_in_the_path_and_survives_a_reboot(self):
        with tempfile.NamedTemporaryFile("w", suffix=".sh") as program:
            program.write("#!/bin/sh\necho pushed\n")
            program.flush()
            done = lab_command("push", program.name, "--as", "greet", "--name", self.name)
        self.assertEqual(done.returncode, 0, done.stderr)

        def greet(node: str) -> str:
            return ssh.run(self.lab, node, "greet", 20, user="user", door=False).stdout

        def again() -> bool:
            return self.on("n1", BOOT_ID, timeout_s=5).stdout not in ("", before)

        self.assertEqual([greet(node) for node in self.lab.nodes], ["pushed\n"] * 5)
        before = self.on("n1", BOOT_ID).stdout
        self.on("n1", "(sleep 0.2; busybox reboot -f) </dev/null >/dev/null 2>&1 &")
        self.assertTrue(wait_until(again, 90), "n1 did not come back")
        self.assertTrue(wait_until(lambda: greet("n1") == "pushed\n"))
        self.assertTrue(wait_until(lambda: self.on("n1", "cat /run/rdmalab/boot-state").stdout))

    def test_reset_cleans_and_proves(self):
        self.on("n1", "touch /tmp/left /dev/shm/left; (sleep 500 </dev/null >/dev/null 2>&1 &)")
        self.on("n1", "(ibv_rc_pingpong -d rxe0 -g 1 </dev/null >/dev/null 2>&1 &)")
        with self.assertRaisesRegex(Exception, "not as it was at boot"):
            reset.check(self.lab)
        self.assertEqual(reset.reset(self.lab), 0)
        reset.check(self.lab)

    def test_reset_boots_a_node_that_it_cannot_prove_clean(self):
        self.on("n4", "chmod 000 /dev/infiniband/rdma_cm")
        self.assertEqual(reset.reset(self.lab), 1)
        reset.check(self.lab)

    def test_two_labs_at_once_do_not_meet(self):
        other = f"{self.name}-b"
        try:
            done = lab_command("up", "--name", other, "--nodes", "1")
            self.assertEqual(done.returncode, 0, done.stderr)
            second = Lab(other)
            self.assertNotEqual(second.slot, self.lab.slot)
            # Its own n1 has the same rail address as ours; n2 exists on our wire only.
            self.assertNotEqual(ssh.run(second, "n1", "ping -c 1 -W 1 10.10.1.2").returncode, 0)
            self.assertEqual(self.on("n1", "ping -c 1 -W 3 10.10.1.2").returncode, 0)
        finally:
            take_down(other)
        self.assertEqual(self.on("n1", "true").returncode, 0)

    def test_the_environment_can_be_evaluated(self):
        lines = lab_command("env", "--name", self.name).stdout
        script = lines + 'test -r "$RDMACTL_LAB_SSH_CONFIG" && echo $RDMACTL_LAB_NODES'
        done = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.stdout, "n1 n2 n3 n4 n5\n")
        self.assertTrue(Path(self.lab.ssh_config).exists())


if __name__ == "__main__":
    unittest.main()
