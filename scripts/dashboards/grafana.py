"""Dashboards by Grafana's own model (grafana-foundation-sdk, a package for development)."""

from __future__ import annotations

import json
from typing import Final

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

from .model import OF, RUN, Board, Panel, Variable

SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
_ANNOTATIONS: Final = (
    ("Faults", "red", "sum by (kind, experiment) (highwater_experiment_faults_in_force{%s}) > 0", "{{kind}}"),
    ("Verdicts", "blue", "max by (experiment, verdict) (highwater_experiment_verdict{%s}) > 0", "{{verdict}}"),
)


def _targets(panel: Panel) -> list[prometheus.Dataquery]:
    return [
        prometheus.Dataquery().ref_id(chr(ord("A") + at)).expr(one.expr).legend_format(one.legend).datasource(SOURCE)
        for at, one in enumerate(panel.queries)
    ]


def _panel(panel: Panel, at: GridPos, number: int) -> stat.Panel | timeseries.Panel:
    made: stat.Panel | timeseries.Panel = timeseries.Panel()
    if panel.stat:
        made = stat.Panel().reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    made = made.id(number).title(panel.title).description(panel.what).unit(panel.unit).datasource(SOURCE).grid_pos(at)
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
        .datasource(SOURCE)
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
    return RUN if "experiment" in names else OF if "cluster" in names else ""


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
        if not _chosen(board):
            continue
        chosen = expr.replace("%s", _chosen(board))
        made = made.annotation(
            dashboard.AnnotationQuery().name(name).datasource(SOURCE).icon_color(color).expr(chosen).enable(True)
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
