"""Java properties files, as ``highwater-node`` and Apache Kafka read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_ESCAPED: Final = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def render_properties(properties: Mapping[str, str | int | bool]) -> str:
    """One ``key=value`` a line, in the order given. Values are escaped as ``java.util.Properties`` wants them.

    Raises:
        ValueError: for a key that a properties file cannot hold without escapes: no property of Kafka's is one.
    """
    lines: list[str] = []
    for key, value in properties.items():
        if not key or any(character in key for character in " \t\r\n=:\\#!"):
            raise ValueError(f"{key!r} cannot be the name of a property")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        text = text.translate(_ESCAPED)
        # A leading space would be taken for the space around the equals sign.
        guard = "\\" if text.startswith(" ") else ""
        lines.append(f"{key}={guard}{text}\n")
    return "".join(lines)
