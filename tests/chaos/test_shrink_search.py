"""The search for what is needed: few attempts, whatever seeds and times do to what shows."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Sequence
from concurrent.futures import Future

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_chaos.base.quantities import parse_duration
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.shrink.probdd import Share, fewest
from highwater_chaos.shrink.reductions import (
    schedule_of,
    shorter_timeout,
    with_schedule,
)
from highwater_chaos.shrink.search import Search
from highwater_chaos.shrink.size import size_of
from highwater_chaos.shrink.timeline import timeline_of
from highwater_chaos.shrink.trial import Tried, as_data, experiment_of
from highwater_runtime.ports import SECOND


def step(number: int):
    return {"wait": f"{number}s"}


def inject(name: str, length: str | None = None):
    return {"inject": {"name": name, "kill": {"target": {"broker": 1}}, **({"for": length} if length else {})}}


@given(st.integers(1, 60), st.data())
def test_what_is_needed_is_found_in_few_attempts(count, data):
    needed = data.draw(st.sets(st.integers(0, count - 1), max_size=5))
    attempts: list[Sequence[int]] = []

    def first(selections):
        for number, selection in enumerate(selections):
            attempts.append(selection)
            if needed <= set(selection):
                return number
        return None

    assert fewest(range(count), first, Share.certain()) == sorted(needed)
    assert len(attempts) <= 1 + 2 * max(1, len(needed)) * max(1, math.ceil(math.log2(count)))


@pytest.mark.parametrize(("one_in", "most"), [(2, 60), (4, 130)])
def test_what_is_needed_is_found_though_most_attempts_pass_for_their_timing(one_in, most):
    """Without learning how often that is, a half of them is left, or it takes twice the attempts."""
    left, attempts = [], []
    for salt in range(20):
        made = 0

        def first(selections, salt=salt):
            nonlocal made
            for number, selection in enumerate(selections):
                made += 1
                lucky = zlib.crc32(f"{salt} {made}".encode()) % one_in == 0
                if lucky and {3, 17, 31} <= set(selection):
                    return number
            return None

        left.append(len(fewest(range(40), first, Share())))
        attempts.append(made)
    assert sum(left) / len(left) <= 4
    assert sum(attempts) / len(attempts) <= most


LARGE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: large}
spec:
  seed: 1
  timeout: 10m
  cluster: {brokers: 4, controllers: 3, topics: [{name: orders, partitions: 8, replicationFactor: 3}]}
  workload: {producers: 4, rate: 200/s, consumers: 2}
  schedule: []
"""


def drawn(count: int):
    """As ``random`` draws them: one fault each 200 ms."""
    faults = [
        {
            "name": f"f{number}",
            "for": "2s",
            ("kill", "pause", "powerLoss")[number % 3]: {"target": {"broker": number % 4}},
        }
        for number in range(count)
    ]
    return [{"parallel": [[{"wait": f"{200 * (number + 1)}ms"}, {"inject": one}] for number, one in enumerate(faults)]}]


def names(data) -> list[str]:
    return [one.step["inject"]["name"] for one in timeline_of(schedule_of(data)).steps]


def found_by_search(count: int, fails, most_runs: int) -> tuple[Search, int]:
    """What the search finds in a long schedule if ``fails`` says which proposals fail in the same way."""
    return searched(with_schedule(as_data(parse_experiment(LARGE, "large.yaml")), drawn(count)), fails, most_runs)


def searched(data, fails, most_runs: int, jobs: int = 1) -> tuple[Search, int]:
    """What the search makes of an experiment, and how many it tried."""
    return searched_by(data, lambda data, _most_ns: Tried(fails(data), 1), most_runs, jobs)


def searched_by(data, trial, most_runs: int, jobs: int = 1) -> tuple[Search, int]:
    tried: list[str] = []

    def submit(data, most_ns):
        tried.append(json.dumps(data))
        promised: Future[Tried] = Future()
        promised.set_result(trial(data, most_ns))
        return promised

    search = Search(submit, jobs, most_runs)
    assert search.run(data)
    assert jobs > 1 or len(tried) == len(set(tried)), "nothing is run twice"
    return search, len(tried)


@given(st.integers(20, 120), st.data())
@settings(max_examples=4, deadline=None)
def test_of_a_long_schedule_the_steps_that_matter_are_left_and_all_else_is_as_small_as_it_gets(count, data):
    needed = data.draw(
        st.sets(st.integers(0, count - 1), min_size=1, max_size=4).map(lambda found: {f"f{n}" for n in found})
    )
    search, runs = found_by_search(count, lambda tried: needed <= set(names(tried)), 300)
    assert search.finished
    assert runs < 200
    assert set(names(search.smallest)) == needed
    assert size_of(experiment_of(search.smallest)).partitions == 1


@pytest.mark.quick("e")
@pytest.mark.parametrize("salt", ["e", "f", "g", "h"])
def test_if_one_seed_in_four_shows_it_at_most_five_steps_are_left(salt):
    """As in a run, what comes after the anomaly makes no difference, and every change before it makes one."""
    needed = ["f20", "f60", "f63"]
    original = [f"f{number}" for number in range(64)]

    def fails(data):
        found = names(data)
        if not set(needed) <= set(found):
            return False
        seen, seed = found[: found.index(needed[-1]) + 1], data["spec"]["seed"]
        lucky = zlib.crc32(json.dumps([salt, seen, seed]).encode()) % 4 == 0
        return lucky or (seen == original and seed == 1)

    search, _ = found_by_search(120, fails, 120)
    assert set(needed) <= set(names(search.smallest))
    assert len(names(search.smallest)) <= 5


def test_runs_are_bounded():
    search, runs = found_by_search(60, lambda data: len(names(data)) > 40, 40)
    assert not search.finished
    assert search.runs == 40
    assert runs <= 41, "one may be under way when the last one that counts is over"


def times_of(data):
    return {one.step["inject"]["name"]: one.at_ns for one in timeline_of(schedule_of(data)).steps}


def test_what_comes_after_the_anomaly_is_cut_off_by_halving():
    """As in a run, no change before it shows the anomaly, and none after it hides it."""
    needed = [f"f{number}" for number in range(21)]
    at = {name: times_of(with_schedule({"spec": {}}, drawn(21)))[name] for name in needed}
    search, _ = found_by_search(120, lambda data: at.items() <= times_of(data).items(), 10)
    assert names(search.smallest) == needed
    assert timeline_of(schedule_of(search.smallest)).end_ns == at["f20"] + 2 * SECOND, "when the last fault is over"


def test_if_an_invariant_shows_it_all_that_comes_later_is_cut_off_at_once():
    data = with_schedule(as_data(parse_experiment(LARGE, "large.yaml")), drawn(120))

    def trial(data, _most_ns):
        at = times_of(data).get("f20")
        return Tried(at is not None, 1, shown_ns=at)

    search, _ = searched_by(data, trial, 2)
    assert names(search.smallest)[-1] == "f20"


def test_a_proposal_may_take_twice_as_long_as_what_it_is_made_from():
    """Unless that was ended early, as soon as it had shown the anomaly."""
    data = with_schedule(as_data(parse_experiment(LARGE, "large.yaml")), drawn(120))
    allowed: list[tuple[int, int | None]] = []
    for shown_ns in (None, SECOND):
        took = iter(range(1000, 0, -1))
        allowed.clear()

        def trial(data, most_ns, took=took, shown_ns=shown_ns):
            shows = "f20" in names(data)
            now = next(took)
            allowed.append((now if shows else 0, most_ns))
            return Tried(shows, 1, now, shown_ns)

        searched_by(data, trial, 30)
        assert len(allowed) > 30
        expected: int | None = None
        for took_ns, most_ns in allowed:
            assert most_ns == expected
            if took_ns and shown_ns is None:
                expected = 2 * took_ns


def test_of_what_comes_before_the_anomaly_the_end_is_tried_first():
    for first, left in (("f119", 8), ("f104", 24)):  # otherwise 40 of 120 are left after as many runs
        search, _ = found_by_search(120, lambda data: {first, "f119"} <= set(names(data)), 12)  # noqa: B023
        assert len(names(search.smallest)) <= left


def test_ends_are_tried_with_several_seeds():
    """Of 120 steps the last five show it, with the third seed."""

    def fails(data):
        return "f119" in names(data) and (len(names(data)) == 120 or data["spec"]["seed"] == 3)

    search, _ = found_by_search(120, fails, 25)
    assert len(names(search.smallest)) <= 20


def test_steps_that_go_do_not_move_those_that_stay():
    """Not in a row, where a step that takes time moves the rest."""
    kill = {"kill": {"target": {"broker": 0}}}
    steps = [
        {"parallel": [[step(5), {"inject": {"name": "needless", **kill}}]]},
        step(1),
        {"inject": {"name": "needed", **kill}},
        step(4),
    ]
    data = with_schedule(as_data(parse_experiment(LARGE, "large.yaml")), steps)

    def fails(tried):
        timeline = timeline_of(schedule_of(tried))
        if not any("parallel" in one for one in schedule_of(tried)):
            return False
        return timeline.end_ns == 10 * SECOND and times_of(tried).get("needed") == 6 * SECOND

    assert names(searched(data, fails, 100)[0].smallest) == ["needed"]


def test_more_seeds_are_tried_while_much_is_left_and_none_for_what_is_small():
    """Every change shows it with one seed in twelve only."""

    def fails(data):
        return {"f3", "f7"} <= set(names(data)) and (len(names(data)) == 10 or data["spec"]["seed"] % 12 == 0)

    assert names(found_by_search(10, fails, 900)[0].smallest) == ["f3", "f7"]
    assert found_by_search(5, lambda data: len(names(data)) == 5, 400)[1] < 80


def test_every_second_attempt_to_remove_steps_has_a_seed_of_its_own_and_begins_at_once():
    """Which steps are needed may depend on the seed, and nothing is at its old time with another one."""
    seen, new = set(), []

    def fails(data):
        found = tuple(names(data))
        if len(found) > 5 and found not in seen:
            new.append(data)
        seen.add(found)
        return len(found) == 20

    found_by_search(20, fails, 80)
    others = [data for data in new if data["spec"]["seed"] != 1]
    assert len(others) >= 5
    assert {min(times_of(data).values()) for data in others} == {0}


def test_a_few_steps_that_follow_each_other_are_found_though_one_seed_in_seven_shows_it():
    """As if each of 60 steps that is removed moved all others."""

    def fails(data):
        found, seed = names(data), data["spec"]["seed"]
        return len(found) == 60 or ({"f56", "f57"} <= set(found) and seed % 7 == 0)

    assert len(names(found_by_search(60, fails, 40)[0].smallest)) <= 5


def test_of_steps_that_are_as_likely_the_oldest_are_removed_first():
    attempts: list[list[int]] = []

    def first(selections):
        attempts.extend(selections)

    fewest(range(8), first, Share(), [1 / rank for rank in range(8, 0, -1)])
    assert attempts[0] == list(range(8))[-len(attempts[0]) :] != []
    assert 7 not in set(range(8)).difference(*attempts[:1])


def test_a_run_that_does_not_recover_is_over_soon_after_its_schedule():
    """Of a timeout of ten minutes as much is left as the anomaly needs, and a run that recovers keeps it."""
    data = with_schedule(as_data(parse_experiment(LARGE, "large.yaml")), [step(20), inject("a"), step(30)])

    def least(took_ns, fails=lambda _: True):
        return next((one["spec"]["timeout"] for one in shorter_timeout(data, took_ns) if fails(one)), "10m")

    assert least(300 * SECOND) == "58s"
    assert least(300 * SECOND, lambda one: parse_duration(one["spec"]["timeout"]) > 70 * SECOND) == "1m22s"
    assert least(60 * SECOND) == "10m"
    tried = searched_by(data, lambda one, _: Tried("a" in names(one), 1, 300 * SECOND), 40)[0].smallest
    assert tried["spec"]["timeout"] == "28s"


def test_whole_kinds_of_faults_and_all_that_hits_a_node_go_at_once():
    needed = {f"f{number}" for number in range(0, 120, 12)}  # all kills of broker 0
    search, _ = found_by_search(120, lambda data: needed <= set(names(data)), 60)
    assert set(names(search.smallest)) == needed


def test_what_becomes_needless_later_goes_too():
    def fails(data):
        return "f3" in names(data) and ("f7" in names(data) or data["spec"]["workload"]["producers"] == 1)

    assert names(found_by_search(12, fails, 300)[0].smallest) == ["f3"]


VARIED = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: varied}
spec:
  seed: 1
  timeout: 10m
  cluster:
    brokers: 4
    controllers: 5
    config: {min.insync.replicas: 1, replica.lag.time.max.ms: 3000}
    topics:
      - {name: invoices, partitions: 2, replicationFactor: 2}
      - {name: orders, partitions: 8, replicationFactor: 3}
      - {name: moved, partitions: 3, assignment: [[0, 1], [1, 2], [2, 3]]}
  workload: {producers: 4, rate: 200/s, consumers: 2, recordSize: 100, recordsAtOnce: 4, groupMembers: 8, metadata: {}}
  schedule:
    - wait: 2345ms
    - inject: {name: first, for: 7s, kill: {target: {broker: 3}}}
    - wait: 9s
    - inject: {name: second, pause: {target: {broker: 3}}, for: 5s}
"""


def test_everything_else_becomes_as_small_as_it_may():
    data = as_data(parse_experiment(VARIED, "varied.yaml"))
    del data["spec"]["cluster"]["topics"][2]
    search, _ = searched(data, lambda tried: names(tried) == ["first", "second"], 300)
    spec = search.smallest["spec"]
    cluster, workload = spec["cluster"], spec["workload"]
    assert schedule_of(search.smallest) == [
        {"inject": {"name": "first", "for": "1s", "kill": {"target": {"broker": 0}}}},
        {"inject": {"name": "second", "pause": {"target": {"broker": 0}}, "for": "1s"}},
    ]
    (topic,) = cluster["topics"]
    assert (cluster["brokers"], cluster["controllers"], cluster["config"]) == (1, 1, {})
    assert (topic["name"], topic["partitions"], topic["replicationFactor"]) == ("orders", 1, 1)
    assert "metadata" not in workload
    sizes = [workload[name] for name in ("producers", "consumers", "recordSize", "recordsAtOnce", "rate")]
    assert sizes == [1, 0, 0, 1, "1/s"]
    assert workload["groupMembers"] == 0


def test_what_is_needed_of_it_stays():
    """Each at the smallest that the steps of its rule reach."""

    def fails(tried):
        cluster, workload, times = tried["spec"]["cluster"], tried["spec"]["workload"], timeline_of(schedule_of(tried))
        topics = {topic["name"]: topic for topic in cluster["topics"]}
        return (
            names(tried) == ["first", "second"]
            and cluster["controllers"] >= 3
            and cluster["brokers"] >= 3
            and "replica.lag.time.max.ms" in cluster["config"]
            and {"orders", "moved"} <= topics.keys()
            and topics["orders"]["partitions"] >= 3
            and len(topics["moved"]["assignment"]) >= 2
            and workload["groupMembers"] >= 2
            and float(workload["rate"].removesuffix("/s")) >= 30
            and parse_duration(times.steps[0].step["inject"]["for"]) >= 3 * SECOND
            and times.steps[0].at_ns >= 2.2 * SECOND
            and times.steps[1].at_ns - times.steps[0].at_ns == 9 * SECOND
        )

    data = as_data(parse_experiment(VARIED, "varied.yaml"))
    search, runs = searched(data, fails, 400)
    spec = search.smallest["spec"]
    cluster, workload = spec["cluster"], spec["workload"]
    orders, moved = cluster["topics"]
    assert (cluster["controllers"], cluster["brokers"]) == (3, 4), "an assignment names each broker"
    assert list(cluster["config"]) == ["replica.lag.time.max.ms"]
    assert (orders["partitions"], orders["replicationFactor"], moved["assignment"]) == (3, 2, [[0, 1], [1, 2]])
    assert (workload["groupMembers"], workload["rate"]) == (2, "50/s")
    assert schedule_of(search.smallest)[:2] == [
        {"wait": "3s"},
        {"inject": {"name": "first", "for": "3s", "kill": {"target": {"broker": 3}}}},
    ]
    # With several at a time it is the same, though later ones are run before it is known whether they are needed.
    ahead, _ = searched(data, fails, 400, jobs=3)
    assert (ahead.smallest, ahead.runs) == (search.smallest, runs)


def test_times_are_rounded_all_together_and_each_alone():
    def first(wait, pause, fails):
        schedule = [
            {"wait": wait},
            {"inject": {"name": "a", "kill": {"target": {"broker": 0}}}},
            {"wait": pause},
            {"inject": {"name": "b", "kill": {"target": {"broker": 0}}}},
        ]
        data = with_schedule(as_data(parse_experiment(LARGE, "large.yaml")), schedule)

        def holds(tried):
            at = times_of(tried)
            return at.keys() == {"a", "b"} and fails(at["a"], at["b"] - at["a"])

        return times_of(searched(data, holds, 200)[0].smallest)

    assert first("2345ms", "2345ms", lambda a, b: a == b > SECOND) == {"a": 3 * SECOND, "b": 6 * SECOND}
    exactly = 1234 * SECOND // 1000
    assert first("2345ms", "1234ms", lambda a, b: a > 2 * SECOND and b == exactly) == {
        "a": 3 * SECOND,
        "b": 3 * SECOND + exactly,
    }
