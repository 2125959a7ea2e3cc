"""``highwater campaign``: thousands of seeds, on this machine's cores or on Spark."""

from __future__ import annotations

from highwater_chaos.campaign.definition import Campaign
from highwater_chaos.cli.campaign_options import (
    Engine,
    Experiments,
    For,
    Jobs,
    Json,
    Junit,
    Keep,
    Options,
    Out,
    Patience,
    Resume,
    Seeds,
    Shrink,
    Store,
    Summary,
    Switch,
    UntilFailure,
    Where,
    Wire,
    plan_of,
)
from highwater_chaos.cli.campaign_run import run_campaign
from highwater_chaos.cli.plan import Kafka, MetadataVersion, versions_of
from highwater_chaos.cli.spark_options import Conf, Master, spark_properties
from highwater_chaos.cli.watching import Metrics


def campaign(
    experiments: Experiments = None,
    seeds: Seeds = None,
    budget: For = None,
    backend: Where = "sim",
    switch: Switch = None,
    engine: Engine = "process",
    master: Master = None,
    conf: Conf = None,
    jobs: Jobs = None,
    until_failure: UntilFailure = False,
    resume: Resume = False,
    out: Out = None,
    store: Store = None,
    keep: Keep = 1,
    shrink: Shrink = 0,
    patience: Patience = 300,
    wire: Wire = False,
    kafka: Kafka = None,
    metadata_version: MetadataVersion = None,
    as_json: Json = False,
    metrics: Metrics = None,
    junit: Junit = None,
    summary: Summary = None,
) -> int:
    """Run many seeds of experiments, and count.

    They run in the simulator, or with --backend local on real processes. A seed that raises, hangs or ends its process
    is counted as an error, and the others go on. Exits 0 if all seeds came out as expected; if a fail is expected, one
    failing seed is enough. After an interruption the results so far are written, and --resume goes on.
    """
    plan = plan_of(
        experiments or [],
        seeds,
        switch,
        until_failure=until_failure,
        wire=wire,
        patience=patience,
        store=store,
        backend=backend,
        versions=versions_of(kafka, metadata_version),
        budget=budget,
    )
    title = plan.series[0].experiment.replace(" ", "-") if len(plan.series) == 1 else "campaign"
    properties = spark_properties(conf)
    options = Options(
        engine, master, jobs, resume, out, keep, shrink, as_json, metrics, budget, junit, summary, properties
    )
    return run_campaign(Campaign(title, plan), options)
