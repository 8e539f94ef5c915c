"""Tokens that are told by their own shape: what they begin with, as those who issue them document it.

Each has the text that a line must have in it, in lower case, before its pattern is tried; and where its shape is told.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kvdiag.regex import regex
from kvdiag.report.blot.values import Span


class Token(NamedTuple):
    """A kind of token: whose, the texts one of which it has, its shape (the group is what goes), and who tells so."""

    of: str
    anchors: tuple[str, ...]
    shape: re.Pattern[str]
    told_by: str
    judge: Callable[[str], bool] | None = None


_B = r"(?<![A-Za-z0-9])"  # where it begins


def _decoded(text: str) -> bytes:
    text = text[:400].replace("-", "+").replace("_", "/")
    return base64.b64decode(text[: len(text) & ~3], validate=False) if len(text) > 3 else b""


def _is_credentials(text: str) -> bool:
    """Whether base64 holds the logins of registries, a token's head, or the like, in JSON."""
    said = _decoded(text).lower()
    return any(word in said for word in (b"auth", b"passw", b"token", b"secret", b'"alg"', b'"typ"', b"_key", b'key"'))


def _is_private(text: str) -> bool:
    """Whether base64 holds a private key in PEM, and no certificate."""
    return b"PRIVATE KEY" in _decoded(text)


TOKENS = (
    Token("AWS: ids of access keys", ("akia", "asia", "abia", "acca"), regex(_B + r"((?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16})(?![0-9A-Za-z])"), "docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html"),
    Token("GitHub", ("gh",), regex(_B + r"(gh[pousr]_[0-9A-Za-z_]{20,255})"), "github.blog/changelog/2021-03-31-authentication-token-format-updates-are-generally-available"),
    Token("GitHub: fine-grained", ("github_pat_",), regex(_B + r"(github_pat_[0-9A-Za-z_]{20,255})"), "docs.github.com/authentication: token formats"),
    Token("GitLab", ("gl",), regex(_B + r"(gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[\w.-]{16,255})"), "docs.gitlab.com/security/tokens: token prefixes"),
    Token("Vault", ("hvs.", "hvb.", "hvr."), regex(_B + r"(hv[sbr]\.[\w-]{16,})"), "developer.hashicorp.com/vault/docs/concepts/tokens"),
    Token("Terraform Cloud", (".atlasv1.",), regex(_B + r"([0-9A-Za-z]{10,20}\.atlasv1\.[\w=-]{40,})"), "developer.hashicorp.com/terraform/cloud-docs: API tokens"),
    Token("Slack", ("xox", "xapp-"), regex(_B + r"(xox[abcdeoprs](?:\.xox[bp])?-[\w.-]{8,}|xapp-[\w-]{10,})"), "api.slack.com/concepts/token-types"),
    Token("Slack, Discord, Teams: webhooks", ("hooks.slack.com/", "/api/webhooks/", "webhook.office.com/"), regex(r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|webhook\.office\.com/webhookb2)/([\w@/.-]{8,})"), "api.slack.com/messaging/webhooks"),
    Token("npm", ("npm_",), regex(_B + r"(npm_[0-9A-Za-z]{20,})"), "github.blog/changelog: npm has a new access token format"),
    Token("PyPI", ("pypi-",), regex(_B + r"(pypi-AgE[\w-]{20,})"), "pypi.org/help/#apitoken"),
    Token("Stripe", ("_live_", "_test_", "whsec_"), regex(_B + r"((?:[spr]k_(?:live|test)|whsec)_[0-9A-Za-z+/=]{10,})"), "docs.stripe.com/keys"),
    Token("SendGrid", ("sg.",), regex(_B + r"(SG\.[\w-]{16,}\.[\w-]{16,})"), "docs.sendgrid.com: API keys"),
    Token("Google: API keys", ("aiza",), regex(_B + r"(AIza[\w-]{30,40})"), "cloud.google.com/docs/authentication/api-keys"),
    Token("Google: OAuth", ("ya29.", "gocspx-", "1//0"), regex(_B + r"(ya29\.[\w.-]{16,}|GOCSPX-[\w-]{20,}|1//0[\w-]{30,})"), "developers.google.com/identity/protocols/oauth2"),
    Token("Azure: client secrets", ("q~",), regex(r"(?<![\w~.-])([\w~.-]{3}\dQ~[\w~.-]{30,40})"), "learn.microsoft.com: Azure AD client secret entity definition"),
    Token("Docker Hub", ("dckr_",), regex(_B + r"(dckr_(?:pat|oat)_[\w-]{16,})"), "docs.docker.com/security/access-tokens"),
    Token("DigitalOcean", ("_v1_",), regex(_B + r"(do[opr]_v1_[0-9a-f]{32,})"), "docs.digitalocean.com/reference/api: token prefixes"),
    Token("Doppler", ("dp.",), regex(_B + r"(dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,})"), "docs.doppler.com/reference/auth-token-formats"),
    Token("OpenAI, Anthropic", ("sk-",), regex(_B + r"(sk-(?:ant-|proj-|svcacct-|admin-)?[\w-]{20,})"), "platform.openai.com, docs.anthropic.com: API keys", lambda text: any(c.isdigit() for c in text) and any(c.isupper() for c in text)),
    Token("Hugging Face", ("hf_",), regex(_B + r"(hf_[0-9A-Za-z]{30,})"), "huggingface.co/docs/hub/security-tokens"),
    Token("Grafana", ("glsa_", "glc_"), regex(_B + r"(glsa_[0-9A-Za-z]{20,}_[0-9a-f]{8}|glc_[\w+/=]{30,})"), "grafana.com/docs: service account tokens"),
    Token("Databricks, Pulumi, New Relic, Linear, Shopify, Square", ("dapi", "pul-", "nrak-", "lin_", "shp", "sq0"), regex(_B + r"(dapi[0-9a-f]{32}(?:-\d)?|pul-[0-9a-f]{40}|NRAK-[0-9A-Z]{27}|lin_api_[0-9A-Za-z]{40}|shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}|sq0(?:atp|csp)-[\w-]{22,})"), "each vendor's documentation of its API keys"),
    Token("Atlassian", ("atatt", "atctt", "atbb"), regex(_B + r"(AT(?:ATT|CTT)3[\w=-]{40,}|ATBB[0-9A-Za-z]{24,})"), "support.atlassian.com: API tokens"),
    Token("Telegram: bots", (":aa",), regex(r"(?<!\d)(\d{8,10}:AA[\w-]{33})(?![\w-])"), "core.telegram.org/bots/api"),
    Token("age", ("age-secret-key-1",), regex(r"(AGE-SECRET-KEY-1[0-9A-Z]{40,})"), "age-encryption.org/v1"),
    Token("OpenStack: Fernet", ("gaaaaa",), regex(_B + r"(gAAAAA[\w-]{40,}={0,2})"), "docs.openstack.org/keystone: Fernet tokens"),
    Token("Ceph", ("aq",), regex(r"(?<![\w+/])(AQ[A-Za-z0-9+/]{36,37}==?)(?![\w=])"), "docs.ceph.com/en/latest/rados/operations/user-management"),
    Token("Kubernetes: bootstrap", ("token", "bootst", "join"), regex(r"(?<![\w./-])[a-z0-9]{6}\.([A-Za-z0-9]{16})(?![\w./-])"), "kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens", lambda text: any(c.isdigit() for c in text)),
    Token("hashes of passwords", ("$",), regex(r"(\$(?:2[aby]|[156y]|apr1|argon2(?:id|i|d))\$[\w./$=,+-]{20,})"), "crypt(5)"),
    Token("JWT", ("eyj",), regex(r"(?<![\w+/-])(eyJ[\w-]{8,}\.[\w-]{8,}={0,2}(?:\.[\w=-]*)*)"), "RFC 7519"),
    Token("base64 of JSON with credentials", ("eyj", "ewo", "ewk", "eya"), regex(r"(?<![\w+/-])(e(?:yJ|wo|wk|yA)[\w+/-]{14,}={0,2})"), "RFC 4648", _is_credentials),
    Token("base64 of a private key", ("ls0tls1crudjt",), regex(r"(?<![\w+/-])(LS0tLS1CRUdJT[\w+/-]{8,}={0,2})"), "RFC 7468", _is_private),
)  # fmt: skip
ANCHORS = tuple((anchor, number) for number, token in enumerate(TOKENS) for anchor in token.anchors)


def spans(text: str, lowered: str) -> Iterator[Span]:
    """Where the tokens are in a text, which is given in lower case, too."""
    present = [number for anchor, number in ANCHORS if anchor in lowered]
    for number in sorted(set(present)):
        token = TOKENS[number]
        for found in token.shape.finditer(text):
            if token.judge is None or token.judge(found[1]):
                yield found.span(1)
