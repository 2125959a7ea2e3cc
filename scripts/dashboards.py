"""Writes the Grafana dashboards that ship: ``python scripts/dashboards.py``; a test compares.

Built with Grafana's own model (grafana-foundation-sdk, a package for development). They are written to the chart and,
since kustomize reads no files from outside its folder, beside the manifests.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataSourceRef,
    GridPos,
    Threshold,
    ThresholdsMode,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

_ROOT: Final = Path(__file__).resolve().parent.parent
FOLDERS: Final = (
    _ROOT / "helm" / "highwater" / "dashboards",
    _ROOT / "manifests" / "components" / "monitoring",
)
_SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
_OF: Final = 'namespace=~"$namespace",strimzi_io_cluster=~"$cluster"'
_RUN: Final = 'namespace=~"$namespace",experiment=~"$experiment"'
_POD: Final = "{{kubernetes_pod_name}}"


class Query(NamedTuple):
    """PromQL, and how its series are called."""

    expr: str
    legend: str = ""


class Panel(NamedTuple):
    """One panel. ``stat``: one large number; otherwise lines over time. ``bad``: the value from which on it is red."""

    title: str
    what: str
    queries: Sequence[Query]
    unit: str = "short"
    stat: bool = False
    bad: float | None = None


class Row(NamedTuple):
    """A heading, and the panels below it."""

    title: str
    panels: Sequence[Panel]


class Variable(NamedTuple):
    """A choice among the values of a label of a metric's series."""

    name: str
    label: str
    metric: str
    of: str


class Board(NamedTuple):
    """One dashboard. ``uid`` is the name of its file too."""

    uid: str
    title: str
    what: str
    variables: Sequence[Variable]
    rows: Sequence[Row]


def _number(title: str, what: str, expr: str, *, bad: float | None = None, unit: str = "short") -> Panel:
    return Panel(title, what, [Query(expr)], unit, stat=True, bad=bad)


def _lines(title: str, what: str, *queries: tuple[str, str], unit: str = "short") -> Panel:
    return Panel(title, what, [Query(*one) for one in queries], unit)


def _rm(name: str) -> str:
    return f"kafka_server_replicamanager_{name}{{{_OF}}}"


def _controller(name: str) -> str:
    return f"kafka_controller_kafkacontroller_{name}{{{_OF}}}"


def _raft(name: str) -> str:
    return f"kafka_server_raftmetrics_{name}{{{_OF}}}"


def _partition(name: str) -> str:
    return f'{name}{{{_OF},topic=~"$topic"}}'


def _rate(counter: str, by: str = "") -> str:
    return f"sum{f' by ({by})' if by else ''} (rate({counter}[$__rate_interval]))"


_FAULTS_LOCAL: Final = f"sum by (kind) (highwater_experiment_faults_in_force{{{_RUN}}})"
_CLUSTERS: Final = (
    Variable("namespace", "Namespace", "kafka_server_replicamanager_leadercount", "namespace"),
    Variable(
        "cluster",
        "Cluster",
        'kafka_server_replicamanager_leadercount{namespace=~"$namespace"}',
        "strimzi_io_cluster",
    ),
)
_TOPIC: Final = Variable("topic", "Topic", f"kafka_log_log_size{{{_OF}}}", "topic")
_EXPERIMENTS: Final = (
    Variable("namespace", "Namespace", "highwater_experiment_phase", "namespace"),
    Variable("experiment", "Experiment", 'highwater_experiment_phase{namespace=~"$namespace"}', "experiment"),
)

CLUSTER: Final = Board(
    "highwater-cluster",
    "Highwater / Cluster",
    "ISR, under-replication, controller, epochs, high watermarks and load, with the faults in force over them.",
    (*_CLUSTERS, _TOPIC),
    [
        Row(
            "Now",
            [
                _number("Active controllers", "One, in health.", f"sum({_controller('activecontrollercount')})"),
                _number("Under-replicated", "Replicas out of sync.", f"sum({_rm('underreplicatedpartitions')})", bad=1),
                _number("Under min ISR", "These refuse acks=all.", f"sum({_rm('underminisrpartitioncount')})", bad=1),
                _number("Offline", "Without a leader.", f"max({_controller('offlinepartitionscount')})", bad=1),
                _number("Brokers unfenced", "", f"max({_controller('activebrokercount')})"),
                _number("Topics", "", f"max({_controller('globaltopiccount')})"),
            ],
        ),
        Row(
            "In-sync replicas",
            [
                _lines(
                    "ISR size by partition",
                    "As the leader has it.",
                    (
                        f"max by (topic, partition) ({_partition('kafka_cluster_partition_insyncreplicascount')})",
                        "{{topic}}-{{partition}}",
                    ),
                ),
                _lines(
                    "ISR changes",
                    "Shrinks, expansions, and failures to write an ISR.",
                    (_rate(_rm("isrshrinks_total")), "shrinks"),
                    (_rate(_rm("isrexpands_total")), "expands"),
                    (_rate(_rm("failedisrupdates_total")), "failed"),
                    unit="ops",
                ),
                _lines(
                    "Under-replicated and under min ISR",
                    "By the broker that leads.",
                    (_rm("underreplicatedpartitions"), f"{_POD} under-replicated"),
                    (_rm("underminisrpartitioncount"), f"{_POD} under min ISR"),
                    (_rm("atminisrpartitioncount"), f"{_POD} at min ISR"),
                ),
                _lines(
                    "Leaders by broker",
                    "And replicas on disks that have failed.",
                    (_rm("leadercount"), f"{_POD} leads"),
                    (_rm("offlinereplicacount"), f"{_POD} offline"),
                ),
            ],
        ),
        Row(
            "Partitions",
            [
                _lines(
                    "High watermark",
                    "What may be read. It never goes down on a leader.",
                    (_partition("highwater_partition_high_watermark"), f"{{{{topic}}}}-{{{{partition}}}} {_POD}"),
                ),
                _lines(
                    "Replica lag",
                    "Records between the end of the leader's log and a replica's.",
                    (
                        "max by (namespace, strimzi_io_cluster, topic, partition) ("
                        f"{_partition('kafka_log_log_logendoffset')} * {_partition('highwater_partition_leads')})"
                        " - on (namespace, strimzi_io_cluster, topic, partition) group_right () "
                        f"{_partition('kafka_log_log_logendoffset')}",
                        f"{{{{topic}}}}-{{{{partition}}}} {_POD}",
                    ),
                ),
                _lines(
                    "Leader epoch",
                    "One more with every election.",
                    (_partition("highwater_partition_leader_epoch"), f"{{{{topic}}}}-{{{{partition}}}} {_POD}"),
                ),
                _lines(
                    "Log size",
                    "On disk, by topic and broker.",
                    (
                        f"sum by (topic, kubernetes_pod_name) ({_partition('kafka_log_log_size')})",
                        f"{{{{topic}}}} {_POD}",
                    ),
                    unit="bytes",
                ),
            ],
        ),
        Row(
            "Load",
            [
                _lines(
                    "Messages in",
                    "Records appended by producers.",
                    (
                        _rate(f"kafka_server_brokertopicmetrics_messagesin_total{{{_OF}}}", "kubernetes_pod_name"),
                        _POD,
                    ),
                    unit="ops",
                ),
                _lines(
                    "Bytes in and out",
                    "Of clients, and of replication.",
                    (_rate(f"kafka_server_brokertopicmetrics_bytesin_total{{{_OF}}}"), "in"),
                    (_rate(f"kafka_server_brokertopicmetrics_bytesout_total{{{_OF}}}"), "out"),
                    (_rate(f"kafka_server_brokertopicmetrics_replicationbytesin_total{{{_OF}}}"), "replication in"),
                    unit="Bps",
                ),
                _lines(
                    "Requests that failed",
                    "By broker.",
                    (
                        _rate(f"kafka_server_brokertopicmetrics_failedproducerequests_total{{{_OF}}}"),
                        "produce",
                    ),
                    (_rate(f"kafka_server_brokertopicmetrics_failedfetchrequests_total{{{_OF}}}"), "fetch"),
                    unit="ops",
                ),
                _lines(
                    "Elections out of the ISR",
                    "Unclean leader elections: records may be lost.",
                    (
                        "sum by (strimzi_io_cluster) (increase("
                        f"kafka_controller_controllerstats_uncleanleaderelections_total{{{_OF}}}[$__rate_interval]))",
                        "{{strimzi_io_cluster}}",
                    ),
                ),
            ],
        ),
    ],
)

QUORUM: Final = Board(
    "highwater-quorum",
    "Highwater / Controller quorum",
    "The Raft quorum that replicates the metadata log (KRaft mode).",
    _CLUSTERS,
    [
        Row(
            "Now",
            [
                _number("Raft epoch", "One more with every election.", f"max({_raft('current_epoch')})"),
                _number("Leader", "The id of the leader; -1: none is known.", f"max({_raft('current_leader')})"),
                _number("Metadata log end", "", f"max({_raft('log_end_offset')})"),
            ],
        ),
        Row(
            "Elections",
            [
                _lines("Epoch by node", "They agree but for moments.", (_raft("current_epoch"), _POD)),
                _lines("Leader by node", "-1: it knows none.", (_raft("current_leader"), _POD)),
                _lines(
                    "Nodes by state",
                    "Leader, follower, candidate and so on.",
                    (f"count by (current_state) ({_raft('current_state')})", "{{current_state}}"),
                ),
                _lines("Vote by node", "-1: it has not voted in this epoch.", (_raft("current_vote"), _POD)),
            ],
        ),
        Row(
            "Metadata log",
            [
                _lines("High watermark", "What is committed.", (_raft("high_watermark"), _POD)),
                _lines(
                    "Replica lag",
                    "Records behind the longest log.",
                    (
                        "max by (namespace, strimzi_io_cluster) ("
                        f"{_raft('log_end_offset')}) - on (namespace, strimzi_io_cluster) group_right () "
                        f"{_raft('log_end_offset')}",
                        _POD,
                    ),
                ),
                _lines(
                    "Records appended and fetched",
                    "Over the last 30 to 60 seconds.",
                    (f"sum({_raft('append_records_rate')})", "appended"),
                    (f"sum({_raft('fetch_records_rate')})", "fetched"),
                    unit="ops",
                ),
                _lines(
                    "Commit latency",
                    "From append to commit, the mean of 30 to 60 seconds.",
                    (f"max({_raft('commit_latency_avg')})", "mean"),
                    unit="ms",
                ),
            ],
        ),
        Row(
            "Brokers as the controller sees them",
            [
                _lines(
                    "Fenced and unfenced",
                    "By the controllers.",
                    (f"max({_controller('fencedbrokercount')})", "fenced"),
                    (f"max({_controller('activebrokercount')})", "unfenced"),
                ),
                _lines(
                    "Active controllers",
                    "By node.",
                    (_controller("activecontrollercount"), _POD),
                ),
            ],
        ),
    ],
)

ZOOKEEPER: Final = Board(
    "highwater-zookeeper",
    "Highwater / ZooKeeper",
    "The ensemble, and the controller that it elects (ZooKeeper mode).",
    _CLUSTERS,
    [
        Row(
            "Controller",
            [
                _number("Active controllers", "One.", f"sum({_controller('activecontrollercount')})"),
                _number("Offline", "Without a leader.", f"max({_controller('offlinepartitionscount')})", bad=1),
                _number("Brokers", "That the controller has alive.", f"max({_controller('activebrokercount')})"),
                _lines("Active controllers by broker", "", (_controller("activecontrollercount"), _POD)),
            ],
        ),
        Row(
            "Ensemble",
            [
                _lines(
                    "Servers that serve, and their leader",
                    "A server without a quorum does not serve.",
                    (f"highwater_zookeeper_serving{{{_OF}}}", f"{_POD} serves"),
                    (f"highwater_zookeeper_leading{{{_OF}}}", f"{_POD} leads"),
                    (f"max(highwater_zookeeper_synced_followers{{{_OF}}})", "synced followers"),
                ),
                _lines(
                    "Latency of requests",
                    "Mean and maximum since the server's start.",
                    (f"zookeeper_avgrequestlatency{{{_OF}}}", f"{_POD} mean"),
                    (f"zookeeper_maxrequestlatency{{{_OF}}}", f"{_POD} max"),
                    unit="ms",
                ),
                _lines("Outstanding requests", "By server.", (f"zookeeper_outstandingrequests{{{_OF}}}", _POD)),
                _lines(
                    "Connections, nodes and watches",
                    "By server.",
                    (f"zookeeper_numaliveconnections{{{_OF}}}", f"{_POD} connections"),
                    (f"zookeeper_inmemorydatatree_nodecount{{{_OF}}}", f"{_POD} nodes"),
                    (f"zookeeper_inmemorydatatree_watchcount{{{_OF}}}", f"{_POD} watches"),
                ),
                _lines(
                    "Packets",
                    "By server.",
                    (_rate(f"zookeeper_packetsreceived_total{{{_OF}}}", "kubernetes_pod_name"), f"{_POD} received"),
                    (_rate(f"zookeeper_packetssent_total{{{_OF}}}", "kubernetes_pod_name"), f"{_POD} sent"),
                    unit="pps",
                ),
            ],
        ),
    ],
)

EXPERIMENT: Final = Board(
    "highwater-experiment",
    "Highwater / Experiment",
    "Phases, faults in force, how long heals take, what clients got acknowledged; the operator and its agents.",
    _EXPERIMENTS,
    [
        Row(
            "The experiment",
            [
                Panel(
                    "Phase",
                    "By the names of a ChaosExperiment's status.",
                    [Query(f"highwater_experiment_phase{{{_RUN}}}", "{{experiment}}: {{phase}}")],
                ),
                _lines("Faults in force", "Injected, and not yet seen to be healed.", (_FAULTS_LOCAL, "{{kind}}")),
                _lines(
                    "Records acknowledged per second",
                    "As clients saw it, in runs of this machine.",
                    (
                        f"sum by (experiment) (deriv(highwater_experiment_acknowledged_records{{{_RUN}}}"
                        "[$__rate_interval]))",
                        "{{experiment}}",
                    ),
                    unit="ops",
                ),
                _lines(
                    "Operations without an outcome",
                    "Sent, and neither acknowledged nor failed yet.",
                    (f"sum by (experiment) (highwater_experiment_open_operations{{{_RUN}}})", "{{experiment}}"),
                ),
                _lines(
                    "Heal latency",
                    "The mean, from the begin of a heal until a probe saw everything healed.",
                    (
                        f"sum by (kind) (highwater_experiment_fault_heal_seconds_sum{{{_RUN}}})"
                        f" / sum by (kind) (highwater_experiment_fault_heal_seconds_count{{{_RUN}}})",
                        "{{kind}}",
                    ),
                    unit="s",
                ),
                _lines(
                    "Faults injected",
                    "Since the run began.",
                    (f"sum by (kind) (highwater_experiment_faults_injected_total{{{_RUN}}})", "{{kind}}"),
                ),
            ],
        ),
        Row(
            "All experiments",
            [
                _lines("By phase", "", ("sum by (phase) (highwater_experiments)", "{{phase}}")),
                _lines(
                    "Completed by verdict",
                    "",
                    ("sum by (verdict) (highwater_experiments_completed_total)", "{{verdict}}"),
                ),
            ],
        ),
        Row(
            "Operator and agents",
            [
                _lines(
                    "Faults in force by node",
                    "As agents have them, and those past their deadline.",
                    ("sum by (node) (highwater_agent_faults_in_force)", "{{node}}"),
                    ("sum by (node) (highwater_agent_faults_overdue)", "{{node}} overdue"),
                ),
                _lines(
                    "Heal latency of agents",
                    "The 95th percentile.",
                    (
                        "histogram_quantile(0.95, sum by (kind, le) "
                        "(rate(highwater_agent_heal_duration_seconds_bucket[$__rate_interval])))",
                        "{{kind}}",
                    ),
                    unit="s",
                ),
                _lines(
                    "Reconciles",
                    "By kind and result.",
                    (
                        "sum by (kind, result) (rate(highwater_operator_reconciles_total[$__rate_interval]))",
                        "{{kind}} {{result}}",
                    ),
                    unit="ops",
                ),
                _lines(
                    "Experiments that were completed",
                    "As the operator saw them.",
                    ("sum by (verdict) (highwater_operator_experiments_completed_total)", "{{verdict}}"),
                ),
            ],
        ),
    ],
)

_CAMPAIGN: Final = '{campaign=~"$campaign"}'
CAMPAIGN: Final = Board(
    "highwater-campaign",
    "Highwater / Campaign",
    "Many seeds of an experiment in the simulator: how far, with what verdicts, what was found.",
    (Variable("campaign", "Campaign", "highwater_campaign_seeds_planned", "campaign"),),
    [
        Row(
            "Now",
            [
                _number("Seeds planned", "", f"sum(highwater_campaign_seeds_planned{_CAMPAIGN})"),
                _number("Seeds judged", "", f"sum(highwater_campaign_seeds_judged_total{_CAMPAIGN})"),
                _number(
                    "Seeds that failed",
                    "",
                    'sum(highwater_campaign_seeds_judged_total{campaign=~"$campaign",verdict="fail"})',
                    bad=1,
                ),
                _number(
                    "Errors",
                    "The seed raised, hung or ended its process.",
                    'sum(highwater_campaign_seeds_judged_total{campaign=~"$campaign",verdict="error"})',
                    bad=1,
                ),
            ],
        ),
        Row(
            "Over time",
            [
                _lines(
                    "Seeds per second",
                    "",
                    (_rate(f"highwater_campaign_seeds_judged_total{_CAMPAIGN}", "campaign"), "{{campaign}}"),
                    unit="ops",
                ),
                _lines(
                    "Verdicts",
                    "",
                    (
                        f"sum by (experiment, verdict) (highwater_campaign_seeds_judged_total{_CAMPAIGN})",
                        "{{experiment}} {{verdict}}",
                    ),
                ),
                _lines(
                    "Seeds that showed an anomaly",
                    "Nothing is here until one is found.",
                    (f"sum by (anomaly) (highwater_campaign_anomalies_total{_CAMPAIGN})", "{{anomaly}}"),
                ),
                _lines(
                    "Processor time of a seed",
                    "The median and the 95th percentile.",
                    *(
                        (
                            f"histogram_quantile({share}, sum by (le) "
                            f"(rate(highwater_campaign_seed_seconds_bucket{_CAMPAIGN}[$__rate_interval])))",
                            name,
                        )
                        for share, name in (("0.5", "median"), ("0.95", "95 %"))
                    ),
                    unit="s",
                ),
                _lines(
                    "Faults and acknowledged records",
                    "Per second of the campaign.",
                    (_rate(f"highwater_campaign_faults_total{_CAMPAIGN}"), "faults"),
                    (_rate(f"highwater_campaign_acknowledged_records_total{_CAMPAIGN}"), "records"),
                    unit="ops",
                ),
            ],
        ),
    ],
)
BOARDS: Final = (CLUSTER, QUORUM, ZOOKEEPER, EXPERIMENT, CAMPAIGN)

# Chosen by cluster or by experiment, as the dashboard does. What agents have in force may be of any experiment.
_ANNOTATIONS: Final = (
    ("Faults", "red", "sum by (kind, experiment) (highwater_experiment_faults_in_force{%s}) > 0", "{{kind}}"),
    ("Faults of agents", "orange", "sum by (node) (highwater_agent_faults_in_force) > 0", "{{node}}"),
    ("Verdicts", "blue", "max by (experiment, verdict) (highwater_experiment_verdict{%s}) > 0", "{{verdict}}"),
)


def _targets(panel: Panel) -> list[prometheus.Dataquery]:
    return [
        prometheus.Dataquery().ref_id(chr(ord("A") + at)).expr(one.expr).legend_format(one.legend).datasource(_SOURCE)
        for at, one in enumerate(panel.queries)
    ]


def _panel(panel: Panel, at: GridPos, number: int) -> stat.Panel | timeseries.Panel:
    made: stat.Panel | timeseries.Panel = timeseries.Panel()
    if panel.stat:
        made = stat.Panel().reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    made = made.id(number).title(panel.title).description(panel.what).unit(panel.unit).datasource(_SOURCE).grid_pos(at)
    if panel.bad is not None:
        made = made.thresholds(
            dashboard.ThresholdsConfig()
            .mode(ThresholdsMode.ABSOLUTE)
            .steps([Threshold(value=None, color="green"), Threshold(value=panel.bad, color="red")])
        )
    for target in _targets(panel):
        made = made.with_target(target)
    return made


def _variable(one: Variable) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(one.name)
        .label(one.label)
        .datasource(_SOURCE)
        .query({"query": f"label_values({one.metric}, {one.of})", "refId": one.name})
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(VariableOption(selected=True, text=["All"], value=["$__all"]))
    )


def _chosen(board: Board) -> str:
    names = {one.name for one in board.variables}
    return _RUN if "experiment" in names else _OF if "cluster" in names else ""


def build(board: Board) -> str:
    """Return the dashboard as JSON."""
    made = (
        dashboard.Dashboard(board.title)
        .uid(board.uid)
        .description(board.what)
        .tags(["highwater", "kafka"])
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .refresh("5s")
        .time("now-15m", "now")
        .timezone("browser")
        .editable()
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
    )
    for variable in board.variables:
        made = made.with_variable(_variable(variable))
    for name, color, expr, _ in _ANNOTATIONS:
        if board.uid == CAMPAIGN.uid:
            continue
        chosen = expr.replace("%s", _chosen(board))
        made = made.annotation(
            dashboard.AnnotationQuery().name(name).datasource(_SOURCE).icon_color(color).expr(chosen).enable(True)
        )
    number = y = 0
    for row in board.rows:
        number += 1
        made = made.with_row(dashboard.Row(row.title).id(number).grid_pos(GridPos(h=1, w=24, x=0, y=y)))
        y += 1
        x = tallest = 0
        for panel in row.panels:
            width, height = (4, 4) if panel.stat else (12, 8)
            if x + width > 24:
                x, y, tallest = 0, y + tallest, 0
            number += 1
            made = made.with_panel(_panel(panel, GridPos(h=height, w=width, x=x, y=y), number))
            x, tallest = x + width, max(tallest, height)
        y += tallest
    model = json.loads(JSONEncoder(sort_keys=True).encode(made.build()))
    for annotation, (_, _, _, title) in zip(
        (model.get("annotations") or {}).get("list", []), _ANNOTATIONS, strict=False
    ):
        # Fields of Prometheus' own annotations, which the package's model leaves out.
        annotation |= {"step": "5s", "titleFormat": annotation["name"], "textFormat": title}
    return json.dumps(model, indent=1, sort_keys=True) + "\n"


def main() -> int:
    """Write every dashboard into both folders."""
    for folder in FOLDERS:
        for board in BOARDS:
            (folder / f"{board.uid}.json").write_text(build(board), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
