"""Where a text stops being PromQL: the parser only says that it does.

The place is the first token after which nothing that could follow would make sense: each beginning of the text is
completed in every way that matters to the grammar (brackets closed, an operand added), and the parser asked again.
Complaints about types and names come from the parser as they are: they name what they mean.
"""

from __future__ import annotations

import re
from typing import Any, Final

import promql_parser as grammar

from highwater_chaos.promql.language import FUNCTIONS

_TOKEN: Final = re.compile(
    r"""\s+|\#[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|[a-zA-Z_:][\w:]*|[0-9.][\w.]*|=~|!~|[=!<>]=|.""",
    re.DOTALL,
)
_RAW_STRING: Final = re.compile(r"""#[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(`[^`]*`)""", re.DOTALL)
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_FILLERS: Final = {
    "{": ("", 'x=""', '=""', '""'),
    "[": ("", "1m", ":"),
    "(": ("", "x", "x[1m]", " (x)", " (x) x", "(x) (x)"),
    "": ("",),
}
_ENDS: Final = ("", " x", " (x)", " (x) x", " (x) (x)", " 1m")
_SYNTAX: Final = (
    "invalid promql query",
    "unexpected",
    "unterminated",
    "bad number",
    "no expression",
    "invalid label",
    "unclosed",
)
_UNKNOWN: Final = re.compile(r"unknown function with name '(.*)'")


def tree_of(text: str) -> Any:
    """What the parser makes of ``text``. In a raw string (between backticks) a backslash is a character like others,
    which the parser does not know; so it gets each as a string between quotation marks.

    Raises:
        ValueError: the parser refuses it.
    """
    return grammar.parse(_RAW_STRING.sub(lambda found: _escaped(found[1][1:-1]) if found[1] else found[0], text))


def _escaped(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def complaint(text: str, message: str) -> str:
    """What is wrong with ``text``, which the parser has refused with ``message``."""
    if not text.strip():
        return "expected an expression, found nothing"
    if unknown := _UNKNOWN.match(message):
        return f"unknown function {unknown[1]!r}; supported functions: {', '.join(sorted(FUNCTIONS))}"
    if not message.startswith(_SYNTAX):
        return message
    at = _place(text)
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    detail = "" if message == "invalid promql query" else f": {message}"
    if at == len(text):
        return f"syntax error at line {line}, column {column}: something is missing at the end{detail}"
    token = _TOKEN.match(text, at)
    assert token is not None
    return f"syntax error at line {line}, column {column}, at {token[0]!r}{detail}"


def _place(text: str) -> int:
    for token in _TOKEN.finditer(text):
        if not token[0].isspace() and not _can_go_on(text[: token.end()]):
            return token.start()
    return len(text)


def _can_go_on(beginning: str) -> bool:
    inside: list[str] = []
    for token in _TOKEN.finditer(beginning):
        if token[0] in _CLOSING:
            inside.append(token[0])
        elif token[0] in _CLOSING.values() and inside:
            inside.pop()
    closing = "".join(_CLOSING[one] for one in reversed(inside))
    return any(
        _is_accepted(f"{beginning}{filler}{closing}{end}")
        for filler in _FILLERS[inside[-1] if inside else ""]
        for end in _ENDS
    )


def _is_accepted(text: str) -> bool:
    try:
        tree_of(text)
    except ValueError as error:
        return not str(error).startswith(_SYNTAX)
    return True
