"""`kvdiag explain` as users meet it: names, modes, lines, output and faults."""

from __future__ import annotations

import json

import pytest

DELETE = 'I0312 08:15:00.100000    2201 kubelet.go:2463] "SyncLoop DELETE" source="api" pods=["shop/web-0"]'


def test_a_topic(kvdiag):
    """A topic is told with its steps in their order."""
    done = kvdiag("explain", "detach")
    assert done.returncode == 0
    steps = [line.split(".", 1)[1].split(",")[0].strip() for line in done.stdout.splitlines() if line[:1].isdigit()]
    assert steps == ["released", "decided", "object-deleted", "attacher-acts", "driver-detaches", "gone"]
    assert "ControllerUnpublishVolume" in done.stdout


@pytest.mark.parametrize("arguments", [["--block"], ["--mode", "block"]])
def test_the_way_of_a_block_device(arguments, kvdiag):
    """--block is --mode block."""
    done = kvdiag("explain", "unpublish", *arguments)
    assert done.stdout.startswith("unpublish (block)\n")
    assert "GenerateUnmapVolumeFunc" in done.stdout
    assert "GenerateUnmountVolumeFunc" not in done.stdout


def test_the_usual_mode_comes_first(kvdiag):
    """Without a mode the first is told, and the others are named."""
    done = kvdiag("explain", "unpublish")
    assert done.stdout.startswith("unpublish (fs)\n")
    assert "--mode block" in done.stdout


def test_two_words_are_a_name_too(kvdiag):
    """The dash of a name may be left out, and its case is of no account."""
    assert kvdiag("explain", "Pod", "termination").stdout == kvdiag("explain", "pod-termination").stdout


def test_a_rule(kvdiag):
    """A rule is told as `rules show` tells it, with the steps that it watches."""
    told, shown = kvdiag("explain", "KV301").stdout, kvdiag("rules", "show", "KV301").stdout
    assert told.startswith(shown.rstrip())
    assert "unstage: released" in told


def test_a_line(kvdiag):
    """A line in quotes and a line from standard input are the same."""
    quoted, piped = kvdiag("explain", DELETE), kvdiag("explain", "-", stdin=DELETE.encode() + b"\n")
    assert quoted.returncode == 0
    assert quoted.stdout == piped.stdout
    assert "pod.deleted" in quoted.stdout


def test_lines_as_json(kvdiag):
    """Each record of standard input is one object a line."""
    done = kvdiag("explain", "-", "-o", "json", stdin=f"{DELETE}\n\n{DELETE}\n".encode())
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["line"] for one in told] == [1, 3]
    assert told[0]["events"][0]["kind"] == "pod.deleted"


def test_the_cause_of_a_line(kvdiag):
    """The page has the words that a rule asks for: the cause's id and the peer; in JSON too."""
    line = "dial unix /run/csi/socket: connect: connection refused"
    said = kvdiag("explain", line).stdout
    assert "Cause id   ECONNREFUSED\n" in said
    assert "Peer       csi-socket\n" in said
    (one,) = [json.loads(text) for text in kvdiag("explain", "-o", "json", line).stdout.splitlines()]
    assert (one["anatomy"]["primitive"], one["anatomy"]["peer"]) == ("ECONNREFUSED", "csi-socket")


def test_a_topic_as_json(kvdiag):
    """A topic's page is one object."""
    said = json.loads(kvdiag("explain", "unstage", "--block", "-o", "json").stdout)
    assert (said["topic"], said["mode"]) == ("unstage", "block")
    assert said["steps"][0]["lines"][0]["component"] == "kubelet"


def test_the_list(kvdiag):
    """Without a name all topics are listed."""
    done = kvdiag("explain")
    assert done.returncode == 0
    assert "volume-lifecycle" in done.stdout
    assert json.loads(kvdiag("explain", "-o", "json").stdout)["topics"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["detahc"], "nothing is called 'detahc'; did you mean 'detach'?"),
        (["csi-nodeunstage-mising"], "did you mean 'csi-nodeunstage-missing'?"),
        (["xyzzy"], "topics are detach, orphan-cleanup, "),
        (["unstage", "--mode", "rwx"], "unstage has no mode 'rwx'; choose from fs, block"),
        (["unstage", "--block", "--mode", "fs"], "--block and --mode fs contradict each other"),
        (["unstage", "-o", "yaml"], "-o yaml: unknown output; choose from text, json"),
    ],
)
def test_wrong_usage(arguments, said, kvdiag):
    """What cannot be meant is told with what could be; the exit code is 2."""
    done = kvdiag("explain", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_a_hostile_line(kvdiag):
    """A line cannot clear the screen, and its secrets are blotted out."""
    line = b'I0312 08:15:00.1 2201 a.go:1] "x" token="abcdef0123456789" y="\x1b[2J"\n'
    for arguments in ([], ["-o", "json"]):
        told = kvdiag("explain", "-", *arguments, stdin=line).stdout
        assert "\x1b" not in told
        assert "abcdef0123456789" not in told
        assert "[redacted]" in told


PIECES = ["MIIEn0tT0ld1", "n0tT0ld2AAAA", "Mar 14 08:10:10 n kubelet[1]: n0tT0ld2AAAA", "n0tT0ld1AA\nn0tT0ld2AA"]


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_of_a_key(piece, kvdiag):
    """A line of a key that was taken out of it has no mark of one by it; it is not told, nor in the words of a fault."""
    for arguments, stdin in ([piece], b""), (["-"], piece.encode()), (["-", "-o", "json"], piece.encode()):
        done = kvdiag("explain", *arguments, stdin=stdin)
        assert "n0tT0ld" not in done.stdout + done.stderr
        assert "[redacted]" in done.stdout or "nothing is called that\n" in done.stderr


def test_one_word_is_no_piece_of_a_key(kvdiag):
    """A message of one word is told."""
    assert "Message    Started" in kvdiag("explain", "Mar 14 08:10:10 n kubelet[1]: Started").stdout


def test_bytes_that_are_no_text(kvdiag):
    """Bytes that are not UTF-8 are shown and do not stop anything."""
    done = kvdiag("explain", "-", stdin=b"caf\xe9 \xff\xfe hello\n" + DELETE.encode() + b"\n")
    assert done.returncode == 0
    assert "pod.deleted" in done.stdout


EXPORTED = f"__CURSOR=s=ab8f;i=1\n__REALTIME_TIMESTAMP=1721015374000000\n_HOSTNAME=node-1\nMESSAGE={DELETE}\n\n"


@pytest.mark.parametrize(
    ("stdin", "kind"),
    [
        (("\ufeff" + DELETE).encode("utf-16-le"), "pod.deleted"),
        (DELETE.replace('"', "&quot;").encode(), "pod.deleted"),
        (EXPORTED.encode(), "pod.deleted"),
        (
            b"2026-03-12T08:15:00Z stderr P I0312 08:15:00.100000       1 a.go:2] Failed to reconcile \n"  # noqa: ISC004
            b"2026-03-12T08:15:00Z stderr F volume attachments: context deadline exceeded\n",
            "line.attacher-listvolumes-deadline.failed",
        ),
    ],
)
def test_lines_are_read_as_a_log_is(stdin, kind, kvdiag):
    """Lines that came as UTF-16 or HTML, as an entry of a journal or in parts are told as whole lines."""
    (told,) = json.loads("[" + kvdiag("explain", "-", "-o", "json", stdin=stdin).stdout.replace("}\n{", "},\n{") + "]")
    assert [event["kind"] for event in told["events"]] == [kind]


@pytest.mark.parametrize(
    ("word", "says", "rule"),
    [
        ("CrashLoopBackOff", "kubelet starts it after 10s", "crashloop-app"),
        ("errimagepull", "ErrImagePull", "image-pull-network"),
        ("volume.released", "Volume detached for volume", "csi-nodeunstage-missing"),
        ("NodeUnpublishVolume", "csi.nodeunpublish.failed", "csi-nodeunpublish-state-lost"),
    ],
)
def test_words(word, says, rule, kvdiag):
    """A reason of kubectl's, an event kind and an RPC are explained, with the rules that look at them."""
    told = kvdiag("explain", word).stdout
    assert says in told
    assert rule in " ".join(told.split())
    assert rule in json.loads(kvdiag("explain", "-o", "json", word).stdout)["rules"]


def test_every_reason_names_rules_that_there_are(kvdiag):
    """A word that is no reason makes all of them be read."""
    assert "nothing is called" in kvdiag("explain", "nosuchthing").stderr


def test_a_capability(kvdiag):
    """What it needs, what needs it and which rules speak of it, as text and as JSON."""
    said = kvdiag("explain", "CRI.api").stdout
    assert said.startswith("cri.api (on a node)\n")
    assert "Needs\n  runtime.socket\n" in said
    assert "Broken by\n  runtime-unavailable\n" in said
    page = json.loads(kvdiag("explain", "storage", "-o", "json").stdout)
    assert "nfs-server-unreachable-hang" in page["broken_by"]
    assert "kernel-hung-task" in page["felt_by"]
    assert page["needed_by"] == ["filesystem", "driver.call", "container.stop"]
