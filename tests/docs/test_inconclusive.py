"""docs/inconclusive.md has every sentence by which the code says that a run is inconclusive, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PARTS = ("chaos/highwater_chaos", "pipeline/highwater_pipeline")
LISTS: Final = ("reasons", "notes", "_uncertain")
"""Endings of the names of lists that have them."""
PLACES = ("_inconclusive_reason", "_unhealed", "reason", "changed")
"""Attributes that have one."""
TAKES_ONE = {"until": 2, "_note": 0, "_note_once": 0, "_unjudged": 1}
"""Functions, and which argument it is."""
GIVES_ONE = ("inconclusive_reason", "inconclusive_reasons", "notes", "too_little", "_missing_operations")
GIVES_ONE += ("troubles_in", "new_disks")
MAY_HAVE_ONE: Final = re.compile(
    r"inconclusive|reasons\.|notes\b|_note\(|_unjudged\(|until\(|_troubles|too_little|changed ="
)
"""Parsing every file would take seconds."""
NOT_REASONS = (": not judged on ", ": committed-loss is judged by ")
"""What a verdict says without being inconclusive for it."""


def words_of(node: ast.AST, known: dict[str, str]) -> Iterator[str]:
    """The strings of an expression, each with … in place of what differs; none if it has no words of its own."""
    match node:
        case ast.Lambda(body=inner) | ast.ListComp(elt=inner):
            yield from words_of(inner, known)
        case ast.List(elts=inner):
            for one in inner:
                yield from words_of(one, known)
        case ast.IfExp():
            yield from words_of(node.body, known)
            yield from words_of(node.orelse, known)
        case ast.JoinedStr() | ast.Constant(value=str()):
            text = ""
            for part in node.values if isinstance(node, ast.JoinedStr) else [node]:
                text += part.value if isinstance(part, ast.Constant) else known.get(ast.unparse(part.value), "…")
            if len(re.findall(r"[a-z]{2,}", text)) > 1 and not any(words in text for words in NOT_REASONS):
                yield re.sub(r"…[…\s]*…", "…", text).replace("its log ends:\n…", "its log ends: …")


def reasons_in(tree: ast.AST, known: dict[str, str]) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="append", value=to), args=[given]):
                if ast.unparse(to).endswith(LISTS):
                    yield from words_of(given, known)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=given) if name in TAKES_ONE:
                yield from words_of(given[TAKES_ONE[name]], known) if len(given) > TAKES_ONE[name] else ()
            case ast.AugAssign(target=to, value=given) if ast.unparse(to).endswith(LISTS):
                yield from words_of(given, known)
            case ast.Assign(targets=[ast.Attribute(attr=name) | ast.Subscript(value=ast.Attribute(attr=name))]):
                yield from words_of(node.value, known) if name in PLACES else ()
            case ast.FunctionDef(name=name) if name in GIVES_ONE:
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Return | ast.Yield | ast.Assign) and inner.value is not None:
                        yield from words_of(inner.value, known)
                    elif isinstance(inner, ast.Call) and ast.unparse(inner.func) == "found.append":
                        yield from words_of(inner.args[0], known)


def test_every_reason_has_its_cause_and_its_remedy(root: Path) -> None:
    texts = [path.read_text("utf-8") for part in PARTS for path in sorted((root / part).rglob("*.py"))]
    trees = [ast.parse(text) for text in texts if MAY_HAVE_ONE.search(text)]
    known = {
        node.target.id: node.value.value
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    given = {reason for tree in trees for reason in reasons_in(tree, known)}
    rows = re.findall(r"^\| (`.+?`) \| (.+) \| (.+) \|$", (root / "docs/inconclusive.md").read_text("utf-8"), re.M)
    shown = [reason for row in rows for reason in re.findall(r"`([^`]+)`", row[0])]
    assert len(shown) == len(set(shown))
    assert sorted(given - set(shown)) == [], "the page lacks these"
    assert sorted(set(shown) - given) == [], "the code has none of these"
