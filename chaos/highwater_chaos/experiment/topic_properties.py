"""Properties of topics that cannot work: unknown ones, and impossible values."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from highwater_chaos.experiment.errors import Problem
from highwater_chaos.experiment.model import ExperimentSpec
from highwater_chaos.experiment.steps import CreateTopic, Step
from highwater_runtime.metadata.topic_config import TOPIC_PROPERTIES, check_topic_property


def topic_property_problems(spec: ExperimentSpec) -> Iterator[Problem]:
    """What is wrong with the properties of the topics of an experiment, those that its steps create included. Other
    software than our own nodes may have other properties, and says itself what it takes."""
    ours = spec.cluster is None or spec.cluster.runtime == "highwater"
    topics = [*_topics_at_first(spec), *_created(spec.schedule, "spec.schedule")]
    for path, topic in topics:
        for name, value in topic.config.items() if ours else ():
            if problem := _wrong(name, value):
                yield Problem(f"{path}.config.{name}", problem)


def _topics_at_first(spec: ExperimentSpec) -> Iterator[tuple[str, CreateTopic]]:
    where, owner = ("cluster", spec.cluster) if spec.cluster is not None else ("clusterRef", spec.cluster_ref)
    assert owner is not None
    for index, topic in enumerate(owner.topics):
        yield f"spec.{where}.topics[{index}]", topic


def _created(steps: list[Step], path: str) -> Iterator[tuple[str, CreateTopic]]:
    for index, step in enumerate(steps):
        at = f"{path}[{index}]"
        if step.admin is not None and step.admin.create_topic is not None:
            yield f"{at}.admin.createTopic", step.admin.create_topic
        for number, branch in enumerate(step.parallel or ()):
            yield from _created(branch, f"{at}.parallel[{number}]")
        if step.repeat is not None:
            yield from _created(step.repeat.steps, f"{at}.repeat.steps")


def _wrong(name: str, value: str | int | bool) -> str | None:
    if name not in TOPIC_PROPERTIES:
        near = get_close_matches(name, TOPIC_PROPERTIES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(TOPIC_PROPERTIES)}"
        return f"unknown topic property {name!r}; {hint}"
    try:
        check_topic_property(name, as_text(value))
    except ValueError as error:
        return str(error)
    return None


def as_text(value: str | int | bool) -> str:
    """A property's value as brokers are told it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
