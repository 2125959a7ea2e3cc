"""The five checks of ``benchmarks.comparison`` in DuckDB's SQL and in Polars, over the files of a store.

They are written for the synthetic histories of ``benchmarks.histories``: one topic of each name, ``acks=all``, nothing is
deleted or compacted, and no transactions. Each returns counts by the name of our check.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

Counts = dict[str, int]

DUCKDB = """
with history as (
    select partition, row, invoke_row, process, client, outcome, is_send, is_poll, "offset", value, must_commit
    from read_parquet('{store}/run_id=*/partition=*/history.parquet', hive_partitioning = false)
),
known as (select distinct partition, "offset", value from history where "offset" >= 0 and (is_poll or must_commit)),
places as (
    select partition, value, min("offset") as first, max("offset") as last, count(*) as places
    from known group by all
),
read as (select distinct partition, value from history where is_poll and outcome = 0),
bound as (select partition, max(first) as bound from places semi join read using (partition, value) group by all),
lost as (
    select count(*) as found
    from (select distinct partition, value from history where must_commit)
    join places using (partition, value) join bound using (partition)
    where last <= bound and (partition, value) not in (select (partition, value) from read)
),
sends as (
    select "offset" <= lag("offset") over (partition by partition, client order by invoke_row) as back
    from history where is_send and outcome = 0 and "offset" >= 0
),
polls as (
    select
        partition, "offset", lag("offset") over w as past, lag(row) over w = row as inside
    from history where is_poll and outcome = 0 window w as (partition by partition, process order by row, "offset")
)
"""
