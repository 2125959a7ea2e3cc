"""Short stories of a quorum: what happens, and what everybody knows afterwards. The referee watches every event."""

from __future__ import annotations

import pytest

from highwater_runtime.log.errors import RecordBatchTooLargeError
from highwater_runtime.log.records import build_batch
from highwater_runtime.raft import NotLeaderError, metadata_log
from highwater_runtime.raft.states import Follower, Leader, Observer, Prospective, Resigned, Unattached


def test_a_single_voter_leads_at_once(cluster) -> None:
    c = cluster(1)
    leader = c.await_leader(within_ms=100)
    assert c.raft(leader).append([b"a", b"b"]) == 2
    assert c.heard(leader).values == [], "nothing is committed before it is on disk"
    c.await_everywhere([b"a", b"b"])
    assert c.heard(leader).commits == [(0, 1, [], 0), (1, 1, [b"a", b"b"], 2)]
    assert c.raft(leader).high_watermark == c.raft(leader).log_end_offset == 3


def test_a_single_voter_comes_back_in_a_new_epoch_and_tells_all_again(cluster) -> None:
    c = cluster(1)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    c.sim.power_loss(leader)
    c.start(leader)
    c.await_leader()
    assert c.raft(leader).epoch == 2
    assert c.heard(leader).values == [b"a"]
    assert [epoch for _, epoch, _, _ in c.heard(leader).commits] == [1, 1, 2]


@pytest.mark.parametrize("voters", [2, 3, 4, 5])
def test_voters_elect_one_leader_and_all_learn_what_it_commits(cluster, voters: int) -> None:
    c = cluster(voters, observers=2)
    leader = c.await_leader()
    c.append(b"a")
    c.append(b"b", b"c")
    c.await_everywhere([b"a", b"b", b"c"])
    assert {c.raft(name).leader_id for name in c.names} == {c.ids[leader]}
    assert all(isinstance(c.raft(name).state, Follower) for name in c.followers(leader))
    assert all(isinstance(c.raft(name).state, Observer) for name in c.observers)


def test_a_commit_reaches_followers_without_waiting_for_the_next_one(cluster) -> None:
    c = cluster(3, observers=1)
    c.await_leader()
    c.await_everywhere([])
    c.run_ms(300)
    before = c.sim.now_ns
    c.append(b"a")
    c.await_everywhere([b"a"])
    assert c.sim.now_ns - before < 40e6, "a long poll (50 ms) must not be in the way"


def test_append_is_refused_with_the_leader_s_name(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    follower = c.followers(leader)[0]
    with pytest.raises(NotLeaderError) as refused:
        c.raft(follower).append([b"x"])
    assert (refused.value.leader_id, refused.value.epoch) == (c.ids[leader], c.raft(leader).epoch)


def test_a_batch_that_is_too_large_to_be_fetched_is_refused(cluster, monkeypatch) -> None:
    monkeypatch.setattr(metadata_log, "MAX_BATCH_BYTES", 100)
    c = cluster(3)
    leader = c.await_leader()
    end = c.raft(leader).log_end_offset
    with pytest.raises(RecordBatchTooLargeError, match="2 records of 101 bytes"):
        c.append(bytes(60), bytes(41))
    assert c.raft(leader).log_end_offset == end
    c.append(bytes(60), bytes(40))
    c.await_everywhere([bytes(60), bytes(40)])


def test_a_crashed_leader_is_replaced_and_comes_back_resigned(cluster) -> None:
    c = cluster(3)
    first = c.await_leader()
    epoch = c.raft(first).epoch
    c.append(b"a")
    c.await_everywhere([b"a"])
    c.sim.kill(first)
    second = c.await_leader(other_than=first)
    assert c.raft(second).epoch > epoch
    c.append(b"b")
    c.start(first)
    c.await_everywhere([b"a", b"b"])
    assert isinstance(c.raft(first).state, Follower)
    comeback = [state for name, state in c.referee.states if name == first and state.epoch == epoch]
    assert [state.reason for state in comeback] == ["candidate", "leader", "resigned"]


def test_a_leader_that_restarts_at_once_hands_over_without_a_time_out(cluster) -> None:
    c = cluster(3)
    first = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    c.sim.kill(first)
    c.start(first)
    before = c.sim.now_ns
    c.await_leader()
    assert c.sim.now_ns - before < 100e6, "quicker than any election time-out"


def test_an_unacknowledged_tail_is_cut_when_another_wrote_on(cluster) -> None:
    c = cluster(3)
    old = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    cut = c.sim.faults.isolate(old)
    c.raft(old).append([b"lost-1"])
    c.raft(old).append([b"lost-2"])
    new = c.await_leader(other_than=old)
    c.raft(new).append([b"b"])
    c.until(lambda: c.heard(new).values == [b"a", b"b"])
    assert c.heard(old).values == [b"a"], "nothing of the minority is committed"
    c.sim.faults.heal(cut)
    c.await_everywhere([b"a", b"b"])
    assert [name for name, _ in c.referee.truncations] == [old]


def test_check_quorum_a_leader_alone_resigns(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    epoch = c.raft(leader).epoch
    c.run_ms(200)
    c.sim.faults.isolate(leader)
    before = c.sim.now_ns
    c.until(lambda: isinstance(c.raft(leader).state, Resigned))
    assert 200e6 < c.sim.now_ns - before <= 310e6, "1.5 fetch time-outs after the last majority"
    assert c.raft(leader).leader_id is None
    assert c.heard(leader).leaders[-1] == (None, epoch), "the listener heard at once"
    with pytest.raises(NotLeaderError):
        c.raft(leader).append([b"x"])


def test_check_quorum_one_follower_of_two_is_enough(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    epoch = c.raft(leader).epoch
    c.sim.power_loss(c.followers(leader)[0])
    c.run_ms(3000)
    assert c.raft(leader).state == Leader(epoch, c.ids[leader], c.raft(leader).state.granting)
    c.append(b"a")
    c.await_everywhere([b"a"])


def test_observers_do_not_keep_a_leader_in_office(cluster) -> None:
    c = cluster(3, observers=3)
    leader = c.await_leader()
    c.run_ms(200)
    for follower in c.followers(leader):
        c.sim.power_loss(follower)
    c.run_ms(400)
    assert not c.raft(leader).is_leader
    assert c.leader is None


def test_stop_hands_over_to_the_most_caught_up_voter(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    behind, ahead = c.followers(leader)
    c.sim.faults.cut(behind, leader)
    c.append(b"b")
    c.until(lambda: c.heard(ahead).values == [b"a", b"b"])
    before = c.sim.now_ns
    c.sim.stop(leader)
    assert c.await_leader(other_than=leader) == ahead
    assert c.sim.now_ns - before < 50e6
    c.until(lambda: not c.sim.node(leader).is_alive)
    c.append(b"c")
    c.await_everywhere([b"a", b"b", b"c"])


def test_stop_ends_although_nobody_answers(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    c.sim.faults.isolate(leader)
    c.sim.stop(leader)
    c.until(lambda: not c.sim.node(leader).is_alive, within_ms=250)


def test_resign_on_request(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    epoch = c.raft(leader).epoch
    c.raft(leader).resign()
    assert isinstance(c.raft(leader).state, Resigned)
    assert c.heard(leader).leaders[-1] == (None, epoch)
    assert c.await_leader() != leader
    c.raft(leader).resign()
    assert c.leader is not None, "who does not lead has nothing to resign"


def test_a_majority_is_needed_to_elect_and_to_commit(cluster) -> None:
    c = cluster(5, started=False)
    c.start(*c.voters[:2])
    c.run_ms(3000)
    assert c.leader is None
    assert any(isinstance(c.raft(name).state, Prospective) for name in c.voters[:2])
    c.start(c.voters[2])
    c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])


def test_the_vote_survives_a_power_loss(cluster) -> None:
    c = cluster(3)
    c.await_leader()
    for _ in range(5):
        for name in c.voters:
            c.sim.power_loss(name)
        c.start(*c.voters)
        c.until(lambda: len(c.running) == 3)
        c.run_ms(60)  # the referee knows every vote of every incarnation
    c.await_leader()


def test_what_is_committed_survives_the_power_loss_of_all(cluster) -> None:
    c = cluster(3, observers=1)
    c.await_leader()
    for value in (b"a", b"b", b"c"):
        c.append(value)
    c.await_everywhere([b"a", b"b", b"c"])
    for name in c.names:
        c.sim.power_loss(name, "none")
    c.start()
    c.await_leader()
    c.await_everywhere([b"a", b"b", b"c"])


def test_a_leader_s_own_log_counts_only_once_it_is_on_disk(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    c.await_everywhere([])
    c.run_ms(100)
    quick, cut_off = c.followers(leader)
    c.sim.power_loss(cut_off)
    c.sim.node(leader).disk.set_stalled(True)
    c.append(b"a")
    c.run_ms(100)
    acknowledged = c.raft(leader)._role.progress.voters[c.ids[quick]].end_offset
    assert acknowledged == c.raft(leader).log_end_offset, "the follower has it on disk"
    assert c.heard(leader).values == [], "one of three has it on disk"
    c.sim.node(leader).disk.set_stalled(False)
    c.await_everywhere([b"a"])


def test_a_follower_acknowledges_only_what_is_on_disk(cluster) -> None:
    c = cluster(2)
    leader = c.await_leader()
    (follower,) = c.followers(leader)
    c.await_everywhere([])
    c.sim.node(follower).disk.set_stalled(True)
    c.append(b"a")
    c.until(lambda: c.raft(follower).log_end_offset == c.raft(leader).log_end_offset, within_ms=100)
    c.run_ms(100)
    assert c.heard(leader).values == []
    c.sim.node(follower).disk.set_stalled(False)
    c.await_everywhere([b"a"])


def test_what_a_crash_left_in_the_page_cache_is_flushed_before_it_is_acknowledged(cluster) -> None:
    c = cluster(2)
    leader = c.await_leader()
    (follower,) = c.followers(leader)
    c.await_everywhere([])
    c.raft(follower)._log.flush_soon = lambda: None  # the crash comes between append and flush
    c.append(b"a")
    c.until(lambda: c.raft(follower).log_end_offset == c.raft(leader).log_end_offset, within_ms=100)
    c.sim.kill(follower)
    c.start(follower)
    c.await_everywhere([b"a"])
    held = c.raft(follower).log_end_offset
    c.sim.power_loss(follower, "none")
    c.sim.faults.isolate(follower)
    c.start(follower)
    c.until(lambda: follower in c.running)
    assert c.raft(follower).log_end_offset == held


def test_a_leader_whose_disk_fails_ends_and_is_replaced(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    c.sim.node(leader).disk.set_errors("fsync")
    c.append(b"b")
    c.until(lambda: not c.sim.node(leader).is_alive, within_ms=100)
    c.await_leader(other_than=leader)
    c.sim.node(leader).disk.heal()
    c.start(leader)
    c.append(b"c")
    c.until(lambda: all(c.heard(name).values[-1:] == [b"c"] for name in c.voters))


def test_observers_find_the_leader_wherever_it_is(cluster) -> None:
    c = cluster(3, observers=1)
    first = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    c.sim.power_loss(first)
    c.await_leader(other_than=first)
    c.append(b"b")
    c.await_everywhere([b"a", b"b"])
    assert c.raft("broker-0").leader_id == c.ids[c.leader]
    assert not c.raft("broker-0").is_voter


def test_a_voter_that_does_not_answer_is_not_asked_again_and_again(cluster) -> None:
    """A request to a paused voter takes its whole time-out; the other voters know the new leader meanwhile."""
    for seed in range(1, 21):
        c = cluster(3, observers=1, seed=seed)
        first = c.await_leader()
        c.append(b"a")
        c.await_everywhere([b"a"])
        c.sim.pause(first)
        second = c.await_leader(other_than=first)
        c.until(
            lambda c=c, second=second: c.raft("broker-0").leader_id == c.ids[second],
            within_ms=2 * c.config.quorum_request_timeout_ms,
        )


def test_an_observer_alone_is_patient(cluster) -> None:
    c = cluster(3, observers=1, started=False)
    c.start("broker-0")
    c.run_ms(2000)
    assert c.raft("broker-0").state == Unattached(0)
    c.start(*c.voters)
    c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])


def test_a_restarted_observer_is_told_everything_again_once(cluster) -> None:
    c = cluster(1, observers=1)
    c.await_leader()
    c.append(b"a", b"b")
    c.await_everywhere([b"a", b"b"])
    c.sim.kill("broker-0")
    c.start("broker-0")
    c.await_everywhere([b"a", b"b"])


def test_a_laggard_catches_up_over_several_segments(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    laggard = c.followers(leader)[0]
    c.until(lambda: len(c.running) == 3)
    c.sim.power_loss(laggard)
    values = [b"%d" % i + bytes(300) for i in range(60)]
    for value in values:
        c.append(value)
    c.start(laggard)
    c.await_everywhere(values)


def test_a_paused_leader_is_deposed_and_follows_when_it_wakes(cluster) -> None:
    c = cluster(3)
    old = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    c.sim.pause(old)
    new = c.await_leader(other_than=old)
    c.raft(new).append([b"b"])
    c.run_ms(500)
    c.raft(old).append([b"lost"])  # it does not know yet
    c.sim.resume(old)
    c.await_everywhere([b"a", b"b"])
    assert c.leader == new


def test_a_listener_may_append_and_resign_when_it_hears_news(cluster) -> None:
    c = cluster(3)
    c.until(lambda: len(c.running) == 3)

    def reacting(name: str):
        def react(what: str) -> None:
            heard, raft = c.heard(name), c.raft(name)
            if what == "leader" and heard.is_told_to_lead and not heard.values:
                raft.append([b"first"])
            if what == "commit" and raft.is_leader and heard.commits[-1][2] == [b"first"]:
                raft.resign()
                with pytest.raises(NotLeaderError):
                    raft.append([b"too late"])

        return react

    for name in c.voters:
        c.heard(name).react = reacting(name)
    c.await_everywhere([b"first"])
    c.run_ms(1000)
    c.await_leader()
    assert len(c.referee.leaders) >= 2
    c.await_everywhere([b"first"])


def test_two_clusters_do_not_mix(cluster) -> None:
    c = cluster(3, started=False)
    c.start(*c.voters[:2])
    c.await_leader()
    c.start(c.voters[2])
    c.until(lambda: c.voters[2] in c.running)
    stranger = c.raft(c.voters[2])
    object.__setattr__(stranger._shared, "cluster_id", "another")
    epoch = max(c.raft(name).epoch for name in c.voters[:2])
    c.run_ms(2000)
    assert max(c.raft(name).epoch for name in c.voters[:2]) == epoch, "its votes are not even read"
    assert not stranger.is_leader
    assert c.leader in c.voters[:2]


def test_gauges(cluster) -> None:
    c = cluster(3)
    leader = c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    found = {
        (
            sample.node,
            sample.name.removeprefix("kafka_server_raftmetrics_"),
            tuple(dict(sample.labels).values()),
        ): sample.value
        for sample in c.sim.metric_samples()
        if sample.name.startswith("kafka_server_raftmetrics_")
    }
    follower = c.followers(leader)[0]
    assert found[leader, "current_state", ("leader",)] == 1
    assert found[follower, "current_state", ("follower",)] == 1
    assert sum(1 for node, name, _ in found if node == follower and name == "current_state") == 1
    assert found[follower, "current_leader", ()] == c.ids[leader]
    assert found[leader, "current_vote", ()] == c.ids[leader]
    assert found[follower, "current_epoch", ()] == c.raft(leader).epoch
    assert found[follower, "high_watermark", ()] == found[follower, "log_end_offset", ()] == 2


def test_equal_seeds_make_equal_runs(cluster) -> None:
    def digest(seed: int) -> str:
        c = cluster(3, observers=1, seed=seed)
        leader = c.await_leader()
        c.append(b"a")
        c.sim.power_loss(leader)
        c.await_leader(other_than=leader)
        c.run_ms(300)
        return c.sim.digest()

    assert digest(3) == digest(3)
    assert digest(3) != digest(4)


def test_a_log_that_parts_twice_is_cut_twice_before_any_of_it_counts_as_committed(cluster, monkeypatch) -> None:
    """A follower learns the leader's HW only with records that fit: what is left after the first cut may part too.

    Its own log was written by two leaders of whom nobody else heard (epochs 2 and 4), while epoch 3 wrote the records
    that were committed. The leader names epoch 3 as the one where they part; the follower knows no epoch 3, cuts back
    to the end of epoch 2, and holds there, below the leader's HW, what the leader never had.
    """
    logs = {
        "controller-0": [(1, [b"a"]), (3, [b"b", b"c", b"d"]), (5, [b"e"])],
        "controller-1": [(1, [b"a"]), (3, [b"b", b"c", b"d"]), (5, [b"e"])],
        "controller-2": [(1, [b"a"]), (2, [b"x"]), (4, [b"y", b"z"])],
    }
    c = cluster(3, started=False)
    make = c._make

    def with_log(name, endpoints, ports):
        node = make(name, endpoints, ports)
        for epoch, values in logs[name]:
            node.log.append_as_follower(
                build_batch(values, base_offset=node.log.log_end_offset, leader_epoch=epoch), leader_epoch=epoch
            )
        node.log.flush()
        return node

    monkeypatch.setattr(c, "_make", with_log)
    c.start("controller-0", "controller-1")
    c.await_leader()
    c.await_everywhere([b"a", b"b", b"c", b"d", b"e"])
    c.start("controller-2")
    c.until(lambda: "controller-2" in c.running)
    c.await_everywhere([b"a", b"b", b"c", b"d", b"e"])
    assert [(name, cut.offset) for name, cut in c.referee.truncations] == [("controller-2", 2), ("controller-2", 1)]
