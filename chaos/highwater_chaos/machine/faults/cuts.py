"""One-way cuts: nftables rules in the receiver's own namespace drop what comes from one address.

Where the receiver is out of reach (a pod on another machine), the sender can drop what it sends instead: ``outgoing``.

A cut is one rule. Two cuts of the same pair are two rules, so that each heals on its own and the pair is connected
again when the last is gone. Dropping at the receiver, before connection tracking or sockets see the packet, hits old
and new connections alike and leaves the way back open, as a one-way fault must. The evidence is
a probe that no longer comes through (``network.reach``); the rule also counts what it dropped.
"""

from __future__ import annotations

import ipaddress
import json
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Self

from annotated_types import Ge, Le, MaxLen, Predicate

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.faults.node_fault import MachineNode, Part, Seen
from highwater_chaos.machine.network.link_probes import answering, send_from, send_to
from highwater_chaos.machine.network.namespaces import FOREIGN, in_namespace, place_of


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


Address = Annotated[str, MaxLen(45), Predicate(_is_address)]
"""IPv4 or IPv6."""
Port = Annotated[int, Ge(1), Le(65535)]
TABLE: Final = "highwater"
CHAIN: Final = "cuts"
CHAIN_OUT: Final = "cuts-out"
_BEFORE_CONNECTION_TRACKING: Final = -300
_ANSWERS_WITHIN: Final = 3.0
_SILENT_FOR: Final = 0.7
"""Seconds."""
_LOOK_AGAIN: Final = 0.01
"""Seconds between two looks at a counter."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Packets from the address ``source`` that arrive in ``namespace`` are dropped; with ``outgoing`` those that
    ``namespace`` sends to it."""

    KIND: ClassVar[str] = "cut"
    ALONE: ClassVar[bool] = False
    ACTS_ON: ClassVar[Part] = "network"
    MAY_END_NODES: ClassVar[bool] = False
    namespace: str
    source: str
    mark: str = field(default_factory=lambda: "highwater:" + secrets.token_hex(8))
    outgoing: bool = False
    port: int = 0
    """A TCP port of the other side, by which the cut can be seen."""

    @classmethod
    def on(cls, node: MachineNode, /, peer: Address, probe_port: Port, outgoing: bool = False) -> Self:
        return cls(node.network(), str(ipaddress.ip_address(peer)), outgoing=outgoing, port=probe_port)

    def make(self, held: Sequence[int]) -> Self:
        """Add the rule (and the table and chain, where this is the first cut)."""
        hook = "output" if self.outgoing else "prerouting"
        chain = {"family": "inet", "table": TABLE, "name": self._chain(), "type": "filter", "hook": hook}
        protocol = "ip6" if ipaddress.ip_address(self.source).version == 6 else "ip"
        rule = {
            "family": "inet",
            "table": TABLE,
            "chain": self._chain(),
            "comment": self.mark,
            "expr": [
                {
                    "match": {
                        "op": "==",
                        "left": {"payload": {"protocol": protocol, "field": "daddr" if self.outgoing else "saddr"}},
                        "right": self.source,
                    }
                },
                {"counter": None},
                {"drop": None},
            ],
        }
        _nft(
            self.namespace,
            [
                {"add": {"table": {"family": "inet", "name": TABLE}}},
                {"add": {"chain": {**chain, "prio": _BEFORE_CONNECTION_TRACKING, "policy": "accept"}}},
                {"add": {"rule": rule}},
            ],
            held,
        )
        return self

    def undo(self) -> None:
        for rule in self._rules():
            handle = {"family": "inet", "table": TABLE, "chain": self._chain(), "handle": rule["handle"]}
            _nft(self.namespace, [{"delete": {"rule": handle}}])
        self._tidy()

    def left(self) -> str | None:
        return f"rule against {self.source} in {self.namespace}" if self._rules() else None

    def describe(self) -> str:
        """Whom it cuts off from whom."""
        return f"packets {'to' if self.outgoing else 'from'} {self.source} dropped in {self.namespace}"

    def dropped(self) -> int:
        """Evidence: how many packets the rule has dropped so far. 0 where there is no rule."""
        return sum(
            int(part["counter"]["packets"]) for rule in self._rules() for part in rule["expr"] if "counter" in part
        )

    def dropped_by_all(self) -> int:
        """The same of every cut of this pair and direction: of two, the one made first drops what the other would."""
        return sum(
            int(part["counter"]["packets"])
            for rule in _all_rules(self.namespace)
            if rule["chain"] == self._chain()
            and self.source in (part["match"]["right"] for part in rule["expr"] if "match" in part)
            for part in rule["expr"]
            if "counter" in part
        )

    def counts(self, provoke: Callable[[], object], within: float = 5.0) -> int:
        """Send something across the cut with ``provoke`` and return how many packets the cuts of this pair and
        direction dropped since then; 0: none in ``within`` seconds. On a busy machine a packet arrives late, so this
        waits for the counter."""
        before, deadline = self.dropped_by_all(), time.monotonic() + within
        provoke()
        while (dropped := self.dropped_by_all() - before) == 0 and time.monotonic() < deadline:
            time.sleep(_LOOK_AGAIN)
        return dropped

    def seen(self, *, closely: bool = True) -> Seen:
        """By datagrams that bear the address of the other side (of an outgoing cut: that are sent to it), which the
        rule counts, and by a connection to the other side. The first needs nothing of it: it may be cut off the other
        way, or down. Of two cuts of one pair the one made first drops what the other would: their sum is looked at."""
        if place_of(self.namespace) is None:
            return Seen("the network is gone, and its rules with it", False, True, {})
        there, details = self.left() is not None, {"peer": self.source, "port": self.port}
        if not closely:
            dropped = self.dropped()
            return Seen(f"{self.describe()}: {dropped} so far", there, not there, {**details, "dropped": dropped})
        within = _SILENT_FOR if there else _ANSWERS_WITHIN
        answers = bool(answering(self.namespace, [(self.source, self.port)], within))
        says = "answers" if answers else "does not answer"
        if not there:
            # One that another fault still cuts, or that is down, stays silent: that is no fault of this one.
            saw = f"no rule against {self.source} is left; port {self.port} {says}"
            return Seen(saw, False, True, {**details, "answers": answers})
        send, ipv6 = send_to if self.outgoing else send_from, ":" in self.source
        dropped = self.counts(lambda: send(self.namespace, self.source)) if self.outgoing or not ipv6 else 0
        provoked = dropped > 0 or (ipv6 and self.dropped_by_all() > 0)
        saw = f"{dropped} probes {'to' if self.outgoing else 'from'} {self.source} were dropped; "
        saw += f"its port {self.port} {says} across the cut"
        return Seen(saw, provoked and not answers, False, {**details, "dropped": self.dropped()})

    def _tidy(self) -> None:
        """In a namespace of another owner not even an empty table stays behind. Cuts of one namespace are made and
        undone under one run's lock, so none is being added meanwhile."""
        if not self.namespace.startswith(FOREIGN) or place_of(self.namespace) is None:
            return
        listed = _nft(self.namespace, [{"list": {"ruleset": None}}])
        ours = [
            kind for item in listed for kind, what in item.items() if TABLE in (what.get("table"), what.get("name"))
        ]
        if "table" in ours and "rule" not in ours:
            _nft(self.namespace, [{"delete": {"table": {"family": "inet", "name": TABLE}}}])

    def _chain(self) -> str:
        return CHAIN_OUT if self.outgoing else CHAIN

    def _rules(self) -> list[dict[str, Any]]:
        return [rule for rule in _all_rules(self.namespace) if rule.get("comment") == self.mark]


def _all_rules(namespace: str) -> list[dict[str, Any]]:
    if place_of(namespace) is None:
        return []
    listed = _nft(namespace, [{"list": {"ruleset": None}}])
    return [item["rule"] for item in listed if "rule" in item and item["rule"]["table"] == TABLE]


def _nft(namespace: str, commands: list[dict[str, Any]], held: Sequence[int] = ()) -> list[dict[str, Any]]:
    program = shutil.which("nft", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        raise MachineError("nft is not installed; install the Debian package nftables")

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603
            [program, "-j", "-a", "-f", "-"],
            input=json.dumps({"nftables": commands}),
            capture_output=True,
            text=True,
            check=False,
            pass_fds=tuple(held),
        )

    done = in_namespace(namespace, run)
    if done.returncode != 0:
        raise MachineError(f"nft in {namespace} failed: {done.stderr.strip()}")
    return list(json.loads(done.stdout)["nftables"]) if done.stdout.strip() else []
