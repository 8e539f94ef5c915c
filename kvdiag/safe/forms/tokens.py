"""Find tokens by their own format: prefix, characters and length.

Each has a text that a line must contain, in lower case, before its pattern is tried; its issuer and documentation; and
where its format was read (`docs/redaction.md` names the releases). Patterns allow longer tokens than documented, so that
they still match if tokens grow: lengths are minimum lengths, and never the length of an id in the logs.
"""

from __future__ import annotations

import base64
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.safe.forms.anchors import Anchors
from kvdiag.safe.forms.value_spans import Span, last_words


class Token(NamedTuple):
    """A kind of token: issuer, anchor texts, pattern (its group is redacted), and the documentation."""

    issuer: str
    anchors: tuple[str, ...]
    shape: re.Pattern[str]
    documented_by: str
    read_in: str = ""  # empty if no source code was read
    judge: Callable[[str], bool] | None = None


_B = r"(?<![A-Za-z0-9])"  # where it begins


_K = r"(?<![A-Za-z0-9+/=_-])"  # the same, of base64
_E = r"(?![A-Za-z0-9+/=_-])"  # and where it ends


def _decoded(text: str) -> bytes:
    text = text[:400].replace("-", "+").replace("_", "/")
    return base64.b64decode(text[: len(text) & ~3], validate=False) if len(text) > 3 else b""


def _is_credentials(text: str) -> bool:
    """Return whether base64 contains JSON with registry logins, a token header or similar."""
    decoded = _decoded(text).lower()
    return any(
        word in decoded for word in (b"auth", b"passw", b"token", b"secret", b'"alg"', b'"typ"', b"_key", b'key"')
    )


def _is_private(text: str) -> bool:
    """Return whether base64 contains a private key in PEM, not a certificate."""
    return b"PRIVATE KEY" in _decoded(text)


def _is_random(text: str) -> bool:
    """Return whether the text has several digits and letters of both cases."""
    return text != text.lower() and text != text.upper() and sum(character.isdigit() for character in text) > 1


def _is_without_words(text: str) -> bool:
    """Return whether digits and letters of both cases are mixed at random, unlike a name in camel case."""
    changes = sum(_kind(left) != _kind(right) for left, right in pairwise(text))
    return _is_random(text) and changes * 3 > len(text)


def _kind(character: str) -> int:
    return character.isdigit() + 2 * character.isupper()


TOKENS = (
    # clouds
    Token("AWS: ids of access keys", ("akia", "asia", "abia", "acca", "a3t"), lazy_regex(_B + r"((?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16})(?![0-9A-Za-z])"), "docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html", "gitleaks, detect-secrets"),
    Token("AWS: Bedrock", ("absk", "bedrock-api-key-"), lazy_regex(_B + r"(ABSK[A-Za-z0-9+/]{100,}={0,2}|bedrock-api-key-[\w+/=-]{16,})"), "docs.aws.amazon.com/bedrock: API keys", "gitleaks"),
    Token("Google: API keys", ("aiza",), lazy_regex(_B + r"(AIza[\w-]{30,40})"), "cloud.google.com/docs/authentication/api-keys", "gitleaks"),
    Token("Google: OAuth", ("ya29.", "gocspx-", "1//0"), lazy_regex(_B + r"(ya29\.[\w.-]{16,}|GOCSPX-[\w-]{20,}|1//0[\w-]{30,})"), "developers.google.com/identity/protocols/oauth2"),
    Token("Azure: client secrets", ("q~",), lazy_regex(r"(?<![\w~.-])([\w~.-]{3}\dQ~[\w~.-]{30,40})"), "learn.microsoft.com: Azure AD client secret entity definition", "gitleaks, security-utilities"),
    Token("Azure: keys of storage, Cosmos DB, Batch, API Management", ("+ast", "acdb", "+aba", "+amc", "apim"), lazy_regex(_K + r"([A-Za-z0-9+/]{76}(?:\+ASt|ACDb|\+ABa|\+AMC|APIM)[A-Za-z0-9+/]{5}[AQgw]={0,2})" + _E), "learn.microsoft.com/purview: Azure storage account key", "security-utilities"),
    Token("Azure: keys of Functions, search, registries", ("azfu", "azse", "+acr"), lazy_regex(_K + r"([A-Za-z0-9+/_-]{42,44}(?:AzFu|AzSe|\+ACR)[A-Za-z0-9+/]{5}[A-Za-z0-9+/=]{1,3})" + _E), "learn.microsoft.com/purview: Azure keys", "security-utilities"),
    Token("Azure: keys of hubs, buses, relays, caches", ("+aeh", "+asb", "+arm", "aiot", "azeg", "azca"), lazy_regex(_K + r"([A-Za-z0-9+/]{33}(?:\+AEh|\+ASb|\+ARm|AIoT|AZEG|AzCa)[A-Za-z0-9+/]{5}[AEIMQUYcgkosw048]=?)" + _E), "learn.microsoft.com/purview: Azure shared access keys", "security-utilities"),
    Token("Azure: keys of a common form", ("jqqj99",), lazy_regex(_K + r"([A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}(?:[A-Za-z0-9]{2}==)?)" + _E), "github.com/microsoft/security-utilities", "security-utilities"),
    Token("Alibaba Cloud: ids of access keys", ("ltai",), lazy_regex(_B + r"(LTAI[0-9A-Za-z]{16,26})(?![0-9A-Za-z])"), "alibabacloud.com: AccessKey pairs", "gitleaks"),
    Token("DigitalOcean", ("_v1_",), lazy_regex(_B + r"(do[opr]_v1_[0-9a-f]{32,})"), "docs.digitalocean.com/reference/api: token prefixes", "gitleaks"),
    Token("Heroku", ("hrku-",), lazy_regex(_B + r"(HRKU-[\w-]{30,})"), "devcenter.heroku.com: authentication", "gitleaks"),
    Token("Cloudflare: origin CA", ("v1.0-",), lazy_regex(_B + r"(v1\.0-[0-9a-f]{24}-[0-9a-f]{100,})"), "developers.cloudflare.com: origin CA keys", "gitleaks"),
    Token("Fly.io", ("fo1_", "fm1", "fm2_"), lazy_regex(_B + r"(fo1_[\w-]{40,}|fm1[ar]_[\w+/=]{60,}|fm2_[\w+/=]{60,})"), "fly.io/docs: access tokens", "gitleaks"),
    Token("OpenStack: Fernet", ("gaaaaa",), lazy_regex(_B + r"(gAAAAA[\w-]{40,}={0,2})"), "docs.openstack.org/keystone: Fernet tokens"),
    # clusters
    Token("Kubernetes: bootstrap", ("token", "bootst", "join"), lazy_regex(r"(?<![\w./-])[a-z0-9]{6}\.([A-Za-z0-9]{16})(?![\w./-])"), "kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens", "kubeadm token generate", lambda text: any(c.isdigit() for c in text)),
    Token("k3s, RKE2: servers and agents", ("k10",), lazy_regex(_B + r"K10[0-9a-f]{64}::((?:[\w-]{1,64}:)?[^\s\"'\\,;:]{8,})"), "docs.k3s.io/cli/token", "docs.k3s.io/cli/token"),
    Token("Rancher", ("token-", "kubeconfig-"), lazy_regex(r"(?<![\w-])(?:token|kubeconfig-(?:u|user)(?:-[a-z0-9]{1,20})?)-?[a-z0-9]{5,10}(?:\.c-[a-z0-9-]{1,40})?:([A-Za-z0-9]{20,64})(?![0-9A-Za-z])"), "ranchermanager.docs.rancher.com: API keys"),
    Token("OpenShift", ("sha256~",), lazy_regex(_B + r"(sha256~[\w-]{30,})"), "docs.openshift.com: OAuth tokens", "gitleaks"),
    Token("Vault", ("hvs.", "hvb.", "hvr."), lazy_regex(_B + r"(hv[sbr]\.[\w-]{16,})"), "developer.hashicorp.com/vault/docs/concepts/tokens", "gitleaks"),
    Token("Vault: before 1.10", ("s.",), lazy_regex(r"(s\.(?<![\w./-]s\.)[0-9A-Za-z]{24})(?![\w./-])"), "developer.hashicorp.com/vault/docs/concepts/tokens", "gitleaks", _is_random),
    Token("Terraform Cloud", (".atlasv1.",), lazy_regex(_B + r"([0-9A-Za-z]{10,20}\.atlasv1\.[\w=-]{40,})"), "developer.hashicorp.com/terraform/cloud-docs: API tokens", "gitleaks"),
    Token("Ceph", ("aq",), lazy_regex(r"(?<![\w+/])(AQ[A-Za-z0-9+/]{36,37}==?)(?![\w=])"), "docs.ceph.com/en/latest/rados/operations/user-management"),
    Token("age", ("age-secret-key-", "age-plugin-"), lazy_regex(r"(AGE-(?:SECRET-KEY-(?:PQ-)?|PLUGIN-[A-Z0-9]{1,24}-)1[0-9A-Z]{40,})"), "age-encryption.org/v1", "gitleaks"),
    Token("OpenSSH: private keys without their marks", ("b3blbnnzac1rzxktdje",), lazy_regex(r"(?<![\w+/])(b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{8,}={0,2})"), "openssh: PROTOCOL.key"),
    Token("Tailscale", ("tskey-",), lazy_regex(_B + r"(tskey-[a-z]+-\w{4,}(?:-\w{4,})?)"), "tailscale.com/kb: key prefixes", "trufflehog"),
    Token("Dynatrace", ("dt0",), lazy_regex(_B + r"(dt0[a-z]\d{2}\.[0-9A-Za-z]{8,24}\.[0-9A-Za-z]{40,})"), "docs.dynatrace.com: token format", "gitleaks"),
    # registries, forges, builds
    Token("GitHub", ("gh",), lazy_regex(_B + r"(gh[pousr]_[0-9A-Za-z_]{20,255})"), "github.blog/changelog/2021-03-31-authentication-token-format-updates-are-generally-available", "gitleaks, detect-secrets"),
    Token("GitHub: fine-grained", ("github_pat_",), lazy_regex(_B + r"(github_pat_[0-9A-Za-z_]{20,255})"), "docs.github.com/authentication: token formats", "gitleaks"),
    Token("GitLab", ("gl", "gr1348941"), lazy_regex(_B + r"(gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[\w.-]{16,255}|GR1348941[\w-]{16,60})"), "docs.gitlab.com/security/tokens: token prefixes", "gitleaks, detect-secrets"),
    Token("Docker Hub", ("dckr_",), lazy_regex(_B + r"(dckr_(?:pat|oat)_[\w-]{16,})"), "docs.docker.com/security/access-tokens", "trufflehog"),
    Token("Artifactory", ("akc", "cmvmd"), lazy_regex(_B + r"(AKCp[0-9A-Za-z]{40,}|cmVmd[0-9A-Za-z]{50,})(?![\w+/=])"), "jfrog.com/help: API keys and reference tokens", "gitleaks, detect-secrets"),
    Token("npm", ("npm_",), lazy_regex(_B + r"(npm_[0-9A-Za-z]{20,})"), "github.blog/changelog: npm has a new access token format", "gitleaks"),
    Token("PyPI", ("pypi-",), lazy_regex(_B + r"(pypi-AgE[\w-]{20,})"), "pypi.org/help/#apitoken", "gitleaks, detect-secrets"),
    Token("RubyGems", ("rubygems_",), lazy_regex(_B + r"(rubygems_[0-9a-f]{40,})"), "guides.rubygems.org: API keys", "gitleaks"),
    Token("Pulumi, Prefect, Postman", ("pul-", "pnu_", "pmak-"), lazy_regex(_B + r"(pul-[0-9a-f]{40}|pnu_[0-9A-Za-z]{36}|PMAK-[0-9a-fA-F]{24}-[0-9a-fA-F]{30,})"), "each vendor's documentation of its API keys", "gitleaks"),
    Token("Doppler", ("dp.",), lazy_regex(_B + r"(dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,})"), "docs.doppler.com/reference/auth-token-formats", "gitleaks"),
    Token("1Password", ("ops_eyj", "a3-"), lazy_regex(_B + r"(ops_eyJ[A-Za-z0-9+/]{60,}={0,3}|A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5})(?![\w-])"), "developer.1password.com: service accounts", "gitleaks"),
    Token("Atlassian", ("atatt", "atctt", "atbb"), lazy_regex(_B + r"(AT(?:ATT|CTT)3[\w=-]{40,}|ATBB[0-9A-Za-z]{24,})"), "support.atlassian.com: API tokens", "gitleaks"),
    Token("Sentry", ("sntry",), lazy_regex(_B + r"(sntrys_[\w+/=]{40,}|sntryu_[0-9a-f]{40,})"), "docs.sentry.io: auth tokens", "gitleaks"),
    Token("Grafana", ("glsa_", "glc_", "eyjrijoi"), lazy_regex(_B + r"(glsa_[0-9A-Za-z]{20,}_[0-9a-fA-F]{8}|glc_[\w+/=]{30,}|eyJrIjoi[0-9A-Za-z+/]{40,}={0,3})"), "grafana.com/docs: service account tokens", "gitleaks"),
    Token("Databricks, New Relic, Linear, Notion", ("dapi", "nr", "lin_", "ntn_"), lazy_regex(_B + r"(dapi[0-9a-f]{32}(?:-\d)?|NRAK-[0-9A-Z]{27}|NRII-[\w-]{32}|NRJS-[0-9a-f]{19}|lin_api_[0-9A-Za-z]{40}|ntn_\d{11}[0-9A-Za-z]{35})"), "each vendor's documentation of its API keys", "gitleaks"),
    Token("PlanetScale", ("pscale_",), lazy_regex(_B + r"(pscale_(?:tkn|oauth|pw)_[\w=.-]{30,})"), "planetscale.com/docs: service tokens", "gitleaks"),
    # messages, money, models
    Token("Slack", ("xox", "xapp-"), lazy_regex(_B + r"(xox[abcdeoprs](?:\.xox[bp])?-[\w.-]{8,}|xapp-[\w-]{10,})"), "api.slack.com/concepts/token-types", "gitleaks, detect-secrets"),
    Token("Slack, Discord, Teams: webhooks", ("hooks.slack.com/", "/api/webhooks/", "webhook.office.com/"), lazy_regex(r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|webhook\.office\.com/webhookb2)/([\w@/.-]{8,})"), "api.slack.com/messaging/webhooks", "gitleaks, but for Discord"),
    Token("Telegram: bots", (":aa",), lazy_regex(r"(?<!\d)(\d{8,10}:AA[\w-]{30,36})(?![\w-])"), "core.telegram.org/bots/api", "gitleaks, detect-secrets"),
    Token("Twilio", ("sk",), lazy_regex(r"(SK(?<![\w+/=-]SK)[0-9a-f]{32})(?![\w+/=-])"), "twilio.com/docs: API keys", "gitleaks, detect-secrets"),
    Token("SendGrid", ("sg.",), lazy_regex(_B + r"(SG\.[\w-]{16,}\.[\w-]{16,})"), "docs.sendgrid.com: API keys", "gitleaks, detect-secrets"),
    Token("Brevo, Mailchimp", ("xkeysib-", "-us"), lazy_regex(_B + r"(xkeysib-[0-9a-f]{64}-[0-9A-Za-z]{16}|[0-9a-f]{32}-us\d{1,2})(?![\w.-])"), "each vendor's documentation of its API keys", "gitleaks, detect-secrets"),
    Token("Stripe", ("_live_", "_test_", "_prod_", "whsec_"), lazy_regex(_B + r"((?:[spr]k_(?:live|test|prod)|whsec)_[0-9A-Za-z+/=]{10,})"), "docs.stripe.com/keys", "gitleaks, detect-secrets"),
    Token("Shopify, Square", ("shp", "sq0"), lazy_regex(_B + r"(shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}|sq0(?:atp|csp)-[\w-]{22,})"), "each vendor's documentation of its API keys", "gitleaks, detect-secrets"),
    Token("OpenAI, Anthropic", ("sk-",), lazy_regex(_B + r"(sk-(?:ant-|proj-|svcacct-|admin-)?[\w-]{20,})"), "platform.openai.com, docs.anthropic.com: API keys", "gitleaks, detect-secrets", lambda text: any(c.isdigit() for c in text) and any(c.isupper() for c in text)),
    Token("Hugging Face", ("hf_", "api_org_"), lazy_regex(_B + r"((?:hf|api_org)_[0-9A-Za-z]{30,})"), "huggingface.co/docs/hub/security-tokens", "gitleaks"),
    Token("Airtable, Octopus Deploy, Harness", ("airtable", "api-", "pat.", "sat."), lazy_regex(_B + r"(pat[0-9A-Za-z]{14}\.[0-9a-f]{32,}|API-[0-9A-Z]{26}|[ps]at\.[\w-]{22}\.[0-9A-Za-z]{24}\.[0-9A-Za-z]{20})(?![\w-])"), "each vendor's documentation of its API keys", "gitleaks"),
    Token("Readme, Clojars, Shippo, Duffel, Sourcegraph", ("rdme_", "clojars_", "shippo_", "duffel_", "sgp_"), lazy_regex(_B + r"(rdme_[0-9a-z]{40,}|CLOJARS_[0-9a-z]{40,}|shippo_(?:live|test)_[0-9a-fA-F]{32,}|duffel_(?:live|test)_[\w=-]{32,}|sgp_(?:[0-9a-fA-F]{16}_|local_)?[0-9a-fA-F]{40})(?![\w-])"), "each vendor's documentation of its API keys", "gitleaks"),
    Token("SonarQube, Infracost, Frame.io, MaxMind, Adobe", ("sqa_", "squ_", "sqp_", "ico-", "fio-u-", "_mmk", "p8e-"), lazy_regex(_B + r"(sq[aup]_[0-9a-f]{40}|ico-[0-9A-Za-z]{32}|fio-u-[\w=-]{40,}|[0-9A-Za-z]{6}_[0-9A-Za-z]{29}_mmk|p8e-[0-9A-Za-z]{32})(?![\w-])"), "each vendor's documentation of its API keys", "gitleaks"),
    Token("Mailgun, Flutterwave", ("key-", "flwseck"), lazy_regex(_B + r"(key-[0-9a-f]{32}|FLWSECK(?:_TEST)?-[0-9A-Za-z]{12,}(?:-X)?)(?![\w-])"), "each vendor's documentation of its API keys", "gitleaks"),
    Token("Buildkite, CircleCI, Supabase, Aiven", ("bkua_", "ccipat_", "sbp_", "avns_"), lazy_regex(_B + r"(bkua_[0-9a-f]{40}|CCIPAT_\w{20,}|sbp_[0-9a-f]{40}|AVNS_[\w-]{16,})(?![\w-])"), "each vendor's documentation of its API keys"),
    # of any issuer
    Token("hashes of passwords", ("$",), lazy_regex(r"(\$(?:2[aby]|[156y]|apr1|argon2(?:id|i|d))\$[\w./$=,+-]{20,}|SCRAM-SHA-\d{1,3}\$\d{1,9}:[\w+/=$:]{20,})"), "crypt(5)"),
    Token("JWT, as of service accounts", ("eyj",), lazy_regex(r"(?<![\w+/-])(eyJ[\w-]{8,}\.[\w-]{8,}={0,2}(?:\.[\w=-]*)*)"), "RFC 7519", "gitleaks, detect-secrets"),
    Token("base64 of a JWT, as Secrets hold it", ("zxlk",), lazy_regex(r"(?<![\w+/-])(ZXlK[A-Za-z0-9+/]{30,}={0,2})"), "RFC 7519", "gitleaks"),
    Token("base64 of JSON with credentials", ("eyj", "ewo", "ewk", "eya"), lazy_regex(r"(?<![\w+/-])(e(?:yJ|wo|wk|yA)[\w+/-]{14,}={0,2})"), "RFC 4648", "", _is_credentials),
    Token("base64 of a private key", ("ls0tls1crudjt", "0tls0tqkvhsu4g", "tls0tlujfr0loi"), lazy_regex(r"(?<![\w+/-])([\w+/-]{0,64}?(?:LS0tLS1CRUdJT|0tLS0tQkVHSU4g|tLS0tLUJFR0lOI)[\w+/-]{8,}={0,2})"), "RFC 7468", "", _is_private),
    Token("base64 of that, as Secrets hold it", ("tfmwdextmunsvwrkv",), lazy_regex(r"(?<![\w+/-])(TFMwdExTMUNSVWRKV[\w+/-]{8,}={0,2})"), "RFC 7468", "", lambda text: _is_private(_decoded(text).decode("ascii", "replace"))),
    Token("base64 of what gzip packed, as Helm keeps its releases", ("h4sia", "sdrzsufb"), lazy_regex(r"(?<![\w+/-])((?:H4sIA|SDRzSUFB)[A-Za-z0-9+/]{59,}={0,2})"), "helm.sh/docs: storage backends"),
    Token("NVMe over fabrics: DH-HMAC-CHAP", ("dhhc-1:",), lazy_regex(r"(DHHC-1:\d\d:[A-Za-z0-9+/]{8,}={0,2}:?)"), "nvme-cli: nvme gen-dhchap-key"),
    Token("dm-crypt: keys in a table", (" crypt ",), lazy_regex(r" crypt (?:\w[\w:()-]{2,64}) ([0-9a-f]{32,256}) \d"), "docs.kernel.org/admin-guide/device-mapper/dm-crypt.html"),
    Token("IPsec: keys of Cilium and of ip xfrm", (")) ", ") 0x", "(aes) ", "(sha"), lazy_regex(r"\b[a-z0-9-]{2,16}\([a-z0-9()_-]{2,32}\) (?:0x)?([0-9a-f]{8,512})(?![0-9a-z])"), "docs.cilium.io: IPsec transparent encryption; ip-xfrm(8)"),
    Token("BitLocker, systemd-cryptenroll: recovery keys", ("recovery", "bitlocker", "cryptenroll"), lazy_regex(r"(?<![\w-])((?:\d{6}-){7}\d{6}|(?:[b-lnrt-v]{8}-){7}[b-lnrt-v]{8})(?![\w-])"), "systemd-cryptenroll(1); learn.microsoft.com: BitLocker recovery password"),
    Token("NATS: seeds of nkeys", ("seed", "nkey", "nats", "creds"), lazy_regex(r"(S(?<![A-Za-z0-9]S)[UANOCX][A-Z2-7]{56})(?![A-Za-z0-9])"), "docs.nats.io: NKeys", "", lambda text: any(c.isdigit() for c in text)),
    Token("hashes of Windows and of GRUB", (":::", "grub.pbkdf2"), lazy_regex(r"(?::[0-9a-fA-F]{32}:|grub\.pbkdf2\.sha512\.\d{4,6}\.)([0-9a-fA-F]{32}(?=:::)|[0-9A-Za-z.]{20,})"), "gnu.org/software/grub: grub-mkpasswd-pbkdf2"),
    Token("secret keys of S3 behind a user", ("s3", "minio", "passwd", "access", "secret"), lazy_regex(r"(?<=\w\w:)([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"), "github.com/s3fs-fuse: the password file", "", _is_without_words),
    Token("PuTTY: private keys", ("private-lines",), lazy_regex(r"Private-Lines: \d{1,3}(?:\s|\\{1,8}[nr]){1,8}([\w+/=]{16,})"), "the.earth.li/~sgtatham/putty: PPK file format"),
    Token("MicroK8s: joining", (":25000/",), lazy_regex(r":25000/([0-9a-f]{32})(?![0-9a-f])"), "microk8s.io/docs/command-reference: add-node"),
    Token("PagerDuty, Opsgenie", ("routing", "geniekey"), lazy_regex(r"(?i:(?:routing_?|genie-?)key\W{1,24})([0-9a-z]{32}(?![0-9A-Za-z])|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"), "each vendor's documentation of its API keys"),
    Token("Vault: ids of AppRoles' secrets", ("secret",), lazy_regex(r"(?i:secret_?id\W{1,24})([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"), "developer.hashicorp.com/vault/docs/auth/approle"),
    Token("secret keys behind their ids", ("ak",), lazy_regex(r"(?i:\bak\W{1,4})\w{8,64}\W{1,8}(?i:sk\W{1,4})([\w+/=]{16,})"), "support.huaweicloud.com: AK/SK"),
    Token("AWS: secret keys behind their ids", ("akia", "asia"), lazy_regex(r"(?:AKIA|ASIA)[0-9A-Z]{16}\W{1,4}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"), "docs.aws.amazon.com/IAM: access keys"),
    Token("PostgreSQL: lines of .pgpass", (":5432:",), lazy_regex(r":5432:[^\s:\"']{1,64}:[^\s:\"']{1,64}:([^\s\"'\\]{4,})"), "postgresql.org/docs: the password file"),
    Token("Nutanix CSI: endpoint, user and password", (":9440:",), lazy_regex(r":9440:[^\s:\"']{1,64}:([^\s\"'\\]{4,})"), "portal.nutanix.com: CSI volume driver secrets"),
)  # fmt: skip
# The format of GitHub and many others: a word for the kind, `_` or `-`, and random characters.
_PREFIXED = lazy_regex(r"(?<=[A-Za-z0-9][_-])[A-Za-z0-9]{30,255}(?![A-Za-z0-9_])")
# The beginning of a token at the end of a truncated line.
_CUT = lazy_regex(
    r"(?<![A-Za-z0-9])((?:gh[pousr]_|github_pat_|gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-|dckr_[po]at_|npm_|pypi-AgE|rubygems_|hv[sbr]\.|xox[a-z]-|xapp-|hf_|s[kr]k?_live_|whsec_|sk-(?:ant|proj)|SG\.|ya29\.|GOCSPX-|AIza|do[opr]_v1_|AGE-SECRET-KEY-|sha256~|dapi|pul-|glsa_|glc_|shp(?:at|ss|ca|pa)_|DHHC-1:\d\d:|dt0c01\.|tskey-|eyJ[\w-]{6}|AKIA|ASIA|dp\.(?:pt|st|ct|sa|scim|audit)\.|figd_|K10[0-9a-f]{64}::(?:[\w-]{1,64}:)?)[\w=+/.~-]{4,}"
    r"|SCRAM-SHA-\d{1,3}\$[\w+/=$:]{4,}|\$(?:2[aby]|[156y]|apr1|argon2(?:id|i|d))\$[\w./$=,+-]{4,}|(?<=secret_id[=:])\W{0,8}[0-9a-f-]{6,}"
    r"|(?<=key[=:])\s?AQ[\w+/]{4,}|(?<=key [=:])\s?AQ[\w+/]{4,})(?=\n|$)"
    r"|key\W{1,8}(AQ[\w+/]{6,})(?=\n|$)|(?:(?:AKIA|ASIA)[0-9A-Z]{16}\W{1,4}|(?<![\w-])(?:token|kubeconfig-(?:u|user)(?:-[a-z0-9]{1,20})?)-[a-z0-9]{5,10}(?:\.c-[a-z0-9-]{1,40})?:)([A-Za-z0-9/+]{6,})(?=\n|$)"
)


@cache
def numbers_by_anchor() -> tuple[Anchors, Mapping[str, Sequence[int]]]:
    """Return the anchors, and the numbers in TOKENS of each. Not at each start: it takes 2 ms."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, token in enumerate(TOKENS):
        for anchor in token.anchors:
            numbers[anchor].append(number)
    return Anchors(numbers), numbers


def spans(text: str, lowered: str, pairs: set[str]) -> Iterator[Span]:
    """Yield the spans of tokens in a text; `lowered` is the text in lower case, `pairs` are its pairs of characters."""
    anchors, numbers = numbers_by_anchor()
    for number in sorted({number for anchor in anchors.present(lowered, pairs) for number in numbers[anchor]}):
        token = TOKENS[number]
        for found in token.shape.finditer(text):
            if token.judge is None or token.judge(found[1]):
                yield found.span(1)
    yield from (found.span() for found in _PREFIXED.finditer(text) if _is_without_words(found[0]))
    for begins, ends in last_words(text):
        at = max(begins - len("Authorization: "), text.rfind("\n", 0, begins) + 1)  # a blank may stand before it
        yield from (found.span(found.lastindex or 0) for found in _CUT.finditer(text, at, ends))
