"""What needs no VM, no network and no package: plain logic, in a second."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from rdmalab import accelerator, debs, doctor, inject, keys, paths, qemu, reset
from rdmalab.cpio import Cpio
from rdmalab.faults import TABLE
from rdmalab.image import Image
from rdmalab.kernel import has_pvh_entry, module_name
from rdmalab.node import Node, parse_nodes, wire
from rdmalab.releases import RELEASES, Release
from rdmalab.slot import claim_slot
from rdmalab.talk import LabError
from tests.labtest import COMMAND, lab_command


class Nodes(unittest.TestCase):

    def test_overrides_change_single_nodes(self):
        nodes = parse_nodes(4, 12, ["n2=11", "n3=13,iwarp", "n4=iwarp"])
        self.assertEqual([(n.name, n.release, n.provider) for n in nodes],
                         [("n1", 12, "rxe"), ("n2", 11, "rxe"), ("n3", 13, "iwarp"), ("n4", 12, "iwarp")])

    def test_nonsense_is_refused_by_name(self):
        for count, release, words in ((0, 12, []), (2, 12, ["n3=11"]), (2, 9, []), (1, 12, ["n1=13,ib"])):
            with self.assertRaises(LabError):
                parse_nodes(count, release, words)

    def test_addresses_of_two_slots_never_meet(self):
        seen = set()
        for slot in (1, 2, 200):
            for number in (1, 99):
                node = Node(number)
                seen |= {node.host_address(slot), node.mac(slot, 0), node.mac(slot, 1)}
            seen |= {wire(slot, 1), wire(slot, 2)}
        self.assertEqual(len(seen), 3 * (2 * 3 + 2))


class Claims(unittest.TestCase):

    def test_two_labs_of_one_name_get_two_slots(self):
        first, guard_a = claim_slot("same")
        second, guard_b = claim_slot("same")
        guard_a.close()
        third, guard_c = claim_slot("same")
        guard_b.close()
        guard_c.close()
        self.assertNotEqual(first, second)
        self.assertEqual(first, third, "a freed slot is taken again")

    def test_the_name_follows_the_checkout(self):
        here = paths.default_name()
        with mock.patch.object(paths, "CHECKOUT_LAB", Path("/elsewhere/main/lab")):
            self.assertNotEqual(paths.default_name(), here)

    def test_a_name_cannot_leave_its_folder(self):
        for name in ("", "../x", "a/b", ".hidden", "x" * 60):
            with self.assertRaises(ValueError):
                paths.lab_dir(name)


class Files(unittest.TestCase):

    def test_the_kernel_and_cpio_agree_on_the_format(self):
        with tempfile.TemporaryDirectory() as folder:
            archive = Cpio()
            archive.folder("bin")
            archive.file("bin/x", b"12345", 0o755)
            archive.write(Path(folder) / "a")
            data = (Path(folder) / "a").read_bytes()
        self.assertEqual(len(data) % 4, 0)
        self.assertEqual(data.count(b"070701"), 3)
        self.assertEqual(data[:6 + 8 * 2], b"070701" + b"%08X%08X" % (1, 0o040755))

    def test_module_names(self):
        self.assertEqual(module_name("kernel/drivers/virtio/virtio-pci.ko.xz"), "virtio_pci")

    def test_a_pvh_note_is_found(self):
        note = (4).to_bytes(4, "little") * 2 + (18).to_bytes(4, "little") + b"Xen\0"
        self.assertTrue(has_pvh_entry(b"\x7fELF" + b"\0" * 40 + note))
        self.assertFalse(has_pvh_entry(b"\x7fELF" + b"Xen\0" * 9))

    def test_the_ssh_configuration_is_strict(self):
        entry = keys.host_entry("n1", "127.57.1.1", 2222, Path("/x"))
        for line in ("Host n1", "HostName 127.57.1.1", "Port 2222", "User root", "IdentityFile /x/keys/operator",
                     "IdentitiesOnly yes", "UserKnownHostsFile /x/known_hosts", "StrictHostKeyChecking yes"):
            self.assertIn(line, entry)

    def test_qemu_listens_on_loopback_only(self):
        lab = {"slot": 7, "name": "t", "rails": 2, "accelerator": "tcg"}
        words = " ".join(qemu.command(Node(1), Image(Path("/i"), "6.1"), lab))
        self.assertIn("hostfwd=tcp:127.57.7.1:2222-", words)
        self.assertEqual(words.count("localaddr=127.0.0.1"), 2)
        self.assertIn("restrict=on", words)


class Packages(unittest.TestCase):

    URIS = """\
'https://d.example/docker/dists/bookworm/InRelease' d.example_InRelease 0
'https://a.example/debian/dists/bookworm/InRelease' a.example_InRelease 0
'https://a.example/debian/dists/bookworm-updates/InRelease' a.example_InRelease 0
'https://b.example/debian-security/dists/bookworm-security/InRelease' b.example_InRelease 0
'https://c.example/node/dists/nodistro/InRelease' c.example_InRelease 0
"""

    def test_the_mirror_is_that_of_the_systems_apt(self):
        done = subprocess.CompletedProcess([], 0, self.URIS)
        with mock.patch.object(debs.subprocess, "run", return_value=done), \
                mock.patch.dict(os.environ, {"RDMACTL_LAB_MIRROR": ""}):
            self.assertEqual(debs.read_mirrors(),
                             ("https://a.example/debian", "https://b.example/debian-security"))

    def test_no_mirror_is_an_error_with_a_remedy(self):
        done = subprocess.CompletedProcess([], 0, "")
        with mock.patch.object(debs.subprocess, "run", return_value=done), \
                mock.patch.dict(os.environ, {"RDMACTL_LAB_MIRROR": ""}), \
                self.assertRaisesRegex(LabError, "RDMACTL_LAB_MIRROR"):
            debs.read_mirrors()

    def test_another_package_is_another_image(self):
        one = RELEASES[12]
        other = Release(12, "bookworm", one.packages + ("nfs-common",), one.siw_source)
        self.assertNotEqual(one.recipe(), other.recipe())


class Commands(unittest.TestCase):

    def test_what_is_missing_is_named_with_its_package(self):
        with mock.patch.object(doctor, "SYSTEM_PATH", "/nonexistent"):
            missing = doctor.find_missing()
            self.assertIn("qemu-system-x86", doctor.packages(missing))
            with self.assertRaisesRegex(LabError, "apt-get install .*qemu-system-x86"):
                doctor.require()

    def test_every_fault_can_be_explained_and_undone(self):
        for name, fault in TABLE.items():
            self.assertTrue(fault.does and fault.verdict, name)
            self.assertTrue(bool(fault.power) != bool(fault.start and fault.stop), name)
            self.assertEqual("$VALUE" in fault.start, bool(fault.value), name)
            self.assertEqual(bool(fault.value), bool(fault.value_is), name)
            for script in (fault.start, fault.stop):
                done = subprocess.run(["sh", "-n"], input=script, text=True, check=False)
                self.assertEqual(done.returncode, 0, name)
        self.assertEqual(inject.render_list().count("rdmactl:"), len(TABLE))

    def test_scripts_of_the_nodes_parse(self):
        for path in paths.NODE_FILES.iterdir():
            shell = path.read_text(encoding="utf-8").splitlines()[0]
            check = ["perl", f"-I{paths.NODE_FILES}", "-c"] if "perl" in shell or path.suffix == ".pm" \
                else ["bash", "-n"]
            done = subprocess.run([*check, str(path)], stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(subprocess.run(["sh", "-n"], input=reset.SWEEP, text=True,
                                        check=False).returncode, 0)

    def test_without_a_lab_commands_say_what_to_do(self):
        with tempfile.TemporaryDirectory() as cache:
            environment = dict(os.environ, XDG_CACHE_HOME=cache)
            for words in (["status"], ["run", "n1", "true"], ["reset"], ["env"], ["fault", "freeze", "n1"]):
                done = lab_command(*words, env=environment)
                self.assertEqual(done.returncode, 1, words)
                self.assertIn("fix: lab up", done.stderr)
            self.assertEqual(lab_command("down", env=environment).returncode, 0)

    def test_it_parses_on_the_oldest_python_we_promise(self):
        for path in [COMMAND, *COMMAND.parent.glob("rdmalab/**/*.py"), *COMMAND.parent.glob("tests/*.py")]:
            compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)
        self.assertGreaterEqual(sys.version_info, (3, 9))

    def test_kvm_is_used_only_where_it_boots_the_kernel(self):
        for runs, boots, expected in ((False, True, "tcg"), (True, False, "tcg"), (True, True, "kvm")):
            with tempfile.TemporaryDirectory() as cache, \
                    mock.patch.dict(os.environ, {"RDMACTL_LAB_ACCEL": ""}), \
                    mock.patch.object(accelerator.os, "access", return_value=True), \
                    mock.patch.object(accelerator, "cache_root", return_value=Path(cache)), \
                    mock.patch.object(accelerator, "say"), \
                    mock.patch.object(accelerator, "runs_code", return_value=runs), \
                    mock.patch.object(accelerator, "boots_kernel", return_value=boots) as boot:
                self.assertEqual(accelerator.choose(Path("/k")), expected)
                self.assertEqual(accelerator.choose(Path("/k")), expected)
                self.assertEqual(boot.call_count, 1 if runs else 0, "the result is kept")


if __name__ == "__main__":
    unittest.main()
