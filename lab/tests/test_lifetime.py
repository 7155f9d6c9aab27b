"""Nothing is left behind, whatever happens; and a second `lab up` needs no network."""

import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from rdmalab.debs import Apt
from rdmalab.image import provide
from rdmalab.lab import take_down
from rdmalab.paths import lab_dir
from rdmalab.releases import RELEASES
from tests.labtest import COMMAND, lab_command, qemus_of, wait_until

OFFLINE = dict(os.environ, RDMACTL_LAB_OFFLINE="1")


class Lifetime(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        # The first download, if there is none yet; everything below is offline.
        provide(RELEASES[12])

    def setUp(self):
        self.name = f"life-{os.getpid()}"

    def tearDown(self):
        take_down(self.name)

    def up(self, *words) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, str(COMMAND), "up", "--name", self.name,
                                 "--nodes", "1", *words], env=OFFLINE,
                                # A shell without job control has its jobs ignore it.
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def assert_nothing_left(self) -> None:
        def gone() -> bool:
            return not qemus_of(self.name) and not lab_dir(self.name).exists()

        self.assertTrue(wait_until(gone), f"left: {qemus_of(self.name)} {lab_dir(self.name)}")

    def test_packages_come_from_the_cache_without_a_network(self):
        before = os.environ.get("RDMACTL_LAB_OFFLINE")
        os.environ["RDMACTL_LAB_OFFLINE"] = "1"
        try:
            debs = Apt("bookworm").fetch(RELEASES[12].packages)
        finally:
            os.environ.pop("RDMACTL_LAB_OFFLINE")
            if before:
                os.environ["RDMACTL_LAB_OFFLINE"] = before
        self.assertGreater(len(debs), 100)

    def test_up_killed_in_the_middle_leaves_nothing(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number.name):
                up = self.up()
                self.assertTrue(wait_until(lambda: len(qemus_of(self.name)) >= 2))
                up.send_signal(number)
                up.wait(30)
                self.assert_nothing_left()

    def test_the_lab_ends_with_its_owner(self):
        owner = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(owner.kill)
        self.assertEqual(self.up("--owner", str(owner.pid)).wait(300), 0)
        self.assertTrue(qemus_of(self.name))
        owner.kill()
        owner.wait()
        self.assert_nothing_left()

    def test_a_killed_keeper_takes_its_qemus_along(self):
        self.assertEqual(self.up().wait(300), 0)
        for pid in qemus_of(self.name):
            if b"keeper" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not qemus_of(self.name)))
        # Its folder is stale now, and no hindrance for the next one.
        self.assertTrue(lab_dir(self.name).exists())
        self.assertEqual(self.up().wait(300), 0)

    def test_with_passes_the_exit_code_and_takes_the_lab_down(self):
        script = 'ssh -F "$RDMACTL_LAB_SSH_CONFIG" n1 exit 7'
        done = lab_command("with", "--name", self.name, "--nodes", "1", "--", "sh", "-c", script,
                           env=OFFLINE)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assert_nothing_left()

    def test_a_node_that_cannot_boot_is_named_with_its_console(self):
        done = lab_command("up", "--name", self.name, "--nodes", "2", "--boot-timeout", "2",
                           env=OFFLINE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not ready after 2 s: n1 n2", done.stderr)
        self.assert_nothing_left()

    def test_an_old_lab_ends(self):
        # Ready after some seconds, too old after 0.01 h = 36 s at the latest.
        self.assertEqual(self.up("--max-age", "0.01").wait(300), 0)
        self.assertTrue(wait_until(lambda: not lab_dir(self.name).exists(), 45))
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
