"""A campaign while it goes on."""

from __future__ import annotations

from typing import Final

from .model import (
    Board,
    Row,
    Variable,
    lines,
    number,
    rate,
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
                number("Seeds planned", "", f"sum(highwater_campaign_seeds_planned{_CAMPAIGN})"),
                number("Seeds judged", "", f"sum(highwater_campaign_seeds_judged_total{_CAMPAIGN})"),
                number(
                    "Seeds that failed",
                    "",
                    'sum(highwater_campaign_seeds_judged_total{campaign=~"$campaign",verdict="fail"})',
                    bad=1,
                ),
                number(
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
                lines(
                    "Seeds per second",
                    "",
                    (rate(f"highwater_campaign_seeds_judged_total{_CAMPAIGN}", "campaign"), "{{campaign}}"),
                    unit="ops",
                ),
                lines(
                    "Verdicts",
                    "",
                    (
                        f"sum by (experiment, verdict) (highwater_campaign_seeds_judged_total{_CAMPAIGN})",
                        "{{experiment}} {{verdict}}",
                    ),
                ),
                lines(
                    "Seeds that showed an anomaly",
                    "Nothing is here until one is found.",
                    (f"sum by (anomaly) (highwater_campaign_anomalies_total{_CAMPAIGN})", "{{anomaly}}"),
                ),
                lines(
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
                lines(
                    "Faults and acknowledged records",
                    "Per second of the campaign.",
                    (rate(f"highwater_campaign_faults_total{_CAMPAIGN}"), "faults"),
                    (rate(f"highwater_campaign_acknowledged_records_total{_CAMPAIGN}"), "records"),
                    unit="ops",
                ),
            ],
        ),
    ],
)
