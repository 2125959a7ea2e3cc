from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def kafka_14139() -> str:
    """An experiment that uses most of the format, as text."""
    return (Path(__file__).parent / "kafka-14139.yaml").read_text(encoding="utf-8")
