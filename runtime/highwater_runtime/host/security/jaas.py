"""JAAS configuration: the one line in which Kafka keeps who logs in, and which users PLAIN knows.

``org.apache.kafka.common.security.plain.PlainLoginModule required username="broker" password="b" user_alice="a";``
Values are between quotes, double or single, where a backslash escapes; ``user_<name>`` are the users of a PLAIN server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_OPTION: Final = re.compile(
    r'\s*([A-Za-z0-9_.@+\-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|([^\s;"\']+))'
)
_HEAD: Final = re.compile(r"\s*([A-Za-z0-9_.$]+)\s+(required|requisite|sufficient|optional)")
_MODULES: Final = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
}
_USER: Final = "user_"


@dataclass(frozen=True, slots=True)
class Jaas:
    """One login module. ``username`` and ``password`` are what the node itself logs in with, None where not given."""

    username: str | None = None
    password: str | None = field(default=None, repr=False)
    users: dict[str, str] = field(default_factory=dict, repr=False)


def parse_jaas(text: str, mechanism: str) -> Jaas:
    """Read the configuration of ``mechanism``.

    Raises:
        ValueError: it is not one, or of another mechanism's module; the message shows no secret.
    """
    head = _HEAD.match(text)
    if head is None:
        raise ValueError("it does not begin with '<login module> required'")
    module = head[1].rpartition(".")[2]
    if module != _MODULES[mechanism]:
        raise ValueError(f"{mechanism} needs {_MODULES[mechanism]}, not {module}")
    options: dict[str, str] = {}
    position = head.end()
    while (match := _OPTION.match(text, position)) is not None:
        quoted = match[3] if match[2] is None else match[2]
        value = match[4] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        options[match[1]] = value
        position = match.end()
    if text[position:].strip() != ";":
        raise ValueError("it does not end with ';' behind its last option, or an option is malformed")
    username, password = options.pop("username", None), options.pop("password", None)
    if (username is None) != (password is None):
        raise ValueError("username and password go together")
    users = {name.removeprefix(_USER): value for name, value in options.items() if name.startswith(_USER)}
    others = [name for name in options if not name.startswith(_USER)]
    if others or (users and mechanism != "PLAIN"):
        unknown = ", ".join([*others, *(f"{_USER}{name}" for name in users if mechanism != "PLAIN")])
        raise ValueError(f"{module} has no option {unknown}")
    return Jaas(username, password, users)
