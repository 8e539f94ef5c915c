"""Every form of a secret, in every carrier and every encoding it may come in, is in no output; what is near to one is."""

from __future__ import annotations

import base64
import json
import re
from itertools import product

import pytest

from kvdiag.analysis.parse import records
from kvdiag.analysis.redact import RedactionCounts, redacted_bytes, redacted_records
from kvdiag.inputs.paths import sources
from kvdiag.inputs.scan.blocks import Block
from kvdiag.model.options import Options
from kvdiag.report.jsontext import json_text, record_line
from kvdiag.safe.forms.pem import without_keys
from kvdiag.safe.secrets import REDACTED, redacted, redacted_value

A24, A36 = "Zq7Rt2Kx9Lm4Vb8Nc3Wd6Pfj", "Zq7Rt2Kx9Lm4Vb8Nc3Wd6Pfj1Hs5Gy0Tu7Ae"
LOGIN = base64.b64encode(b'{"auths":{"r.example.com":{"username":"u","password":"n0tT0ld"}}}').decode()
PRIVATE = base64.b64encode(b"-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIN0tT0ld\n").decode()
# What is said, S for the secret, and the secret.
FORMS = [
    ("Authorization: Bearer S", A24),
    ('headers: {"Authorization":["Basic S"]}', "dTpuMHRUMGxkbjB0VDBsZA=="),
    ("X-Vault-Token: S", "hvs." + A36),
    ("proxy http://joe:S@proxy.example.com:3128 failed", "n0t/t0@ld"),
    ("redis://:S@cache:6379/0", "n0tT0ldR"),
    ("app:S@tcp(db:3306)/shop", "n0tT0ldD"),
    ("aws_session_token = S", A36),
    ("AWS_SECRET_ACCESS_KEY=S", "n0t/T0ldabcdefghijk+lmnop"),
    ("GET https://b.s3.amazonaws.com/k?X-Amz-Credential=S&X-Amz-Date=1", "ASIAQWERTYUIOPASDFGH%2F2024"),
    ("https://st.blob.core.windows.net/c?sv=2020&sig=S&se=2024", "n0tT0ldSas%3D"),
    ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=S;EndpointSuffix=x", "n0tT0ldAccountKey=="),
    ("AZURE_STORAGE_ACCESS_KEY=S", "n0tT0ldAzure=="),
    ('"aadClientSecret": "S"', "n0t~T0ld.aad"),
    ('{"type":"service_account","private_key":"S","client_email":"a"}', "-----BEGIN PRIVATE KEY-----MIIn0tT0ld"),
    ('{"auths":{"r.example.com":{"auth":"S"}}}', "am9lOm4wdFQwbGQ="),
    (".dockerconfigjson: S", LOGIN),
    ("found S in it", LOGIN),
    ("client-key-data: S", PRIVATE),
    ("wrote S", PRIVATE),
    ("rbd args: [map img --id admin --key=S]", "AQn0tT0ldceph=="),
    ("mount -t ceph m:/ /m -o name=admin,secret=S,mds_namespace=x", "AQn0tT0ldcephfs=="),
    ("[client.admin] key = S", "AQn0tT0ldkeyringabc=="),
    ("iscsiadm -o update -n node.session.auth.password -v S", "n0tT0ldchap"),
    ("node.session.auth.password_in = S", "n0tT0ldmutual"),
    ("mount -t cifs -o user=joe%S //srv/share /m", "n0tT0ldcifs"),
    ("mount -o username=joe,pass=S,vers=3.0 //srv/share /m", "n0tT0ldsmb"),
    ("adduser --passwd S joe", "n0tT0ldpasswd"),
    ('"adminPassword":{"value":"S"}', "n0tT0ldadmin"),
    ('"encryptionPassphrase":"S"', "n0t told } luks"),
    ("PGPASSWORD=S psql", "n0tT0ldpg"),
    ("export DB_PASS='S'", "n0t told db"),
    ('"env":["PATH=/bin","DB_PASSWORD=S"]', "n0t told env"),
    ("EnvVar{Name:GREETING,Value:S,ValueFrom:nil,}", "n0t, told, go"),
    ('{"name": "GREETING", "value": "S"}', "n0t told pretty"),
    ('envs:{key:"GREETING" value:"S"}', "n0t told cri"),
    ("Secrets:map[user:joe key:S]", "n0tT0ldmap]x"),
    ('secrets:<key:"k" value:"S" >', "n0t>told<proto"),
    ('{"node_publish_secrets":{"k":"S"},"volume_id":"v"}', "n0t}told]json"),
    ("Set-Cookie: session=S; Path=/", "n0tT0ldcookie"),
    ("kubeadm join --token abcdef.S", "n0tt0ld890123456"),
    ("OS_APPLICATION_CREDENTIAL_SECRET=S", "n0tT0ldos"),
    ("curl -u joe:S https://x", "n0tT0ldcurl"),
    ("echo -n S | cryptsetup luksOpen /dev/sdb x", "n0tT0ldecho"),
    *(("using S here", token) for token in (
        "ghp_" + A36, "gho_" + A36, "github_pat_" + A36, "glpat-" + A24, "hvb." + A36, "xoxb-123456789012-" + A24, "npm_" + A36,
        "sk_live_" + A24, "AKIAZQRTKXLMVBNCWDPF", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJuMHQifQ.bjB0VDBsZA", "AIza" + A36[:35],
        "dckr_pat_" + A24, "AGE-SECRET-KEY-1" + A36.upper() + "0123456", "$6$salt$" + A36,
    )),
]  # fmt: skip
# Words near to those of secrets, and ids: all of it is evidence.
EVIDENCE = [
    'Couldn\'t get secret shop/db: secret "db" not found',
    "failed to fetch token: not found in the cache",
    "error retrieving token: EOF",
    "couldn't find key password in Secret shop/db",
    "key not found in ConfigMap shop/settings",
    'FATAL: password authentication failed for user "app"',
    "secretName: db-login imagePullSecrets: [regcred]",
    "ImagePullSecrets:[]LocalObjectReference{LocalObjectReference{Name:regcred,},},",
    '"Secret not found" secret="shop/db-login" key="shop/web-0"',
    "volume_id=0001-0009-rook-ceph-0000000000000001-1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01",
    'podUID="1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01" containerID="containerd://5adb082e9d2bcc43ee478b47be2fdbc5ba96c6eaddbf5e6ad03171251a0b71e9"',
    "registry.example.com:5000/shop/web@sha256:5adb082e9d2bcc43ee478b47be2fdbc5ba96c6eaddbf5e6ad03171251a0b71e9",
    "https://host.example.com:8443/v2/shop/web@sha256:5adb082e9d2bcc43ee478b47be2fdbc5ba96c6eaddbf5e6ad03171251a0b71e9",
    "unable to read --token-file=/var/run/secrets/tokens/vault-token: open /etc/kubernetes/pki/sa.key: permission denied",
    'WWW-Authenticate: Bearer realm="https://auth.example.com/token",service="registry"',
    "TokenExpirationSeconds:*3607,ServiceAccountToken:&ServiceAccountTokenProjection{Audience:,Path:token,}",
    '{"secrets":"***stripped***","volume_id":"v"} map[bypass:true compass:north]',
    '"RemoveContainer" containerID="5adb082e9d2bcc43ee478b47be2fdbc5ba96c6eaddbf5e6ad03171251a0b71e9"',
]
HEAD = "I0312 05:49:00.241725  190330 server.go:12] "

# Further ones, looked through in a line, and in one that JSON has around it once and twice.
RARE = [
    ('Password: (string) (len=20) "S",', A24),
    ('Password:(string)"S"', A24),
    ("&Secret{ObjectMeta:{db  shop},Data:map[string][]byte{login: [S],},}", A24),
    ("jdbc:oracle:thin:shop/S@//db:1521/x", A24),
    ("fetch https://S@git.example.com/shop.git failed", A24),
    ("shop:S@search.example.com:9200 refused", A24),
    ("ldap bindpw S", A24),
    ("ldapsearch -D cn=admin -w S -b dc=x", A24),
    ("docker login -u joe -p S r.example.com", A24),
    ("az login --service-principal -u joe -p S --tenant x", A24),
    ("curl -ujoe:S https://x.example.com", A24),
    ("crictl pull --creds joe:S r.example.com/app", A24),
    ("skopeo copy --dest-creds joe:S docker://r.example.com/app", A24),
    ("kubectl create secret generic db --from-literal=user=joe --from-literal=login=S", A24),
    ("mongosh -u root -p S --host db", A24),
    ("redis-cli -a S ping", A24),
    ("AUTH default S", A24),
    ("openssl enc -aes-256-cbc -k S", A24),
    ("unzip -P S a.zip", A24),
    ("ipmitool -H bmc -U admin -P S power off", A24),
    ("cryptsetup luksOpen /dev/sdb x --key-file=- <<< S", A24),
    ("echo S | kinit joe", A24),
    ("machine git.example.com login joe password S", A24),
    ("password for joe@EXAMPLE.COM: S", A24),
    ("Unseal Key 1: S", A36),
    ("<password>S</password>", A24),
    ("<SecretAccessKey>S</SecretAccessKey>", A36),
    ('<add key="ApiSecret" value="S"/>', A24),
    ("('password', 'S')", A24),
    ("| password | S |", A24),
    ("password -> S", A24),
    ("password: |\n  S\nnext: x", A24),
    ("- name: GREETING\n  value: S\n", A24),
    ('auth = "S"', "am9lOm4wdFQwbGQ="),
    ('"env":["PATH=/bin","GREETING=S"]', "n0t told greeting"),
    ("pass_phrase=S", A24),
    ("RABBITMQ_ERLANG_COOKIE=S", A24),
    ("SAMLResponse=S", A36),
    ("xsrf=S", A24),
    ("integrationKey=S", A36),
    ("GET /webapi?_sid=S&x=1", A24),
    ('Authorization: Digest username="joe", realm="x", response="S"', "0a4f113b0a4f113b"),
    ("--sse-c S", A24),
    ('cmd=["redis-cli","-a","S","ping"]', A24),
    ('cmd=["mysqladmin","ping","-pS"]', A24),
    ('args=["docker","login","-u","joe","-p","S"]', A24),
    ('args=["curl","-u","joe:S"]', A24),
    ('args=["node.session.auth.password","-v","S"]', A24),
    ('args ["luksOpen","--key","S"]', A24),
    ('argc=3 a0="app" a1="--password" a2="S"', A24),
    ("proctitle=S", "617070002D2D70617373776F72643D6E307454306C64"),
    ('<Data Name="Password">S</Data>', A24),
    ('{"key":"db.password","value":{"stringValue":"S"}}', A24),
    ('secret_key = "n0tT0ld0ld" -> "S"', A24),
]


def klog(text: str) -> str:
    return HEAD + text + "\n"


def cri(text: str) -> str:
    return f"2024-03-12T05:49:00.241725Z stderr F {klog(text)}"


def cri_parts(text: str) -> str:
    at = (2 * len(text)) // 3
    parts = (("P", HEAD + text[:at]), ("F", text[at:]))
    return "".join(f"2024-03-12T05:49:00.241725Z stderr {tag} {part}\n" for tag, part in parts)


def docker_of(*parts: str) -> str:
    written = ({"log": part, "stream": "stderr", "time": "2024-03-12T05:49:00.241725Z"} for part in parts)
    return "".join(json.dumps(part, ensure_ascii=False, separators=(",", ":")) + "\n" for part in written)


def docker(text: str) -> str:
    return docker_of(klog(text))


def docker_parts(text: str) -> str:
    at = len(HEAD) + (2 * len(text)) // 3
    return docker_of(klog(text)[:at], klog(text)[at:])


def syslog(text: str) -> str:
    return f"Mar 12 05:49:00 worker-1 kubelet[2201]: {klog(text)}"


def journal_of(message: object) -> str:
    entry = {"__REALTIME_TIMESTAMP": "1710222540241725", "SYSLOG_IDENTIFIER": "kubelet", "MESSAGE": message}
    return json.dumps(entry, ensure_ascii=False) + "\n"


def journal(text: str) -> str:
    return journal_of(HEAD + text)


def journal_bytes(text: str) -> str:
    return journal_of(list((HEAD + text).encode()))


def kubectl(text: str) -> str:
    return f"[pod/shop/web-0/app] {klog(text)}"


def logrus(text: str) -> str:
    return f'time="2024-03-12T05:49:00.241725Z" level=error msg={json.dumps(text, ensure_ascii=False)}\n'


def twice(text: str) -> str:
    return docker_of(logrus(text))


CARRIERS = [klog, cri, cri_parts, docker, docker_parts, syslog, journal, journal_bytes, kubectl, logrus, twice]
ENCODINGS = {
    "plain": lambda text: text,
    "entities": lambda text: text.replace('"', "&quot;"),
    "numbers": lambda text: text.replace('"', "&#34;"),
    "escapes": lambda text: text.replace('"', r"\u0022").replace("word", r"w\u006frd"),
    "curly": lambda text: re.sub(r'"([^"]*)"', "“\\1”", text),
    "unseen": lambda text: re.sub(r"(?i)(to|pass|sec|au)(?=ken|w|ret|th)", "\\1\u200b", text),
    "colours": lambda text: re.sub(r"(?i)(pass|secret|token|key)(?=[=:])", "\x1b[1m\\1\x1b[0m", text),
    "rsyslog": lambda text: re.sub(r"(?i)(pass|secret|token|key)(?=[=:])", "#033[1m\\1#033[0m", text),
    "nul": lambda text: re.sub(r"(?i)(to|pass|sec)(?=ken|w|ret)", "\\1\0", text),
}


def shared(path) -> str:
    """Give what `redact` writes of a log."""
    problems: list = []
    return b"".join(
        line
        for source in sources([str(path)], problems.append)
        for line in redacted_bytes(source, str, RedactionCounts())
    ).decode()


def outputs(path) -> tuple[str, str]:
    """Give what `redact` and `parse` write of a log."""
    problems: list = []
    options = Options(paths=(str(path),))
    found = redacted_records(records(options, problems.append))
    parsed = "".join(json_text(record_line(record), redact=True) for record in found)
    assert not problems
    return shared(path), parsed


@pytest.mark.parametrize("carrier", CARRIERS, ids=lambda carrier: carrier.__name__)
@pytest.mark.parametrize("encoding", [*ENCODINGS, "utf-16"])
def test_no_form_in_any_carrier_is_told(carrier, encoding, tmp_path):
    """No secret passes `redact` or `parse`, however it is written; redacting again takes nothing more."""
    change = ENCODINGS.get(encoding, str)
    log = tmp_path / "a.log"
    text = "".join(carrier(change(put(form, secret))) for form, secret in FORMS)
    log.write_bytes(text.encode("utf-16" if encoding == "utf-16" else "utf-8"))
    once, parsed = outputs(log)
    told = {secret for form, secret in FORMS for said in (once, parsed) if secret in said}
    assert not told
    assert len(parsed.splitlines()) >= len(FORMS) or carrier in {cri_parts, docker_parts}
    if carrier is klog or encoding == "plain":
        (tmp_path / "b.log").write_text(once, "utf-8", newline="")
        assert shared(tmp_path / "b.log") == once


def put(form: str, secret: str) -> str:
    """Put the secret where a capital S stands by itself."""
    return re.sub(r"(?<![A-Za-z])S(?![A-Za-z])", lambda _: secret, form)


@pytest.mark.parametrize("head", ["https://joe:", "mongodb://joe:", "redis://:", "http://joe:", "joe:$apr1$8sF2k.bQ$"])
def test_a_line_that_ends_within_a_secret(head):
    """A password of a URL, and a hash, go also when the line ends before what follows them."""
    for secret in (A24[:12], A24):
        for said in (f"{head}{secret}", f'E0312 05:49:00.241725  190330 x.go:1] "No" err="{head}{secret}'):
            assert secret not in redacted(said)


@pytest.mark.parametrize(("form", "secret"), RARE, ids=[form for form, _ in RARE])
def test_no_rare_form_is_told(form, secret):
    """Nor is one of those that few programs write, with JSON around it or without."""
    text = put(form, secret)
    for said in (f"E0312 05:49:00.241725  190330 x.go:1] {text}", json.dumps({"log": text}), twice(text)):
        assert secret not in redacted(said)


@pytest.mark.parametrize("text", EVIDENCE)
def test_evidence_stays(text):
    """What is near to a secret and tells what is wrong is shown as it was."""
    assert redacted(text) == text


KEY = ["-----BEGIN RSA PRIVATE KEY-----", "MIIEn0tT0ld", "n0tT0ld2AAAA", "n0tT0ld3", "-----END RSA PRIVATE KEY-----"]
DAMAGES = {
    "whole": KEY,
    "headless": KEY[1:],
    "cut": KEY[:-1],
    "middle": ["n0tT0ld" * 9 + "A"] * 3,
    "open": [KEY[0][5:], *KEY[1:]],
}


@pytest.mark.parametrize(("damage", "carrier"), [*product(DAMAGES, ["", "syslog", "cri", "docker"])])
def test_no_line_of_a_key_is_told(damage, carrier, tmp_path):
    """Of a key over many lines nothing passes, whole or cut, each line behind a carrier or not; what follows does."""
    lead = {
        "syslog": "Mar 12 05:49:00 worker-1 agent[7]: {}\n",
        "cri": "2024-03-12T05:49:00.241725Z stderr F {}\n",
        "docker": '{{"log":"{}\\n","stream":"stderr","time":"2024-03-12T05:49:00.241725Z"}}\n',
    }.get(carrier, "{}\n")
    log = tmp_path / "a.log"
    lines = [klog("before"), *(lead.format(line) for line in DAMAGES[damage]), klog("it went on")]
    log.write_text("".join(lines), "utf-8")
    for said in outputs(log):
        assert "n0tT0ld" not in said
        assert "it went on" in said
    assert outputs(log)[0].count("\n") == len(lines)


def test_values_of_json_are_told_by_their_keys():
    """A value of our own JSON is judged by its key, blanks and all; a list of bytes by what it says."""
    assert redacted_value("password", "two words") == REDACTED
    assert redacted_value("secretName", "db-login") == "db-login"
    assert redacted_value("message", "hello") == "hello"
    listed = json.dumps(list(b"password=n0tT0ld"))
    assert redacted(listed) == f'"password={REDACTED}"'


def test_names_and_values_on_lines_of_their_own():
    """A document that is spread over lines is read as one, and keeps its lines."""
    text = '  {\n    "name": "GREETING",\n    "value": "n0tT0ld"\n  }\n- name: GREETING\n  value: n0tT0ld'
    assert "n0tT0ld" not in redacted(text)
    assert redacted(text).count("\n") == text.count("\n")


@pytest.mark.parametrize("unit", ["password=", "secret:{", '"env":[', "password: |\\n  ", "token=$(" + "x" * 120])
def test_names_within_names_for_ever(unit):
    """What stands within a value is no further one: a line made of names takes no longer than its length."""
    assert len(redacted(unit * (60_000 // len(unit)))) < 70_000


PROGRAM = [
    ["password: |", "  n0tT0ldBelow", "next: x"],
    ["kind: Secret", "data:", "  login: bjB0VDBsZA==", "  other: n0tT0ldOther"],
    ["data:", "  login: n0tT0ldAbove", "kind: Secret"],
    ['  "env": [', '    "PATH=/bin",', '    "GREETING=n0tT0ldList"', "  ],"],
    ["- name: GREETING", "  value: n0tT0ldValue"],
    ["rejected token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0", "ZW0ifQ.n0tT0ldWrapped1Zq7"],
]


@pytest.mark.parametrize("lead", ["", "Mar 12 05:49:00 worker-1 agent[7]: ", "2024-03-12T05:49:00.241725Z stderr F "])
def test_a_text_over_lines_behind_a_carrier(lead, tmp_path):
    """What only the line above tells goes, behind carriers too; the lines stay, and what follows."""
    log = tmp_path / "a.log"
    lines = [line for text in PROGRAM for line in [klog("before").strip(), *(lead + part for part in text)]]
    log.write_text("\n".join([*lines, klog("it went on")]), "utf-8")
    for number, said in enumerate(outputs(log)):
        assert "n0tT0ld" not in said
        assert "bjB0" not in said
        assert "it went on" in said
        assert number or said.count("\n") == len(lines) + 1


@pytest.mark.parametrize(
    "lead", ["", "    ", "Mar 12 05:49:00 worker-1 agent[7]: ", "2024-03-12T05:49:00.241725Z stderr F "]
)
def test_a_piece_of_a_token_that_stands_alone(lead):
    """Of lines that were taken out of a log one that is nothing but a piece goes, and an id among words stays."""
    piece = "Zq7Rt2Kx9Lm4Vb8Nc3Wd6PfjHs5Gy0TuAe1Io.Zq7Rt2Kx9-Lm4"
    kept = f"{lead}volume {piece} is gone\n"
    given = [Block(f"{lead}{piece}\n".encode(), 0, 1, 0), Block(kept.encode(), 1, 1, 0)]
    said = b"".join(block.data for block in without_keys(given, alone=True)).decode()
    assert said == f"{lead}{REDACTED}\n{kept}"


def test_a_name_at_the_end_of_a_line_alone():
    """Is no piece of a key: an error often ends in the name of a function."""
    kept = "soap fault: retrieveVStorageObject\n"
    assert b"".join(block.data for block in without_keys([Block(kept.encode(), 0, 1, 0)], alone=True)).decode() == kept
    piece = "soap fault: x8Rt2Kx9Lm4Vb8Nc3Wd6Pf\n"
    said = b"".join(block.data for block in without_keys([Block(piece.encode(), 0, 1, 0)], alone=True)).decode()
    assert said == f"soap fault: {REDACTED}\n"


def test_a_token_that_was_wrapped():
    """What a secret at the end of a line goes on with on the next one goes, too."""
    assert redacted("token=Zq7Rt2Kx9Lm4\nVb8Nc3Wd6Pfj\nnext") == f"token={REDACTED}\n{REDACTED}\nnext"


@pytest.mark.parametrize(
    "secret",
    [
        "secret_id=4e1b9a70-5f3c-4b0e-8a52-7c9d1e2f3a4b",
        "password: 20:39:21.779765",
        "token=" + "3f2a9c0b" * 8,
        "password=x-12345678…",
        "pin: x-12345678…",
    ],
)
def test_texts_that_differ_in_ids(secret):
    """A text with a secret is not taken for one that is clean and differs only in UUIDs, ids of containers or times."""
    named = "08:15:00.100000 pvc-1f0c3a52… of pod 1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01 has container "
    harmless = named + "9b1c4f07" * 8
    assert redacted(harmless) == harmless
    shown = redacted(f"{harmless} {secret}")
    assert secret[-12:] not in shown
    assert shown.startswith(harmless)
