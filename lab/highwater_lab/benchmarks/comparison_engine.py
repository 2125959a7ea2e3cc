"""One engine on one store, in a process of its own: prints the counts of what it found, as JSON.

It imports only what its engine needs, since start and imports count.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from highwater_lab.benchmarks.other_engines import Counts, duckdb_counts, polars_counts

FIVE = (
    "lost-write",
    "duplicate",
    "nonmonotonic-send",
    "divergence",
    "poll-skip",
    "nonmonotonic-poll",
    "int-poll-skip",
    "int-nonmonotonic-poll",
)
"""The five checks by our names: order of consumers is four of them."""


def counts(engine: str, store: Path, *, master: str, threads: int) -> Counts:
    """What ``engine``, one of ``comparison.ENGINES``, finds."""
    if engine == "duckdb":
        return duckdb_counts(store, threads)
    if engine == "polars":
        return polars_counts(store)
    from highwater_pipeline.in_process import check_stored  # noqa: PLC0415 - the others need none of it
    from highwater_pipeline.partitions.store import stored_runs  # noqa: PLC0415

    runs = [replace(run, checks=FIVE if "five" in engine else None) for run in stored_runs(store)]
    if "Spark" in engine:
        from highwater_pipeline.spark import open_session  # noqa: PLC0415
        from highwater_pipeline.spark.check import spark_check_stored  # noqa: PLC0415

        with open_session(master) as spark:
            (run_verdict,) = spark_check_stored(spark, runs)
    else:
        (run_verdict,) = [check_stored(run, threads) for run in runs]
    return {name: report.count for name, report in run_verdict.anomalies.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("about", type=json.loads, help="a JSON object: engine, store, master, threads")
    about = parser.parse_args().about
    found = counts(about["engine"], Path(about["store"]), master=about["master"], threads=about["threads"])
    print(json.dumps({name: count for name, count in found.items() if count}))
