"""Status of a ``ChaosExperiment`` (``cx``): the experiment's whole progress, so that any operator can go on with it.

The spec is the model of the experiment file itself (``highwater_chaos.experiment``).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from highwater_chaos.experiment.base import Model
from highwater_operator.resources.conditions import Condition

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class FaultCounts(Model):
    """Faults by how far they got."""

    planned: Annotated[int, Field(ge=0, description="Faults that the schedule has begun to inject.")] = 0
    injected: Annotated[int, Field(ge=0, description="Faults that were put into force.")] = 0
    confirmed: Annotated[int, Field(ge=0, description="Faults of which a probe saw that they were in force.")] = 0
    healed: Annotated[int, Field(ge=0, description="Faults of which a probe saw that they were gone.")] = 0


class KindCounts(Model):
    """Faults of one kind by how far they got."""

    injected: Annotated[int, Field(ge=0, description="Faults that were put into force.")] = 0
    healed: Annotated[int, Field(ge=0, description="Faults of which a probe saw that they were gone.")] = 0
    timed_heals: Annotated[int, Field(ge=0, description="Heals that healSeconds is the sum of.")] = 0
    heal_seconds: Annotated[
        float, Field(ge=0, description="Seconds from the start of a heal until a probe saw all healed, in total.")
    ] = 0


class Progress(Model):
    """What the run has come to so far, as the runner saw it last; the operator's metrics show it."""

    acknowledged_records: Annotated[
        int | None, Field(ge=0, description="Records that were acknowledged; absent: not known yet.")
    ] = None
    open_operations: Annotated[
        int | None, Field(ge=0, description="Operations of clients without an outcome yet; absent: not known yet.")
    ] = None
    faults: Annotated[dict[str, KindCounts], Field(max_length=40, description="Faults by kind.", default_factory=dict)]


class JournalEntry(Model):
    """One step, written down before it is taken (``intent``) and after it (``done`` or ``failed``)."""

    id: Annotated[str, Field(max_length=63, description="Id of the fault or step; an agent acts once on each.")]
    step: Annotated[str, Field(max_length=400, description="What is done, in words.")]
    state: Annotated[
        Literal["intent", "done", "failed", "undone"],
        Field(description="intent: about to be done; done: in force; undone: healed; failed: never in force."),
    ]
    at: Annotated[Time, Field(description="When this was written.")]
    targets: Annotated[
        list[Annotated[str, Field(max_length=253)]],
        Field(max_length=110, description="Pods that the target resolved to.", default_factory=list),
    ]
    node: Annotated[str, Field(max_length=253, description="The node whose agent was asked.")] = ""
    deadline: Annotated[
        Time | None,
        Field(description="When the agent undoes it by itself, even without operator and runner."),
    ] = None
    evidence: Annotated[
        str, Field(max_length=1000, description="What probes saw of it: that it was in force, that it is gone.")
    ] = ""


class OwnTopics(Model):
    """Topics that the run makes on a cluster of others, written down before each is made."""

    cluster_id: Annotated[str, Field(max_length=100, description="Id of the cluster that has them.")]
    names: Annotated[
        list[Annotated[str, Field(max_length=249)]],
        Field(max_length=200, description="Their names; deleted when the experiment is over.", default_factory=list),
    ]
    ids: Annotated[
        dict[str, Annotated[str, Field(max_length=40)]],
        Field(
            max_length=200, description="Their ids, where known: another one of its name is left.", default_factory=dict
        ),
    ]


class ChaosExperimentStatus(Model):
    """How far the experiment got, and what it came to."""

    observed_generation: Annotated[int, Field(ge=0, description="The generation that this status is about.")] = 0
    phase: Annotated[
        Literal[
            "",
            "Pending",
            "SettingUp",
            "Steady",
            "Injecting",
            "Recovering",
            "Judging",
            "Aborting",
            "Completed",
            "Refused",
        ],
        Field(description="Where it is: Pending to Judging, or Aborting. Completed and Refused are final."),
    ] = ""
    verdict: Annotated[
        Literal["", "pass", "fail", "inconclusive"], Field(description="What was found; empty until it is judged.")
    ] = ""
    expected: Annotated[
        bool | None,
        Field(
            description="Whether the verdict is what spec.expect says; false if it ended unjudged; absent: not over."
        ),
    ] = None
    reason: Annotated[str, Field(max_length=2000, description="Why the verdict is what it is, in a sentence.")] = ""
    faults: Annotated[FaultCounts, Field(description="Faults by how far they got.")] = FaultCounts()
    progress: Annotated[
        Progress, Field(description="What the run has come to so far.", default_factory=lambda: Progress(faults={}))
    ]
    anomalies: Annotated[
        dict[str, int],
        Field(
            description="How often each anomaly was found, by its name, such as lost-write.",
            default_factory=dict,
            max_length=50,
        ),
    ]
    journal: Annotated[
        list[JournalEntry],
        Field(max_length=500, description="Every step that was begun, in order.", default_factory=list),
    ]
    started_at: Annotated[Time | None, Field(description="When it was accepted.")] = None
    completed_at: Annotated[Time | None, Field(description="When it was over.")] = None
    cluster_id: Annotated[
        str,
        Field(max_length=100, description="Id of the cluster of others that it is on; empty: Kafka did not answer."),
    ] = ""
    own_topics: Annotated[
        OwnTopics | None, Field(description="On a cluster of others, topics that are to be deleted at the end.")
    ] = None
    run: Annotated[
        str,
        Field(
            max_length=500,
            description="Where the run directory is kept; `highwater report cx/NAME` fetches it and draws its report.",
        ),
    ] = ""
    conditions: Annotated[
        list[Condition],
        Field(
            max_length=16,
            description="Accepted, SteadyState, Injected, Healed, Completed, Passed; Recorded where a Job judges.",
            default_factory=list,
        ),
    ]
