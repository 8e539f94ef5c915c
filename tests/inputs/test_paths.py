"""What was named is read or said to be unreadable, each once, and nothing stops the others."""

from __future__ import annotations

import gzip
import io
import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from kvdiag.base.errors import InputError, UsageError
from kvdiag.inputs.files import pseudo_devices
from kvdiag.inputs.folders import SkippedError
from kvdiag.inputs.paths import sources

LINE = b'I0919 11:11:20.322601  190330 kubelet.go:2130] "SyncLoop DELETE" source="api" pods=["default/web-0"]\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Be in a folder of one's own, so that names are short."""
    monkeypatch.chdir(tmp_path)


def read(*paths):
    """Give what the paths hold, and the problems told."""
    problems = []
    texts = {}
    for source in sources(paths, problems.append):
        with source.open() as reader:
            assert source.name not in texts
            texts[source.name] = everything(reader)
    return texts, problems


def everything(reader):
    """Read a reader to its end."""
    buffer, text = bytearray(10_000), b""
    while got := reader.readinto(memoryview(buffer)):
        text += buffer[:got]
    return text


def only(problems, kind=InputError):
    """Give the one problem there is."""
    assert [kind if isinstance(problem, kind) else type(problem) for problem in problems] == [kind]
    return str(problems[0])


def write(name, content=LINE):
    """Write a file, and the folders it needs."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def pretend_stdin(monkeypatch, content, *, terminal=False):
    """Give the process another standard input."""
    stdin = io.TextIOWrapper(io.BytesIO(content))
    stdin.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stdin", stdin)


def test_files_in_the_order_they_are_named():
    """Files are read in the order of the command line, whatever they are called."""
    write("b.log", b"1\n" + LINE)
    write("README.md", b"2\n")
    assert read("b.log", "./README.md") == ({"b.log": b"1\n" + LINE, "./README.md": b"2\n"}, [])


def test_what_is_known_of_a_file():
    """Size and time of a file are known before it is read."""
    path = write("kubelet.log")
    (source,) = sources([str(path)], pytest.fail)
    assert (source.size, source.modified, source.compression) == (len(LINE), path.stat().st_mtime, "")


@pytest.mark.parametrize("named", [[], ["-"], ["-", "-"]])
def test_standard_input(monkeypatch, named):
    """No path, or `-`, is standard input, read once."""
    pretend_stdin(monkeypatch, LINE)
    assert read(*named) == ({"stdin": LINE}, [])
    assert not sys.stdin.buffer.closed


def test_standard_input_compressed(monkeypatch):
    """A stream is unpacked by what it begins with."""
    pretend_stdin(monkeypatch, gzip.compress(LINE * 500))
    assert read("-") == ({"stdin": LINE * 500}, [])


def test_standard_input_is_a_terminal(monkeypatch):
    """A terminal is not waited for; the user hears what to do."""
    pretend_stdin(monkeypatch, b"", terminal=True)
    with pytest.raises(UsageError, match="give files or folders, or pipe a log"):
        read()


def test_standard_input_is_empty(monkeypatch):
    """Nothing on standard input is told, not taken for health."""
    pretend_stdin(monkeypatch, b"")
    texts, problems = read()
    assert texts == {"stdin": b""}
    assert only(problems).startswith("stdin: it is empty")


def test_fifo_that_was_named():
    """A FIFO that the user names, as <(command) is, is read once and to its end."""
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(LINE * 1000))
    writer.start()
    assert read("pipe", "pipe") == ({"pipe": LINE * 1000}, [])
    writer.join()


def test_folder_with_a_fifo():
    """A FIFO that nobody named is passed by and does not block."""
    write("logs/kubelet.log")
    os.mkfifo("logs/pipe.log")
    assert read("logs") == ({"logs/kubelet.log": LINE}, [])


def test_socket_and_device():
    """Sockets and devices are refused."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("csi.sock")
        texts, problems = read("csi.sock", "/dev/zero")
    assert texts == {}
    assert [str(p) for p in problems] == [
        "csi.sock: a socket, which cannot be read as a log; name a file",
        "/dev/zero: a device, not a log; name a file, or use - for standard input",
    ]


def test_missing_file():
    """A path that is not there is told, with the name that is, and the rest is read."""
    write("kubelet.log")
    texts, problems = read("kubelt.log", "kubelet.log", "x/y")
    assert texts == {"kubelet.log": LINE}
    assert [str(p) for p in problems] == [
        "kubelt.log: no such file or folder; did you mean kubelet.log?",
        "x/y: no such file or folder; check the path",
    ]
    assert {p.exit_code for p in problems} == {3}


@pytest.mark.parametrize("named", ["logs/kubelet.log", "logs"])
def test_no_permission(monkeypatch, named):
    """A file that may not be read is a problem, named or found."""
    write("logs/kubelet.log")
    write("logs/other.log")
    begin = os.open

    def refuse(path, *args, **kwargs):
        if str(path).endswith("kubelet.log"):
            raise PermissionError(13, "Permission denied")
        return begin(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    texts, problems = read(named)
    assert texts == ({"logs/other.log": LINE} if named == "logs" else {})
    assert only(problems).startswith("logs/kubelet.log: permission denied; ")


def test_folder_without_permission(monkeypatch):
    """A folder inside that may not be listed is told, the rest is read."""
    write("logs/a.log")
    write("logs/secret/b.log")
    listed = Path.iterdir

    def refuse(path):
        if path.name == "secret":
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    texts, problems = read("logs")
    assert texts == {"logs/a.log": LINE}
    assert only(problems).startswith("logs/secret: permission denied; ")


UNREADABLE = [
    (b"", "it is empty"),
    (gzip.compress(b"", mtime=0), "it is empty"),
    (b"\x7fELF\x02\x01\x01" + bytes(50), "a program, not a log"),
    (b"\x89PNG\r\n\x1a\n" + bytes(50), "a picture, not a log"),
    (bytes(range(256)) * 4, "binary, not the text of a log"),
    (b"PK\x03\x04" + bytes(50), "the archive is damaged (file is not a zip file); copy it again"),
    (b"7z\xbc\xaf\x27\x1c" + bytes(50), "7z archives are not read: unpack it first"),
    (b"Rar!\x1a\x07\x00" + bytes(50), "rar archives are not read: unpack it first"),
    (b"\x04\x22\x4d\x18" + bytes(50), "lz4 is not read: unpack it with unlz4 first"),
    (b"\xfd7zXZ\0" + bytes(50), "its compressed data is damaged"),
    (b"BZh9" + bytes(50), "its compressed data is damaged"),
    (b"\x28\xb5\x2f\xfd" + bytes([255] * 50), "its compressed data is damaged"),
    (gzip.compress(gzip.compress(LINE, mtime=0), mtime=0), "double-compressed; decompress it once"),
]


@pytest.mark.parametrize(("content", "problem"), UNREADABLE)
def test_what_is_not_text(content, problem):
    """What cannot be read as a log is told, whatever it is called; found in a folder it costs no exit code."""
    write("logs/a.log")
    write("logs/b.log", content)
    texts, problems = read("logs/b.log")
    assert texts == {}
    assert only(problems).startswith(f"logs/b.log: {problem}")
    texts, problems = read("logs")
    assert texts == {"logs/a.log": LINE}
    assert only(problems, SkippedError).startswith(f"logs/b.log: {problem}")
    assert problems[0].exit_code == 0


def test_log_with_some_nul_bytes():
    """The NUL bytes that a power failure leaves in a log do not make it binary."""
    write("kubelet.log", LINE + bytes(40) + LINE * 4)
    assert read("kubelet.log") == ({"kubelet.log": LINE + bytes(40) + LINE * 4}, [])


def test_rotated_logs_in_a_folder():
    """Files of a folder come in natural order, of a rotated set the older ones first, hidden ones not at all."""
    names = [
        "a/10.log",
        "a/2.log",
        "kubelet.log",
        "kubelet.log.1",
        "kubelet.log.10.gz",
        "kubelet.log.2",
        "pod/0.log",
        "pod/0.log.20240301-101112",
        "pod/0.log.20240229-101112.gz",
        ".kubelet.log.swp",
        ".cache/kubelet.log",
    ]
    for name in names:
        write(f"logs/{name}", gzip.compress(name.encode()) if name.endswith("gz") else name.encode())
    texts, problems = read("logs")
    assert problems == []
    assert list(texts) == [
        "logs/a/2.log",
        "logs/a/10.log",
        "logs/kubelet.log.10.gz",
        "logs/kubelet.log.2",
        "logs/kubelet.log.1",
        "logs/kubelet.log",
        "logs/pod/0.log.20240229-101112.gz",
        "logs/pod/0.log.20240301-101112",
        "logs/pod/0.log",
    ]
    assert all(f"logs/{text.decode()}" == name for name, text in texts.items())


def test_documents_in_a_folder():
    """What tells about logs is left out, unless it is a log itself; a file with another name is read if it looks so."""
    write("case/README.md", b"# A case\n\nThe kubelet says:\n\n    " + LINE + b"\nand goes on\n")
    write("case/expected.json", b'{\n  "time": "2024-03-01T10:11:12Z",\n  "findings": []\n}\n')
    write("case/pod.yaml", b"kind: Pod\nmetadata:\n  name: web-0\n  creationTimestamp: 2024-03-01T10:11:12Z\n")
    write("case/scenario.txt", b"2026-11-20T20:45:47.656Z SCENARIO: containerd killed\n")
    write("case/journal.json", b'{"__REALTIME_TIMESTAMP":"1700000000000000","MESSAGE":"x"}\n')
    write("case/web-0.txt", LINE)
    write("case/notes", b"remember the milk\n")
    assert list(read("case")[0]) == ["case/journal.json", "case/web-0.txt"]


@pytest.mark.parametrize(
    "text",
    [
        b"Name:             web-0\nNamespace:        shop\nPriority:         0\n",
        b"Name:               worker-1\nRoles:              <none>\n",
        b"LAST SEEN   TYPE      REASON        OBJECT      MESSAGE\n",
        b"NAMESPACE   LAST SEEN   TYPE      REASON   OBJECT      MESSAGE\n",
        b'3m12s   Warning   FailedMount   pod/web-0   MountVolume.SetUp failed for volume "data" : timed out\n',
        b'I pasted:\n  Warning  FailedMount  93s (x13 over 11m)  kubelet  MountVolume.SetUp failed for volume "data"\n',
        b"[Fri Nov 20 20:39:21 2026] EXT4-fs error (device sdb): ext4_find_entry:1455: inode #2: comm app\n",
        b"[   12.339106] EXT4-fs error (device sdb): ext4_find_entry:1455: inode #2: comm app\n",
    ],
)
def test_what_kubectl_and_dmesg_print_in_a_folder(text):
    """What kubectl describes, a table of events and the kernel's messages are read, whatever the file is called."""
    write("case/collected.txt", text)
    assert list(read("case")[0]) == ["case/collected.txt"]


@pytest.mark.parametrize(
    "text", [b"Name: web-0\nNamespace: shop\n", b"Normal operation. Warning Signs are none.\n", b"LAST SEEN: never\n"]
)
def test_text_in_a_folder(text):
    """Text that only shares words with them is not."""
    write("case/collected.txt", text)
    assert list(read("case")[0]) == []


def test_folder_without_logs():
    """A folder with nothing to read is a problem."""
    write("case/README.md", b"nothing here\n")
    texts, problems = read("case")
    assert texts == {}
    assert only(problems) == "case: no logs in this folder; give the logs, or a folder that contains some"


def test_the_same_file_twice():
    """A file that is reached by two paths is read once, under the first."""
    write("logs/kubelet.log")
    Path("link.log").symlink_to("logs/kubelet.log")
    Path("logs/hard.log").hardlink_to("logs/kubelet.log")
    assert read("link.log", "logs/kubelet.log", "logs") == ({"link.log": LINE}, [])


def test_links_in_a_folder():
    """Links that stay in the folder are followed, those in a circle end, those that lead nowhere are told once."""
    write("logs/pods/web/0.log")
    write("logs/kubelet.log")
    Path("logs/by-name").symlink_to("pods")
    Path("logs/pods/up").symlink_to("..")
    Path("logs/self").symlink_to("self")
    Path("logs/gone.log").symlink_to("nowhere.log")
    texts, problems = read("logs")
    assert len(texts) == 2
    assert only(problems, SkippedError).startswith("logs: 2 dangling symlinks, such as logs/")


def test_links_out_of_a_folder():
    """What lies outside the folder that was named is left out, and told; a link that is named itself is read."""
    write("pods/web/0.log")
    write("logs/kubelet.log")
    Path("logs/pods").symlink_to("../pods")
    Path("logs/0.log").symlink_to("../pods/web/0.log")
    texts, problems = read("logs")
    assert sorted(texts) == ["logs/kubelet.log"]
    assert only(problems, SkippedError).startswith(
        "logs: 2 symlinks lead out of this folder and were skipped, such as "
    )
    assert read("logs/0.log") == ({"logs/0.log": LINE}, [])
    Path("named").symlink_to("logs")
    assert sorted(read("named")[0]) == ["named/kubelet.log"]


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no /proc here")
def test_what_the_kernel_makes_up():
    """No file of /proc is looked into, and none waited for, whichever way it is reached."""
    assert pseudo_devices()
    assert "kernel pseudo file system" in str(read("/proc/self/task")[1][0])
    write("logs/kubelet.log")
    Path("logs/proc").symlink_to("/proc/self")
    Path("logs/kmsg.log").symlink_to("/proc/kmsg")
    assert sorted(read("logs")[0]) == ["logs/kubelet.log"]


def test_a_file_that_becomes_a_pipe():
    """What was a file when it was found is not waited for when it is a FIFO by then."""
    write("a.log")
    problems = []
    (source,) = sources(["a.log"], problems.append)
    Path("a.log").unlink()
    os.mkfifo("a.log")
    assert everything(source.open()) == b""
    assert only(problems) == "a.log: cannot be read: it is no longer a file"


def test_file_that_vanishes():
    """A file that is gone when its turn comes is told, not raised."""
    write("a.log")
    problems = []
    (source,) = sources(["a.log"], problems.append)
    Path("a.log").unlink()
    assert everything(source.open()) == b""
    assert only(problems) == "a.log: cannot be read: no such file or directory"


def test_many_empty_files_are_one_line():
    """What is empty is counted; only what is called like a log is worth a word."""
    write("logs/a.log")
    for n in range(30):
        write(f"logs/empty-{n}.log", b"")
        write(f"logs/counter-{n}", b"")
    texts, problems = read("logs")
    assert texts == {"logs/a.log": LINE}
    why = "it is empty, and 29 more files are; were they copied before anything was written?"
    assert only(problems, SkippedError) == f"logs/empty-0.log: {why}"


DATED = b"#\t$OpenBSD: sshd_config,v 1.103 2018/04/09 20:41:22 tj Exp $\n"


@pytest.mark.parametrize(
    ("path", "is_read"),
    [
        ("etc/ssh/sshd_config", False),
        ("sosreport-w-1-2024-03-12-abcdefg/etc/ssh/sshd_config", False),
        ("all/sosreport-w-1-2024-03-12-abcdefg/proc/sys/kernel/dmesg_restrict", False),
        ("sosreport-w-1-2024-03-12-abcdefg/etc/init.d/rsyslog", False),
        ("sosreport-w-1-2024-03-12-abcdefg/etc/rancher/k3s.log", True),
        ("sosreport-w-1-2024-03-12-abcdefg/var/log/messages", True),
        ("sosreport-w-1-2024-03-12-abcdefg/sos_commands/kernel/dmesg", True),
        ("namespaces/shop/etc/dmesg", True),
    ],
)
def test_settings_are_no_logs(path, is_read):
    """What a host is made of quotes dates and is called as logs are; it is none."""
    write(f"logs/{path}", DATED)
    write("logs/a.log")
    texts, _ = read("logs")
    assert (f"logs/{path}" in texts) == is_read
