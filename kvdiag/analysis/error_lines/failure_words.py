"""Whether the words of a message report a failure, for lines that no level marks.

    failed to find disk by lun 3                                       it begins as errors do
    mount.nfs: access denied by server while mounting 192.0.2.5:/a     it names a cause
    no valid IPv4 addresses found on the host interfaces               something is missing

These do not: `no certificate found for host a, issuing a new one`, `Creating volume data: 10 GiB`, and what a person
writes about a log, `We could not find the error`.
"""

from __future__ import annotations

from kvdiag.base.regex import lazy_regex
from kvdiag.model.error_anatomy import PLAIN, STRONG

_AS_ERRORS_BEGIN = lazy_regex(
    r"(?!Unable to find image ')"  # docker says so before it pulls
    r"(?:(?:[^\n]{0,200}(?::|\S ) {1,8})?(?:[Ff]ailed|[Uu]nable|[Cc]annot|[Cc]an't|[Cc]ould(?: not|n't)) (?:to )?\w+ \S"
    r"|(?:[^\n]{0,200}: {1,8})?[Ff]ail to \w+ \S|[A-Z][\w. ]{2,60} failed for volume \S|0/\d+ nodes are available: "
    r"|[^\n]{0,200}?avc: {1,2}denied {1,2}\{"
    r"|[Ee]rror \w+ing \S|[Ee]rror response from daemon: \S|OCI runtime \w+ failed: "
    r"|[\w@.\\-]{1,80}\.service: (?:Main process exited, code=(?!exited, status=0/)|Failed with result"
    r"|start operation timed)"
    r"|(?:open|l?stat|mkdir|read|write|l?chown|chmod|rename|remove|unlinkat|readlink|fork/exec|dial \w+)"
    r" [\"/\d][^:\n]*: \w|[^\n]{0,200}?rpc error: code = (?!OK\b)\w"
    r"|(?:Get|Post|Put|Patch|Head|Delete) \"?https?://\S{1,300}: \w|exec: \"[^\"\n]{1,300}\": \w"
    r"|[^\n]{0,400}?\bfailed(?: with \w[^:\n]{0,80})?: [A-Za-z\"'/\[({]|(?!0 )[^\n]{0,400}?[a-z\"'] failed with \w)"
)
# What is missing or used up. A plural alone is the answer to a question: "No events found in shop namespace".
_IS_MISSING = lazy_regex(
    r"[Nn]o (?!match(?:es|ing)? |(?:\w+ )?matching \w+s |\w+s found )\w[\w ]{1,60} found (?:for|in|on|at|with) \S"
    r"|[^\n]{5,300}?\b(?:reached (?:the |its )?(?:limit|maximum)"
    r"|(?:limit|quota|maximum)\b(?![^\n]{0,40} not )[^\n]{0,40} (?:reached|exceeded))\b"
    r"|[^\n]{0,300}?\b(?:didn't|did not|does not|doesn't) (?:find|have|match|support) \S"
)
# It is none under a condition, nor where the line says what is done instead.
_GOES_ON = lazy_regex(
    r"(?:[Ii]f|[Ww]hen|[Ww]henever|[Uu]nless|[Uu]ntil|[Ww]hether|[Mm]ake sure|[Ee]nsure) |[^\n]{0,400}?(?:"
    r" (?:if|when|whenever|unless|until|whether) "
    r"|(?:[,;.]| -) (?:(?:so|now|thus|it|we|and|is|are|not|then|instead|going to|will be|have to) ){0,4}(?:will\b"
    r"|(?!retrying|exiting|aborting|giving|failing|stopping|waiting|missing|including|refusing|rejecting)[a-z]{2,20}ing\b"
    r"|(?:default|continue|fall back|ignore|proceed|use|skip|create|issue)(?:d|s|ped)?\b))"
)
# What a person writes about a log, or in a script.
_BY_A_PERSON = lazy_regex(
    r"(?:if |for |while |then |echo |RUN |[^\n]{0,400}?[;&|] {0,4}(?:then )?echo [\"'])|"
    r"(?:(?:I|We|My|Our|You|However|Also|But|So|Now|Before|After|While),? [a-z]|(?:Hi|Hello|Hey)\b)"
    r"|[^\n]{0,400}?(?:^|[ ,.(])(?:I|I'm|I've|I'd|my|we|our) [a-z]"
)

# A line that says what is done next, without a word of a failure, has no cause whatever it names.
_DOES_NEXT = lazy_regex(r"(?:\[[^\]\n]{1,40}\] {1,4}){0,4}[A-Z][a-z]{1,20}ing [\w\"'/-]")
_BAD_WORDS = lazy_regex(
    r"(?i)fail|err(?:or|:|=)|\b(?:cannot|can't|could ?n[o']t|unable|not|no|without|bad|wrong|lost|busy|stale|too)\b"
    r"|time(?:d )?-?out|denied|refused|invalid|missing|killed|exceeded|exhausted|is full|rejected|forbidden|exited "
    r"|panic|conflict|expired|unknown|unreachable|unsupported|mismatch|insufficient|interrupted|reset|limit"
)


def is_failure(text: str) -> bool:
    """Return whether a message begins as errors do, or names a cause by itself."""
    if not text or _BY_A_PERSON.match(text):
        return False
    if _DOES_NEXT.match(text) and not _BAD_WORDS.search(text):
        _, colon, outcome = text.partition(": ")
        return bool(colon) and _names_cause(outcome, PLAIN)
    if _AS_ERRORS_BEGIN.match(text) or (_IS_MISSING.match(text) and not _GOES_ON.match(text)):
        return True
    return _names_cause(text, PLAIN if ": " in text else STRONG)


def _names_cause(text: str, least: int) -> bool:
    from kvdiag.anatomy.error import read_error  # a slow import that a log of a known format need not wait for

    anatomy = read_error(text, redact=False)
    return anatomy.strength >= least and not anatomy.note
