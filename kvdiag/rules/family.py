"""Expand a family of similar rules in one file: shared keys, and a `table` with one row per rule.

    title: "The provider <<provider>> is not installed"
    per: node
    table:
      - {id: KV701, name: provider-vault-missing, provider: vault}

A row's key that is a key of rules replaces the shared one. Any other key replaces `<<key>>` in the texts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from kvdiag.base.regex import lazy_regex
from kvdiag.base.suggestions import suggestion
from kvdiag.base.yamlread import Node

TABLE = "table"
_WORD = lazy_regex(r"<<([a-z][a-z0-9_]*)>>")


def members(node: Node, keys: Collection[str]) -> Iterator[Node]:
    """Yield one node per rule of the file; `keys` are the allowed keys of a rule.

    Raise PatternError for a `<<word>>` that a row lacks, or for a key of a row that is used nowhere.
    """
    if not isinstance(node.value, Mapping) or TABLE not in node.value:
        yield node
        return
    shared = {key: child for key, child in node.value.items() if key != TABLE}
    rows = node.value[TABLE].sequence()
    if not rows:
        raise node.value[TABLE].error("a table has at least one row")
    for row in rows:
        overrides = {key: child for key, child in row.table().items() if key in keys}
        words = {key: child for key, child in row.table().items() if key not in keys}
        used: set[str] = set()
        filled = {key: _filled(child, words, used) for key, child in {**shared, **overrides}.items()}
        for word in words.keys() - used:
            raise words[word].error(
                f"'{word}' is not a key of rules, and no text contains <<{word}>>{suggestion(word, keys)}"
            )
        yield row._replace(value=filled)


def _filled(node: Node, words: Mapping[str, Node], used: set[str]) -> Node:
    """Return the node with `<<word>>` replaced in its texts. A text that is only such a word becomes its node."""
    if isinstance(node.value, tuple):
        return node._replace(value=tuple(_filled(child, words, used) for child in node.value))
    if isinstance(node.value, Mapping):
        return node._replace(value={key: _filled(child, words, used) for key, child in node.value.items()})
    text = node.value
    for found in _WORD.finditer(text):
        if found[1] not in words:
            raise node.error(f"no row has a value for <<{found[1]}>>{suggestion(found[1], words)}")
        used.add(found[1])
    alone = _WORD.fullmatch(text)
    if alone:
        return words[alone[1]]._replace(line=node.line, column=node.column)
    return node._replace(value=_WORD.sub(lambda found: words[found[1]].text(), text))
