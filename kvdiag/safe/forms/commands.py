r"""Find secrets on command lines that no name precedes: each program has its own option.

curl -u user:…    mysql -p…    smbclient -U 'DOMAIN\user%…'    sqlplus user/…@db    echo … | cryptsetup luksOpen
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.safe.forms.value_spans import Span, bare

_Q = r"\\{0,8}[\"']"
_NEXT_ARGUMENT = rf"(?:[ =]{_Q}?|{_Q}, ?{_Q})"  # of a command line, or of a list of arguments
_FLAGGED = r"\b[^\n]{0,200}?[ \"']"  # from a program to one of its flags
_PORT = lazy_regex(r"\d{1,5}(?:[/?#]|$)|\[redacted\]$")
_GIVEN = lazy_regex(
    rf"(?:(?<![\w-])(?:-u|--user|--proxy-user|--(?:src-|dest-)?creds){_NEXT_ARGUMENT}[^\s:\"'\\-][^\s:\"'\\]{{0,63}}:"
    rf"|\bcurl{_FLAGGED}-u[^\s:\"'\\-][^\s:\"'\\]{{0,63}}:"
    rf"|\b(?:mysql|mysqldump|mysqladmin|mariadb|sshpass){_FLAGGED}-p(?:{_NEXT_ARGUMENT})?"
    rf"|\b(?:mongo\w{{0,8}}|(?:docker|podman|nerdctl|registry|az|oc)(?: |{_Q}, ?{_Q})login|kinit|net ads){_FLAGGED}-p{_NEXT_ARGUMENT}"
    rf"|\bldap[a-z]{{3,9}}{_FLAGGED}-w(?:{_NEXT_ARGUMENT})?|\bredis-cli{_FLAGGED}-a(?:{_NEXT_ARGUMENT})?"
    rf"|\bopenssl{_FLAGGED}-[kK]{_NEXT_ARGUMENT}|\b(?:unzip|zip|7z|ipmitool|ipmi-power){_FLAGGED}-[pP](?:{_NEXT_ARGUMENT})?"
    rf"|\b(?:psexec(?:\.exe|64)?{_FLAGGED}-p|mosquitto_\w{{2,8}}{_FLAGGED}-P|snmp\w{{2,12}}{_FLAGGED}-c){_NEXT_ARGUMENT}"
    rf"|\b(?:xfreerdp|wfreerdp|rdesktop|mstsc|cmdkey|net use)\b[^\n]{{0,200}}? /(?:p|pass):|\bschtasks\b[^\n]{{0,200}}? /rp "
    rf"|\blftp{_FLAGGED}-u{_NEXT_ARGUMENT}[\w.@-]{{1,64}},|\bmc (?:alias|config host) (?:set|add) [\w.-]{{1,64}} \S{{1,256}} \S{{3,128}} "
    rf"|\bcqlsh{_FLAGGED}-p{_NEXT_ARGUMENT}|\brabbitmqctl (?:-\S{{1,64}} )*(?:add_user|change_password|authenticate_user) \S{{1,128}} {_Q}?"
    rf"|\bceph dashboard ac-user-(?:create|set-password) (?:--\S{{1,64}} )*\S{{1,128}} {_Q}?|\b(?:enable|username \S{{1,64}}) (?:secret|password) \d "
    rf"|\bb2 (?:authorize-account|account authorize) \S{{12,64}} "
    rf"|\b(?:usermod|useradd){_FLAGGED}-p{_NEXT_ARGUMENT}|\bwpa_passphrase \S{{1,64}} {_Q}?"
    rf"|\bwbinfo{_FLAGGED}(?:-a|--authenticate){_NEXT_ARGUMENT}[^\s%\"']{{1,128}}%|\b(?:stats|[A-Z][A-Z0-9_]{{1,40}}_USER=?) ?(?:auth )?{_Q}?(?!system:)[\w.@-]{{1,64}}:"
    rf"|\bSETUSER \S{{1,64}} [^\n]{{0,200}}?>|\bauth-pass \S{{1,64}} |\bnet use (?:\w: )?\\\\\S{{1,256}} (?=\S{{1,128}} /user:)"
    rf"|\bhtpasswd(?: -\w{{1,8}})* -\w{{0,8}}b\w{{0,8}} \S{{1,256}} \S{{1,128}} "
    rf"|\bnet user {_Q}?[\w.$\\-]{{1,64}}{_Q}? |\bnet use\b[^\n]{{0,300}}?/user:\S{{1,128}} "
    rf"|\b(?:cryptsetup|passwd|chpasswd|login|sudo -S|kinit|gpg)\b[^\n]{{0,200}}?<<< ?{_Q}?)(?=[^\s\"'</-])"
)
_USER = lazy_regex(
    rf"(?i:(?:\buser(?:name)?=|(?<![\w-])-U(?:{_NEXT_ARGUMENT})?|--user{_NEXT_ARGUMENT}){_Q}?)[^\s,%\"'=]{{1,128}}%(?=[^\s!%\"'])"
)
_ORACLE = lazy_regex(
    rf"(?i:\b(?:sqlplus|rman|expdp|impdp|sqlldr)(?: +-\w{{1,16}})* +(?:userid=|target +)?{_Q}?[a-z][\w.$-]{{0,63}}/|\buserid={_Q}?[a-z][\w.$-]{{0,63}}/){_Q}?([^\s@\"'\\/][^\s@\"'\\]{{0,255}})"
    rf"|(?i:\bconn(?:ect)? +{_Q}?[a-z][\w.$-]{{0,63}}/)([^\s@\"'\\/][^\s@\"'\\/]{{0,255}})(?=@[\w/(]|\n|$)"
)
_SNMP = lazy_regex(rf"(?<=[ \"'])-[AX](?:{_NEXT_ARGUMENT})?(?=[^\s\"'-]{{8}})")
_OF_CONTAINER = lazy_regex(r"\b(?:docker|podman|nerdctl|runc|crun|ctr|kubectl)\b")
_ENVIRONMENT = lazy_regex(
    rf"(?<![\w-])(?:-e|--env){_NEXT_ARGUMENT}{_Q}?[A-Za-z_]\w{{0,127}}={_Q}?(?=[^\s\"']{{8}})(?=[^\s\"']*\d)(?=[^\s\"']*[A-Za-z])"
)
_LITERAL = lazy_regex(r"--from-literal[= ]\\*[\"']?[\w.-]{1,253}=(?=[^\s\"'])")
_PIPED = lazy_regex(
    r"(?i:pass\w{0,8}_?(?:command|cmd)=)\\*[\"']?(?:echo|printf) ([^\s\"'\\|$]{4,200})|"
    r"\b(?:echo|printf) (?:-[neE]{1,3} |\\*[\"']?%s(?:\\{1,8}n)?\\*[\"']? ){0,2}\\*[\"']?([^\s\"'\\|$]{4,200})\\*[\"']? ?\| ?(?:sudo )?(?:cryptsetup|docker login|podman login|helm registry|passwd|chpasswd|su\b|-S|kinit|openssl|gpg|smbclient)"
)
# Every command line with a password contains one of these.
ANCHORS = frozenset({"from-literal", "-u ", '-u"', "-u\\", "-u'", "-user", "mysql", "mariadb", "sshpass", "echo ", "curl", "creds", " login ", 'login"', "ldap", "redis-cli", "openssl", "unzip", "ipmi", "mongo", "<<<", "7z ", "snmp", "htpasswd", "net use", "psexec", "mosquitto_", "freerdp", "rdesktop", "cmdkey", "schtasks", "lftp", "cqlsh", "rabbitmqctl", "ceph dashboard", "enable secret", "enable password", "username ", "mc alias", "mc config", "b2 a", "printf ", "sqlplus", "rman", "expdp", "impdp", "sqlldr", "conn ", "connect ", "%", "userid=", "usermod", "useradd", "wpa_passphrase", "wbinfo", "stats auth", "_user=", "setuser ", "auth-pass ", "zip -", "-e ", "--env"})  # fmt: skip
_OF_ORACLE = frozenset({"sqlplus", "rman", "expdp", "impdp", "sqlldr", "conn ", "connect ", "userid="})

_GIVING = ANCHORS - _OF_ORACLE - {"echo ", "printf ", "%", "from-literal", "-e ", "--env"}


def spans(text: str, words: frozenset[str]) -> Iterator[Span]:
    """Yield the spans of the passwords. `words` are the anchors in the text."""
    if not words.isdisjoint(_GIVING):
        for found in _GIVEN.finditer(text):
            span = bare(text, found.end())
            if span and not _PORT.match(text[slice(*span)]) and not _is_group(text, found, span, words):
                yield span
    if words & {"-e ", "--env"} and _OF_CONTAINER.search(text):
        yield from (span for found in _ENVIRONMENT.finditer(text) if (span := bare(text, found.end())))
    if "snmp" in words:
        yield from (span for found in _SNMP.finditer(text) if (span := bare(text, found.end())))
    if "%" in text:
        yield from (span for found in _USER.finditer(text) if (span := bare(text, found.end())))
    if not words.isdisjoint(_OF_ORACLE) and "/" in text:
        yield from (found.span(found.lastindex or 0) for found in _ORACLE.finditer(text))
    if "from-literal" in words and "secret" in words:
        yield from (span for found in _LITERAL.finditer(text) if (span := bare(text, found.end())))
    if words & {"echo ", "printf "}:
        yield from (found.span(found.lastindex or 0) for found in _PIPED.finditer(text))


def _is_group(text: str, found: re.Match[str], span: Span, words: frozenset[str]) -> bool:
    """Return whether a daemon is started as a user and the group of the same name: `ntpd -u ntp:ntp`."""
    name = text[slice(*span)]
    return "curl" not in words and "//" not in text and found[0].endswith((f" {name}:", f"={name}:"))
