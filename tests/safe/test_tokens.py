"""Each kind of token is told by its shape, wherever it stands; what is near to one, and every id of a log, stays."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kvdiag.safe.forms.tokens import TOKENS
from kvdiag.safe.secrets import REDACTED, redacted

MIX = "Zq7Rt2Kx9Lm4Vb8Nc3Wd6PfjHs5Gy0TuAe1Io" * 5  # figures and letters of both cases
LOW, UP = MIX.lower(), MIX.upper()
HEX = "5adb082e9d2bcc43ee478b47be2fdbc5ba96c6eaddbf5e6ad03171251a0b71e9" * 3
FIGURES = "8675309441" * 3
UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ." + MIX[:40]


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


# Whose, what is said with S for the token, the token; and what is near to it and stays.
TABLE = [
    ("AWS: ids of access keys", "key S used", "AKIA" + UP[:16], ["AKIA" + UP[:12], "AKIA" + UP[:30], "akia" + LOW[:16]]),
    ("AWS: ids of access keys", "key S used", "A3T" + UP[:17], []),
    ("AWS: Bedrock", "using S", "ABSK" + MIX[:120], ["ABSKIPPED"]),
    ("AWS: Bedrock", "using S", "bedrock-api-key-" + MIX[:40], ["bedrock-api-key-rotator"]),
    ("Google: API keys", "using S", "AIza" + MIX[:35], ["AIza" + MIX[:12]]),
    ("Google: OAuth", "using S", "ya29." + MIX[:60], ["1//0", "ya29.x"]),
    ("Google: OAuth", "using S", "GOCSPX-" + MIX[:28], []),
    ("Azure: client secrets", "using S", MIX[:3] + "8Q~" + MIX[:34], ["Q~" + MIX[:20]]),
    ("Azure: keys of storage, Cosmos DB, Batch, API Management", "k S", MIX[:76] + "+ASt" + MIX[:5] + "A==", [MIX[:43]]),
    ("Azure: keys of storage, Cosmos DB, Batch, API Management", "k S", MIX[:76] + "ACDb" + MIX[:5] + "g==", []),
    ("Azure: keys of Functions, search, registries", "k S", MIX[:44] + "AzFu" + MIX[:5] + "w==", [MIX[:20] + "AzFu"]),
    ("Azure: keys of Functions, search, registries", "k S", MIX[:42] + "AzSe" + MIX[:6], []),
    ("Azure: keys of Functions, search, registries", "k S", MIX[:42] + "+ACR" + MIX[:6], []),
    ("Azure: keys of hubs, buses, relays, caches", "k S", MIX[:33] + "+AEh" + MIX[:5] + "A=", [MIX[:20] + "AIoT" + MIX[:5]]),
    ("Azure: keys of a common form", "k S", MIX[:52] + "JQQJ99" + MIX[:26], [MIX[:20] + "JQQJ99" + MIX[:20]]),
    ("Alibaba Cloud: ids of access keys", "k S", "LTAI" + MIX[:20], ["LTAI" + MIX[:6]]),
    ("DigitalOcean", "using S", "dop_v1_" + HEX[:64], ["dop_v1_" + HEX[:12], "pod_v1_" + HEX[:64]]),
    ("Heroku", "using S", "HRKU-AA" + MIX[:58], ["HRKU-1"]),
    ("Cloudflare: origin CA", "using S", "v1.0-" + HEX[:24] + "-" + HEX[:146], ["v1.0-rc.1", "v1.0-" + HEX[:12]]),
    ("Fly.io", "using S", "fo1_" + MIX[:43], ["fo1_x"]),
    ("OpenStack: Fernet", "using S", "gAAAAABl" + MIX[:60], ["gAAAAA"]),
    ("Kubernetes: bootstrap", "join with abcdef.S", LOW[:16], ["join abcdef." + LOW[:12], "token worker.example.com"]),
    ("k3s, RKE2: servers and agents", f"K10{HEX[:64]}::S", "server:" + HEX[5:37], ["K10 ::x", f"10{HEX[:64]}::server:"]),
    ("k3s, RKE2: servers and agents", f"K10{HEX[:64]}::S", "abcdef." + LOW[:16], []),
    ("Rancher", "with token-8x2pq:S", LOW[:54], ["token-8x2pq: not found", "kubeconfig-u-abcde: gone"]),
    ("OpenShift", "using S", "sha256~" + MIX[:43], ["sha256:" + HEX[:64], "sha256~"]),
    ("Vault", "using S", "hvs." + MIX[:90], ["hvs.local"]),
    ("Vault: before 1.10", "using S", "s." + MIX[:24], ["s." + LOW[:24], "pods." + MIX[:24], "s." + MIX[:23]]),
    ("Terraform Cloud", "using S", MIX[:14] + ".atlasv1." + MIX[:60], ["x.atlasv1.y"]),
    ("Ceph", "using S", "AQ" + MIX[:36] + "==", ["AQ" + MIX[:20]]),
    ("age", "using S", "AGE-SECRET-KEY-1" + UP[:58], ["AGE-SECRET-KEY-1"]),
    ("age", "using S", "AGE-SECRET-KEY-PQ-1" + UP[:58], []),
    ("OpenSSH: private keys without their marks", "got S", encoded("openssh-key-v1\0\0\0\0\4none"), [encoded("openssh")]),
    ("age", "identity S", "AGE-PLUGIN-YUBIKEY-1" + UP[:58], ["AGE-PLUGIN-YUBIKEY"]),
    ("Tailscale", "using S", "tskey-auth-" + MIX[:12] + "-" + MIX[:32], ["tskey-auth"]),
    ("Dynatrace", "using S", "dt0c01." + UP[:24] + "." + UP[:64], ["dt0c01." + UP[:24]]),
    ("GitHub", "using S", "ghp_" + MIX[:36], ["ghp_x", "github.com/shop/web"]),
    ("GitHub: fine-grained", "using S", "github_pat_" + MIX[:82], ["github_pat_x"]),
    ("GitLab", "using S", "glpat-" + MIX[:20], ["glpat-", "gluster-" + MIX[:20]]),
    ("GitLab", "using S", "GR1348941" + MIX[:20], []),
    ("Docker Hub", "using S", "dckr_pat_" + MIX[:27], ["dckr_pat_"]),
    ("Artifactory", "using S", "AKCp" + MIX[:69], ["AKCp8"]),
    ("Artifactory", "using S", "cmVmd" + MIX[:59], [encoded("reference")]),
    ("npm", "using S", "npm_" + MIX[:36], ["npm_config_cache"]),
    ("PyPI", "using S", "pypi-AgEIcHlwaS5vcmc" + MIX[:60], ["pypi-mirror-0"]),
    ("RubyGems", "using S", "rubygems_" + HEX[:48], ["rubygems_" + HEX[:12]]),
    ("Pulumi, Prefect, Postman", "using S", "pul-" + HEX[:40], ["pul-" + HEX[:12]]),
    ("Pulumi, Prefect, Postman", "using S", "PMAK-" + HEX[:24] + "-" + HEX[:34], []),
    ("Doppler", "using S", "dp.st.prd." + MIX[:43], ["dp.st"]),
    ("1Password", "using S", "ops_eyJ" + MIX[:120], ["ops_eyJ"]),
    ("1Password", "using S", f"A3-{UP[:6]}-{UP[:6]}-{UP[:5]}-{UP[:5]}-{UP[:5]}-{UP[:5]}", ["A3-" + UP[:6]]),
    ("Atlassian", "using S", "ATATT3" + MIX[:186], ["ATATT3"]),
    ("Sentry", "using S", "sntryu_" + HEX[:64], ["sntryu_" + HEX[:12]]),
    ("Grafana", "using S", "glsa_" + MIX[:32] + "_" + HEX[:8], ["glsa_x"]),
    ("Grafana", "using S", "eyJrIjoi" + MIX[:70], []),
    ("Databricks, New Relic, Linear, Notion", "using S", "dapi" + HEX[:32], ["dapi" + HEX[:12]]),
    ("Databricks, New Relic, Linear, Notion", "using S", "NRAK-" + UP[:27], ["NRAK"]),
    ("PlanetScale", "using S", "pscale_tkn_" + MIX[:43], ["pscale_tkn_x"]),
    ("Slack", "using S", "xoxb-" + FIGURES[:12] + "-" + MIX[:24], ["xoxb-"]),
    ("Slack, Discord, Teams: webhooks", "https://hooks.slack.com/services/S", "T01/B02/" + MIX[:24], ["hooks.slack.com/"]),
    ("Telegram: bots", "bot S", FIGURES[:10] + ":AA" + MIX[:33], [FIGURES[:10] + ":AA"]),
    ("Twilio", "using S", "SK" + HEX[:32], ["SK" + HEX[:31], "DISK" + HEX[:32], "sk" + HEX[:32]]),
    ("SendGrid", "using S", "SG." + MIX[:22] + "." + MIX[:43], ["SG.x.y"]),
    ("Brevo, Mailchimp", "using S", "xkeysib-" + HEX[:64] + "-" + MIX[:16], ["xkeysib-"]),
    ("Brevo, Mailchimp", "using S", HEX[:32] + "-us14", [HEX[:32] + "-us-east", HEX[:32] + "-user"]),
    ("Stripe", "using S", "sk_live_" + MIX[:24], ["is_live_now", "web_test_1"]),
    ("Shopify, Square", "using S", "shpat_" + HEX[:32], ["shpat_" + HEX[:12]]),
    ("OpenAI, Anthropic", "using S", "sk-ant-api03-" + MIX[:93] + "AA", ["sk-task-worker-of-the-shop-zone"]),
    ("Hugging Face", "using S", "hf_" + MIX[:34], ["hf_cache"]),
    ("Airtable, Octopus Deploy, Harness", "airtable S", "pat" + MIX[:14] + "." + HEX[:64], ["patch.v1", "pat" + MIX[:14]]),
    ("Airtable, Octopus Deploy, Harness", "using S", "API-" + UP[:26], ["API-SERVER", "API-" + UP[:8]]),
    ("Airtable, Octopus Deploy, Harness", "using S", "pat." + MIX[:22] + "." + HEX[:24] + "." + MIX[:20], []),
    ("Readme, Clojars, Shippo, Duffel, Sourcegraph", "using S", "rdme_" + LOW[:70], ["rdme_x"]),
    ("Readme, Clojars, Shippo, Duffel, Sourcegraph", "using S", "sgp_" + HEX[:40], ["sgp_" + HEX[:12]]),
    ("SonarQube, Infracost, Frame.io, MaxMind, Adobe", "using S", "sqp_" + HEX[:40], ["sqp_" + HEX[:12]]),
    ("SonarQube, Infracost, Frame.io, MaxMind, Adobe", "using S", MIX[:6] + "_" + MIX[:29] + "_mmk", ["x_mmk"]),
    ("Mailgun, Flutterwave", "using S", "key-" + HEX[:32], ["key-" + HEX[:12], "monkey-" + HEX[:32]]),
    ("Mailgun, Flutterwave", "using S", "FLWSECK_TEST-" + LOW[:32] + "-X", []),
    ("Buildkite, CircleCI, Supabase, Aiven", "using S", "bkua_" + HEX[:40], ["bkua_" + HEX[:12]]),
    ("Buildkite, CircleCI, Supabase, Aiven", "using S", "AVNS_" + MIX[:19], ["AVNS_x"]),
    ("hashes of passwords", "hash S", "$2y$10$" + MIX[:53], ["$2", "cost $15.20"]),
    ("JWT, as of service accounts", "using S", JWT, ["eyJhbGciOiJSUzI1NiJ9"[:7]]),
    ("base64 of a JWT, as Secrets hold it", "data S", encoded(JWT), [encoded("eyJ")]),
    ("base64 of JSON with credentials", "data S", encoded('{"auths":{"r":{"auth":"x"}}}'), [encoded('{"sizeBytes":42,"id":"a"}')]),
    ("base64 of a private key", "data S", encoded("-----BEGIN PRIVATE KEY-----\nMHc"), [encoded("-----BEGIN CERTIFICATE-----\nMIIC")]),
    ("base64 of a private key", "wrote S", encoded(f"\n-----BEGIN EC PRIVATE KEY-----\n{MIX[:40]}"), []),
    ("base64 of a private key", "wrote S", encoded(f"\r\n-----BEGIN EC PRIVATE KEY-----\n{MIX[:40]}"), []),
    ("base64 of that, as Secrets hold it", "wrote S", encoded(encoded(f"-----BEGIN EC PRIVATE KEY-----\n{MIX[:40]}")), [encoded(encoded("-----BEGIN CERTIFICATE-----\nMIIC"))]),
    ("base64 of what gzip packed, as Helm keeps its releases", "release S", "H4sIAAAAAAAA" + MIX[:80], ["H4sIAAAA"]),
    ("base64 of what gzip packed, as Helm keeps its releases", "release S", "SDRzSUFB" + MIX[:80], []),
    ("NVMe over fabrics: DH-HMAC-CHAP", "with S", "DHHC-1:01:" + MIX[:44] + "==:", ["DHHC-1:00"]),
    ("dm-crypt: keys in a table", "0 8192 crypt aes-xts-plain64 S 0 8:16 4096", HEX[:64], ["crypt aes-xts-plain64 0 8:16"]),
    ("IPsec: keys of Cilium and of ip xfrm", "3 rfc4106(gcm(aes)) S 128", HEX[:40], ["rfc4106(gcm(aes)) 128 bits", "gcm(aes) registered"]),
    ("IPsec: keys of Cilium and of ip xfrm", "auth hmac(sha256) 0xS 96", HEX[:64], ["hmac(sha256) selftest"]),
    ("AWS: secret keys behind their ids", "AKIAQWERTYUIOPAZDFGH:S", MIX[:40], []),
    ("BitLocker, systemd-cryptenroll: recovery keys", "recovery key S", "-".join(["112233"] * 8), ["-".join(["112233"] * 7)]),
    ("BitLocker, systemd-cryptenroll: recovery keys", "recovery key S", "-".join(["cbdefghi"] * 8), ["-".join(["cbdefghi"] * 7)]),
    ("NATS: seeds of nkeys", "seed S", "SU" + "CL3UAHUDXKFNVUZRFA" * 3 + "Q7", ["SUACSSL3", "SUBSCRIPTIONS"]),
    ("hashes of Windows and of GRUB", f"joe:500:{HEX[32:64]}:S:::", HEX[:32], [f"a:{HEX[:32]}:b"]),
    ("secret keys of S3 behind a user", "minio:S", MIX[:40], ["sha1:" + HEX[:40], "minio:" + MIX[:39]]),
    ("PuTTY: private keys", "Private-Lines: 8 S", MIX[:64], ["Private-Lines: 8"]),
    ("MicroK8s: joining", "microk8s join 10.0.0.1:25000/S", HEX[:32], ["10.0.0.1:25000/healthz"]),
    ("PagerDuty, Opsgenie", "routing_key: S", HEX[:32], ["routing_key: shop.orders"]),
    ("PagerDuty, Opsgenie", "GenieKey S", UID, []),
    ("Vault: ids of AppRoles' secrets", '"secret_id":"S"', UID, ["secret_id of 1 role"]),
    ("secret keys behind their ids", "ak=QWERTYUIOPAB sk=S", MIX[:40], ["ak=1 sk=2"]),
    ("PostgreSQL: lines of .pgpass", "db:5432:shop:joe:S", "n0tT0ldPass", ["db:5432:5: connection refused"]),
    ("Nutanix CSI: endpoint, user and password", "key: 10.0.0.1:9440:admin:S", "n0tT0ldPrism", ["10.0.0.1:9440: connection refused"]),
]  # fmt: skip
IDS = [
    f"sha256:{HEX[:64]}",
    f"registry.example.com/shop/web@sha256:{HEX[:64]}",
    f"containerd://{HEX[:64]} {HEX[:12]} {HEX[:13]}",
    f'podUID="{UID}" podUID="{UID.replace("-", "")}" kubepods-besteffort-pod{UID.replace("-", "_")}.slice',
    f"csi-{HEX[:64]} pvc-{UID} snapcontent-{UID}",
    f"/var/lib/kubelet/plugins/kubernetes.io/csi/csi.example.org/{HEX[:64]}/globalmount",
    f"0001-0009-rook-ceph-0000000000000001-{UID} vol-0{HEX[:16]} fs-0{HEX[:16]}::fsap-0{HEX[:16]}",
    f"/subscriptions/{UID}/resourceGroups/MC_shop/providers/Microsoft.Compute/disks/pvc-{UID}",
    "projects/shop-prod/zones/europe-west1-b/disks/pvc-1",
    "naa.6006016012a03b00d2e1f4a5b6c7d8e9 wwn-0x5006016000000000 3600a098000d6b5b10000001158e2c7a6",
    "iqn.2001-04.com.example:storage.disk1 nqn.2014-08.org.nvmexpress:uuid:" + UID,
    "web-7d9c6b8f54-x2k9p_shop(1f0c3a52) web-0_shop_web_0 v1.29.3+k3s1 resourceVersion=4711",
    'trace_id="4bf92f3577b34da6a3ce929d0e0e4736" span="00f067aa0ba902b7" etag="d41d8cd98f00b204e9800998ecf8427e-2"',
    "overlayfs: lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/42/fs",
    "/dev/disk/by-id/google-disk-1 /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0f1e2d3c4b5a69788",
]  # fmt: skip


@pytest.mark.parametrize(("of", "said", "token", "near"), TABLE, ids=[of for of, *_ in TABLE])
def test_a_token_is_told_by_its_shape(of, said, token, near):
    """What goes is the token, by the pattern that is there for it; what is near to it stays."""
    text = said.replace("S", token)
    kind = next(kind for kind in TOKENS if kind.issuer == of)
    assert any(anchor in text.lower() for anchor in kind.anchors)
    found = kind.shape.search(text)
    assert found
    assert found[1] == token
    for shown in (text, f'msg="{text}"', f"({text})"):
        assert token not in redacted(shown)
        assert REDACTED in redacted(shown)
    for other in near:
        assert redacted(f"got {other} here") == f"got {other} here"


def test_no_kind_of_token_is_without_an_example():
    """Each kind has a row, its own name, and says who tells its shape."""
    assert {of for of, *_ in TABLE} == {kind.issuer for kind in TOKENS}
    assert len({kind.issuer for kind in TOKENS}) == len(TOKENS)
    assert all(kind.documented_by for kind in TOKENS)
    assert all(anchor == anchor.lower() for kind in TOKENS for anchor in kind.anchors)


@pytest.mark.parametrize("text", IDS)
def test_ids_stay(text):
    """What programs call images, pods, containers, volumes, disks and traces is evidence."""
    assert redacted(f"E0312 failed to find {text}: not found") == f"E0312 failed to find {text}: not found"


HASHES = st.binary(min_size=1, max_size=8).map(lambda seed: hashlib.sha512(seed).hexdigest())


@given(HASHES)
@example(HEX[:128])
def test_ids_of_any_figures_stay(drawn):
    """No figures make a secret of a digest, a UID, an id of a sandbox or a handle."""
    uid = "-".join((drawn[:8], drawn[8:12], drawn[12:16], drawn[16:20], drawn[20:32]))
    for said in (
        f"sha256:{drawn[:64]}",
        f"sandboxID={drawn[:64]}",
        f"id {drawn[:13]}",
        f'podUID="{uid}"',
        f"pvc-{uid}",
    ):
        text = f"stopping {said} took 3s, handle vol-{drawn[:17]} csi-{drawn[:64]} token-file {drawn[:32]}"
        assert redacted(text) == text
