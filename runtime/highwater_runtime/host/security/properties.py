"""Security properties of a node's file, looked up as Kafka does: first with the listener's prefix, then without.

``listener.name.internal.ssl.keystore.location`` holds for the listener INTERNAL alone, and before
``ssl.keystore.location``. A mechanism's own property has the mechanism in its name as well:
``listener.name.internal.scram-sha-256.sasl.jaas.config``. A name that means nothing here is an error: somebody who asks
for protection must not be left without it unawares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final, TypeVar

from highwater_runtime.config import ConfigError
from highwater_runtime.host.config.properties import Property

T = TypeVar("T")

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

OF_A_LISTENER: Final = (
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.key.password",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.certificates",
    "ssl.client.auth",
    "ssl.endpoint.identification.algorithm",
    "ssl.enabled.protocols",
    "sasl.enabled.mechanisms",
    "sasl.server.max.receive.size",
)
OF_A_MECHANISM: Final = ("sasl.jaas.config",)
OF_THE_NODE: Final = (
    "sasl.mechanism.inter.broker.protocol",
    "sasl.mechanism.controller.protocol",
    "highwater.scram.bootstrap",
    "highwater.authentication.timeout.ms",
    "super.users",
)
_PREFIX: Final = re.compile(r"listener\.name\.([^.]+)\.(.+)")


class SecurityProperties:
    """The security properties of one node. ``listeners``: names that a prefix may have.

    ``known``: why a property of this name is refused, None: it is not; absent: the names are those of nodes.
    """

    def __init__(
        self,
        properties: Mapping[str, Property],
        listeners: Iterable[str],
        known: Callable[[str], str | None] | None = None,
    ) -> None:
        self._properties = properties
        self._listeners = tuple(dict.fromkeys(name.lower() for name in listeners))
        self.problems: list[str] = []
        """What is wrong, one line each."""
        for name, found in properties.items():
            why = self._why_unknown(name) if known is None else known(name)
            if why is not None:
                self.problems.append(f"{found.where}: {why}")

    def _why_unknown(self, name: str) -> str | None:
        if name in OF_A_LISTENER or name in OF_THE_NODE:
            return None
        match = _PREFIX.fullmatch(name)
        rest = name
        if match is not None:
            listener, rest = match[1], match[2]
            if listener not in self._listeners:
                return f"property {name!r}: no listener is called {listener!r}; there are {', '.join(self._listeners)}"
            if rest in OF_A_LISTENER:
                return None
            mechanism, _, rest = rest.partition(".")
            if rest in OF_A_MECHANISM:
                if mechanism.upper() in MECHANISMS:
                    return None
                return f"property {name!r}: no mechanism is called {mechanism!r}; there are {', '.join(MECHANISMS)}"
        elif name in OF_A_MECHANISM:
            return f"property {name!r}: expected listener.name.<listener>.<mechanism>.{name}"
        near = get_close_matches(rest, [*OF_A_LISTENER, *OF_A_MECHANISM, *OF_THE_NODE], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"unknown property {name!r}, or one that is not supported{hint}"

    def find(self, name: str, listener: str = "") -> Property | None:
        """The property for ``listener``, or the one for all."""
        own = self._properties.get(f"listener.name.{listener.lower()}.{name}") if listener else None
        return own or self._properties.get(name)

    def take(self, name: str, expected: str, parse: Callable[[str], T], default: T, listener: str = "") -> T:
        """The value as ``parse`` understands it; a ``ValueError`` or ``OSError`` of it is a problem."""
        found = self.find(name, listener)
        if found is None:
            return default
        try:
            return parse(found.value)
        except (ValueError, OSError) as error:
            self.wrong(found, expected, str(error))
            return default

    def wrong(self, found: Property, expected: str, why: str) -> None:
        """Note that a property has a wrong value. Values are not shown: some are secret."""
        self.problems.append(f"{found.where}: property {found.name!r}: expected {expected} ({why})")

    def missing(self, name: str, expected: str) -> None:
        """Note that a property is needed."""
        self.problems.append(f"property {name!r} is missing: expected {expected}")

    def refuse(self) -> None:
        """Raise :class:`ConfigError` if anything is wrong."""
        if self.problems:
            raise ConfigError("\n".join(self.problems))


def words(text: str) -> list[str]:
    """Words separated by commas."""
    return [word for part in text.split(",") if (word := part.strip())]


def choice(*allowed: str) -> Callable[[str], str]:
    """A parser of one of ``allowed``."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"it is none of {', '.join(repr(word) for word in allowed)}")
        return text

    return parse


def mechanisms(text: str) -> tuple[str, ...]:
    """Parser of mechanisms, separated by commas."""
    found = tuple(word.upper() for word in words(text))
    for name in found:
        if name not in MECHANISMS:
            raise ValueError(f"{name} is none of {', '.join(MECHANISMS)}")
    if not found:
        raise ValueError("it is empty")
    return found


def positive(text: str) -> int:
    """Parser of a whole number above 0."""
    value = int(text)
    if value <= 0:
        raise ValueError("it must be above 0")
    return value


def readable(text: str) -> Path:
    """Parser of a file that can be read. Raises ``OSError``."""
    path = Path(text)
    path.open("rb").close()
    return path
