"""``metadata.version``: the feature level that gates what a cluster may write and send during a rolling upgrade.

Numbers and names are Apache Kafka's settled ones. Levels below 3.3-IV3 are left out (Kafka 4 refuses them too), and
so are those above the newest one whose rules are built here. The level is a record in the metadata log, so every node
switches at the same offset:

======= ======== ==========================================================================================
level   name     what it brings
======= ======== ==========================================================================================
7       3.3-IV3  ``InControlledShutdown`` in broker registrations (KIP-841)
8       3.4-IV0  nothing that is built here
9       3.5-IV0  Fetch v14 between brokers (KIP-405)
10      3.5-IV1  KIP-903: Fetch v15 carries the replica epoch, AlterPartition v3 carries ``NewIsrWithEpochs``
11      3.5-IV2  SCRAM credentials in the metadata log (KIP-900)
12      3.6-IV0  an ISR shrink no longer bumps the leader epoch (KAFKA-15021)
======= ======== ==========================================================================================
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

FEATURE_NAME: Final = "metadata.version"
"""Name of the feature in FeatureLevelRecord, ApiVersions, BrokerRegistration and UpdateFeatures."""


class MetadataVersion(IntEnum):
    """A level of ``metadata.version``. Members compare as numbers."""

    IBP_3_3_IV3 = 7
    IBP_3_4_IV0 = 8
    IBP_3_5_IV0 = 9
    IBP_3_5_IV1 = 10
    IBP_3_5_IV2 = 11
    IBP_3_6_IV0 = 12

    @classmethod
    def minimum(cls) -> MetadataVersion:
        """The lowest level that is understood; also what holds before a log names one."""
        return cls.IBP_3_3_IV3

    @classmethod
    def latest(cls) -> MetadataVersion:
        """The highest level that is understood."""
        return cls.IBP_3_6_IV0

    @classmethod
    def of(cls, version: str | int) -> MetadataVersion:
        """From a name (``"3.5-IV1"``, ``"3.5"`` for the highest of 3.5) or a level.

        Raises:
            ValueError: where there is no such version here; the message lists those that are.
        """
        text = str(version)
        if text.isdigit() and int(text) in cls._value2member_map_:
            return cls(int(text))
        for member in sorted(cls, reverse=True):
            if text in (member.version, member.release):
                return member
        known = ", ".join(f"{member.version} ({member.value})" for member in cls)
        raise ValueError(f"unknown metadata.version {text!r}; known are {known}")

    @property
    def version(self) -> str:
        """Kafka's name of the level, as ``3.5-IV1``."""
        _, major, minor, increment = self.name.split("_")
        return f"{major}.{minor}-{increment}"

    @property
    def release(self) -> str:
        """The release the level belongs to, as ``3.5``."""
        return self.version.partition("-")[0]

    @property
    def replica_epochs_supported(self) -> bool:
        """KIP-903: whether followers tell their broker epoch and leaders pass it on."""
        return self >= MetadataVersion.IBP_3_5_IV1

    @property
    def alter_partition_version(self) -> int:
        """Version of AlterPartition that a leader sends."""
        return 3 if self.replica_epochs_supported else 2

    @property
    def fetch_version(self) -> int:
        """Version of Fetch that a follower sends."""
        if self.replica_epochs_supported:
            return 15
        return 14 if self >= MetadataVersion.IBP_3_5_IV0 else 13

    @property
    def scram_supported(self) -> bool:
        """KIP-900: whether the metadata log may hold SCRAM credentials."""
        return self >= MetadataVersion.IBP_3_5_IV2

    @property
    def leader_epoch_bump_on_isr_shrink(self) -> bool:
        """KAFKA-15021: whether the controller bumps the leader epoch each time it takes a replica out of the ISR."""
        return self < MetadataVersion.IBP_3_6_IV0
