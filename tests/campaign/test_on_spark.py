"""Seeds on Spark that raise, hang, or end their Python worker: each is an outcome, and its batch goes on."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkValueError

from highwater_chaos.campaign.on_spark import SparkGoneError, batch_size, on_spark
from highwater_chaos.campaign.seed import Outcome, SeedJob
from highwater_pipeline.spark.session import first_lines

pytestmark = pytest.mark.spark


def test_bad_seeds_of_a_batch(spark: Any, tmp_path: Path) -> None:
    marker, pids = str(tmp_path / "killed"), tmp_path / "pids"
    pids.mkdir()

    def run(unit: SeedJob) -> Outcome:
        import os
        import signal

        open(f"{pids}/{os.getpid()}", "w").close()  # noqa: PTH123
        if unit.seed == 3:
            os._exit(7)
        if unit.seed == 5 and not os.path.exists(marker):  # noqa: PTH110
            open(marker, "w").close()  # noqa: PTH123
            os.kill(os.getpid(), signal.SIGKILL)
        return Outcome(unit.experiment, unit.seed, unit.variant, "pass")

    found = {one.seed: one for one in on_spark((SeedJob("x", seed) for seed in range(1, 25)), spark, 8, run)}
    assert sorted(found) == list(range(1, 25))
    assert [seed for seed, one in found.items() if one.verdict != "pass"] == [3]
    assert "its Spark task failed, 2 times alone" in found[3].reasons[0]
    assert len(os.listdir(pids)) < 12, "workers are reused"  # noqa: PTH208


def test_an_error_of_java_has_words_when_its_jvm_is_gone() -> None:
    """Its text is asked of the JVM, so to show why Spark has ended must not fail because Spark has ended."""

    class Gone:
        def send_command(self, command: str) -> str:
            raise ConnectionRefusedError(111, "Connection refused")

    java = SimpleNamespace(_target_id="o1", _gateway_client=Gone())
    assert (
        first_lines(Py4JJavaError("An error occurred\nwhile calling o1", java)) == "An error occurred while calling o1"
    )


def test_whatever_pyspark_raises_when_its_jvm_is_gone() -> None:
    """PySpark 4.0 raises an AssertionError if the JVM ends while it asks for a schema: its own error has a parameter
    that its message does not know."""

    def dataframe_range(*_: int) -> Any:
        raise PySparkValueError(errorClass="CANNOT_PARSE_DATATYPE", messageParameters={"error": "Error while sending"})

    gone: Any = SimpleNamespace(range=dataframe_range, sparkContext=SimpleNamespace(defaultParallelism=1, _jsc=None))
    with pytest.raises(SparkGoneError, match=r"Spark has ended: .*Error while sending"):
        list(on_spark([SeedJob("x", 1)], gone))


def test_batches_are_tens_of_seeds_where_there_are_enough() -> None:
    assert [batch_size(seeds, 2) for seeds in (1, 16, 80, 5000)] == [1, 2, 10, 20]
