"""Java's properties format, as Kafka's configuration files have it, with the line of each property kept.

``key=value``, ``key: value`` or ``key value``; ``#`` and ``!`` begin comments; a backslash at the end of a line goes
on in the next; ``\\t``, ``\\n``, ``\\uXXXX`` and escaped characters as in Java. Unlike in Java, a property that is
given twice is an error: one of the two is a mistake.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from highwater_runtime.config import ConfigError


class Property(NamedTuple):
    """One property; ``where`` is ``file:line``."""

    name: str
    value: str
    where: str


_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_KEY: Final = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)


MOST_BYTES: Final = 1 << 20
"""Of a configuration file, with certificates in it."""


def read_properties(path: Path) -> dict[str, Property]:
    """The properties of a file, in its order.

    Raises:
        ConfigError: for a file that cannot be read, or a property given twice.
    """
    try:
        text = bounded_bytes(path, MOST_BYTES).decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: expected a configuration file, found: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: expected UTF-8 text, found: {error.reason} at byte {error.start}") from error
    found: dict[str, Property] = {}
    for number, line in _logical_lines(text):
        match = _KEY.match(line)
        assert match is not None, "the expression matches every line"
        name, value, where = _unescape(match[1]), _unescape(match[2]), f"{path}:{number}"
        if name in found:
            raise ConfigError(f"{where}: property {name!r} was given before, at {found[name].where}; keep one")
        found[name] = Property(name, value, where)
    return found


def bounded_bytes(path: Path, most: int) -> bytes:
    """What a regular file holds; links are followed. Waits for nothing, as a pipe would have it.

    Raises:
        OSError: it cannot be read, is no regular file, or has more than ``most`` bytes.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "no regular file")
        found = file.read(most + 1)
    if len(found) > most:
        raise OSError(errno.EFBIG, f"more than {most} bytes")
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with content, continuation lines joined, each with the number of its first."""
    begun, parts = 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.lstrip()
        if not parts:
            if not line or line[0] in "#!":
                continue
            begun = number
        trailing = len(line) - len(line.rstrip("\\"))
        if trailing % 2:
            parts += line[:-1]
            if parts:
                continue
        yield begun, (parts + line).rstrip() if trailing == 0 else parts + line
        parts = ""
    if parts:
        yield begun, parts


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPES.get(m[2], m[2]), text)
