"""The fixes that can be switched off, so that the harness proves that it finds the bug.

A switch changes exactly one rule, in one place, and its name is the name of the rule. The default of every switch is
the fixed behaviour. Cores read switches as attributes of :class:`Switches`; experiment files and the command line
name them as in :data:`SWITCHES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

Mode = Literal["kraft", "zookeeper"]
_KRAFT: Final[tuple[Mode, ...]] = ("kraft",)
_ZOOKEEPER: Final[tuple[Mode, ...]] = ("zookeeper",)


@dataclass(frozen=True, slots=True)
class Switch:
    """One rule that can be turned off: its allowed values, the fixed one first, and the document it comes from."""

    name: str
    values: tuple[str, ...]
    source: str
    rule: str
    modes: tuple[Mode, ...] = ("kraft", "zookeeper")
    """The modes of a cluster in which there is such a rule."""

    @property
    def default(self) -> str:
        """The fixed behaviour."""
        return self.values[0]


SWITCHES: Final[Mapping[str, Switch]] = {
    switch.name: switch
    for switch in (
        Switch(
            "replica-epoch-check",
            ("on", "off"),
            "KIP-903",
            "a replica whose broker epoch from Fetch differs from its registration may not join the ISR",
            _KRAFT,
        ),
        Switch(
            "stale-fetch-check",
            ("on", "off"),
            "KAFKA-15221",
            "a leader ignores a Fetch that an earlier incarnation of the follower's broker sent",
            _KRAFT,
        ),
        Switch(
            "refusal-moves-epoch",
            ("on", "off"),
            "KIP-497",
            "a controller that refuses an ineligible replica raises the partition epoch, which ends the proposal",
            _KRAFT,
        ),
        Switch(
            "proposal-kept",
            ("on", "off"),
            "KIP-497",
            "metadata with the partition epoch of an ISR proposal does not end the proposal",
            _KRAFT,
        ),
        Switch(
            "pre-vote",
            ("on", "off"),
            "KIP-650",
            "a voter asks whether it would be elected before it bumps the epoch",
            _KRAFT,
        ),
        Switch(
            "quorum-state-sync",
            ("on", "off"),
            "KIP-595",
            "a voter's epoch and vote are on its disk before it responds to a vote request or sends one",
            _KRAFT,
        ),
        Switch(
            "read-offset",
            ("confirmed", "unconfirmed"),
            "KIP-650",
            "a leader confirms its leadership before it responds to ReadOffset",
            _KRAFT,
        ),
        Switch(
            "truncation-sync",
            ("on", "off"),
            "Apache Kafka syncs nothing when it truncates",
            "a truncation is on the follower's disk before the follower appends again",
        ),
        Switch(
            "init-leaderless-isr",
            ("off", "on"),
            "Detailed Replication Design V3, D step 6",
            "a new controller never makes all live replicas the ISR of a partition that lost its leader",
            _ZOOKEEPER,
        ),
        Switch(
            "unclean-leader-election",
            ("off", "on"),
            "Detailed Replication Design V3, A step 3.2",
            "a replica outside the ISR does not lead, unless unclean.leader.election.enable allows it",
        ),
        Switch(
            "isr-expansion-rule",
            ("caught-up", "as-printed"),
            "Detailed Replication Design V3, G",
            "a replica joins the ISR when it has all committed records, not when it has few more than the ISR's last",
            _ZOOKEEPER,
        ),
        Switch(
            "truncation",
            ("fenced", "by-exact-leader-epoch", "by-leader-epoch", "as-1.1.1", "to-high-watermark"),
            "KIP-320, KIP-279, KIP-101, Design V3",
            "how a follower finds the offset at which its log diverges from its leader's, as releases of Kafka did",
        ),
        Switch(
            "stray-cleanup",
            ("on", "off"),
            "KAFKA-7362",
            "a broker sets aside logs that are no longer assigned to it, once it knows all of its assignments",
        ),
        Switch(
            "controller-epoch-fencing",
            ("on", "off"),
            "Detailed Replication Design V3, D",
            "a broker refuses the commands of a controller once it has heard of a later one",
            _ZOOKEEPER,
        ),
        Switch(
            "stale-command-check",
            ("on", "off"),
            "Apache Kafka has no such rule",
            "a broker refuses a late copy of a command once it has taken a later command of that controller",
            _ZOOKEEPER,
        ),
    )
}


class SwitchError(ValueError):
    """An unknown switch, or a value that it does not take."""


@dataclass(frozen=True, slots=True)
class Switches:
    """The switches in force in one cluster."""

    replica_epoch_check: Literal["on", "off"] = "on"
    stale_fetch_check: Literal["on", "off"] = "on"
    refusal_moves_epoch: Literal["on", "off"] = "on"
    proposal_kept: Literal["on", "off"] = "on"
    pre_vote: Literal["on", "off"] = "on"
    quorum_state_sync: Literal["on", "off"] = "on"
    read_offset: Literal["confirmed", "unconfirmed"] = "confirmed"
    truncation_sync: Literal["on", "off"] = "on"
    init_leaderless_isr: Literal["off", "on"] = "off"
    unclean_leader_election: Literal["off", "on"] = "off"
    isr_expansion_rule: Literal["caught-up", "as-printed"] = "caught-up"
    stray_cleanup: Literal["on", "off"] = "on"
    controller_epoch_fencing: Literal["on", "off"] = "on"
    stale_command_check: Literal["on", "off"] = "on"
    truncation: Literal["fenced", "by-exact-leader-epoch", "by-leader-epoch", "as-1.1.1", "to-high-watermark"] = (
        "fenced"
    )

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Switches:
        """From names as in :data:`SWITCHES`.

        Raises:
            SwitchError: for an unknown name or value.
        """
        fields: dict[str, str] = {}
        for name, value in values.items():
            check_switch(name, value)
            fields[name.replace("-", "_")] = value
        return cls(**fields)  # type: ignore[arg-type]


def check_switch(name: str, value: str) -> None:
    """Raise :class:`SwitchError` unless ``name`` may be set to ``value``."""
    switch = SWITCHES.get(name)
    if switch is None:
        near = get_close_matches(name, SWITCHES, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise SwitchError(f"unknown switch {name!r}; {hint}known are {', '.join(sorted(SWITCHES))}")
    if value not in switch.values:
        raise SwitchError(f"switch {name!r}: expected {' or '.join(switch.values)}, found {value!r}")
