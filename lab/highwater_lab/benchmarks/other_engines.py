"""The five checks of :mod:`.comparison` in DuckDB and in Polars, over the files of a store.

They are written for the histories of :mod:`.histories`: one topic of each name, ``acks=all``, idempotent
producers, no transactions, nothing is deleted or compacted. They count, and give no examples. Each returns the counts
by the names of our checks.
"""

from __future__ import annotations

from pathlib import Path

Counts = dict[str, int]

_HISTORY = "read_parquet('{store}/history/run_id=*/partition-*.parquet', hive_partitioning=false, file_row_number=true)"
_REPLICA_LOG = "read_parquet('{store}/replica_log/run_id=*/partition-*.parquet', hive_partitioning=false)"
_KNOWN = '"offset" >= 0 and (is_poll or must_commit)'

_SQL = {
    "lost-write": f"""
        with places as (
            select partition, value, min("offset") as first, max("offset") as last,
                bool_or(is_poll and outcome = 0) as is_read, bool_or(must_commit) as is_written
            from {_HISTORY} where {_KNOWN} group by all
        ), bound as (select partition, max(first) as bound from places where is_read group by all)
        select count(*) from places join bound using (partition) where is_written and not is_read and last <= bound""",
    "duplicate": f"""
        select count(*) from (
            select partition, value from {_HISTORY} where {_KNOWN}
            group by all having min("offset") <> max("offset")
        )""",
    "nonmonotonic-send": f"""
        select count(*) from (
            select "offset" <= lag("offset") over sends as is_back, row = lag(row) over sends as is_inside
            from {_HISTORY} where is_send and outcome = 0 and "offset" >= 0
            window sends as (partition by partition, client order by invoke_row, file_row_number)
        ) where is_back and not is_inside""",
    "divergence": f"""
        select count(*) from (
            select partition, "offset" from {_REPLICA_LOG} where ended is null
            group by all having min(value) <> max(value) or min(crc) <> max(crc)
        )""",
}
_POLLS = f"""
    with polls as (
        select partition, "offset" as here, lag("offset") over reads as past, row = lag(row) over reads as is_inside
        from {_HISTORY} where is_poll and outcome = 0
        window reads as (partition by partition, process order by row, file_row_number)
    ), steps as (select * from polls where past is not null and here <> past + 1),
    present as (select distinct partition, "offset" as here from {_HISTORY} where {_KNOWN})
    select is_inside, here <= past as is_back, count(*) from steps
    where here <= past or exists (
        select 1 from present
        where present.partition = steps.partition and present.here > steps.past and present.here < steps.here
    ) group by all"""


def duckdb_counts(store: Path, threads: int, memory: str = "8GB") -> Counts:
    """The counts by DuckDB."""
    import duckdb  # noqa: PLC0415 - not a dependency

    connection = duckdb.connect()
    connection.execute(f"set threads = {threads}")
    connection.execute(f"set memory_limit = '{memory}'")
    counts = {name: connection.execute(sql.format(store=store)).fetchall()[0][0] for name, sql in _SQL.items()}
    for is_inside, is_back, count in connection.execute(_POLLS.format(store=store)).fetchall():
        counts[f"{'int-' if is_inside else ''}{'nonmonotonic-poll' if is_back else 'poll-skip'}"] = count
    return counts


def polars_counts(store: Path) -> Counts:
    """The counts by Polars, partition by partition. The number of threads is POLARS_MAX_THREADS."""
    counts: Counts = {}
    for history in sorted(store.glob("history/run_id=*/partition-*.parquet")):
        log = store / "replica_log" / history.parent.name / history.name
        for name, count in _polars_counts_of(history, log).items():
            counts[name] = counts.get(name, 0) + count
    return counts


def _polars_counts_of(history_file: Path, log_file: Path) -> Counts:
    import polars as pl  # noqa: PLC0415 - not a dependency

    history = pl.scan_parquet(history_file, hive_partitioning=False)
    log = pl.scan_parquet(log_file, hive_partitioning=False)
    offset, value, row = pl.col("offset"), pl.col("value"), pl.col("row")
    known = history.filter((offset >= 0) & (pl.col("is_poll") | pl.col("must_commit")))
    places = (
        known.group_by("value")
        .agg(
            offset.min().alias("first"),
            offset.max().alias("last"),
            (pl.col("is_poll") & (pl.col("outcome") == 0)).any().alias("is_read"),
            pl.col("must_commit").any().alias("is_written"),
        )
        .collect()
    )
    bound = places.filter(pl.col("is_read"))["first"].max()
    lost = places.filter(pl.col("is_written") & ~pl.col("is_read") & (pl.col("last") <= bound)).height
    duplicate = places.filter(pl.col("first") != pl.col("last")).height
    del places
    sends = history.filter(pl.col("is_send") & (pl.col("outcome") == 0) & (offset >= 0)).sort("invoke_row")
    back = (offset <= offset.shift(1).over("client")) & (row != row.shift(1).over("client"))
    reordered = sends.select(back.sum()).collect().item()
    differs = (
        log.filter(pl.col("ended").is_null())
        .group_by("offset")
        .agg(((value.min() != value.max()) | (pl.col("crc").min() != pl.col("crc").max())).alias("differs"))
    )
    divergence = differs.select(pl.col("differs").sum()).collect().item()
    polls = history.filter(pl.col("is_poll") & (pl.col("outcome") == 0))
    past, inside = offset.shift(1).over("process"), (row == row.shift(1).over("process"))
    steps = (
        polls.select(offset.alias("at"), past.alias("past"), inside.alias("inside"))
        .filter(pl.col("at") != pl.col("past") + 1)
        .collect()
    )
    gaps = steps.filter(pl.col("at") > pl.col("past"))
    within = [offset.is_between(*gap, closed="none") for gap in gaps.select("past", "at").iter_rows()]
    present = known.filter(pl.any_horizontal(within)).select(offset.unique()) if within else None
    there = [] if present is None else present.collect().to_series().to_list()
    counts = {"lost-write": lost, "duplicate": duplicate, "nonmonotonic-send": reordered, "divergence": divergence}
    for at, before, is_inside in steps.iter_rows():
        if at <= before:
            name = "nonmonotonic-poll"
        elif any(before < one < at for one in there):
            name = "poll-skip"
        else:
            continue
        name = f"{'int-' if is_inside else ''}{name}"
        counts[name] = counts.get(name, 0) + 1
    return counts
