"""What Apache Kafka 4.3.1 left behind in a short run, and whether this machine can run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.backends.local.apache_kafka import available

RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture
def recorded() -> Path:
    """``metadata.bin``: the only segment of a controller's metadata log, of two brokers and one controller: a topic of
    one partition was created, broker 0 killed and started, a partition added, broker 1 stopped and started, the topic
    deleted. ``broker-1.txt``: what broker 1 logged until it was stopped; ``controllers.txt``: the quorum's part of two
    controllers' logs, the second of another run."""
    return RECORDED


@pytest.fixture
def apache_kafka() -> None:
    """Skips where Apache Kafka cannot be run."""
    if (why := available()) is not None:
        pytest.skip(why)
