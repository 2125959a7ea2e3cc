"""The key of a run: unique, in order of time, and the same for a seed of a campaign that is tried again."""

from __future__ import annotations

import time
from uuid import RFC_4122, UUID

from highwater_chaos.run.run_id import new_run_id, run_id_within


def test_keys_are_unique_and_in_order_of_time() -> None:
    before = time.time_ns() // 1_000_000
    keys = [new_run_id() for _ in range(1000)]
    after = time.time_ns() // 1_000_000
    assert len(set(keys)) == 1000
    for key in map(UUID, keys):
        assert (key.version, key.variant) == (7, RFC_4122)
        assert before <= key.int >> 80 <= after
    assert [key[:13] for key in keys] == sorted(key[:13] for key in keys)


def test_a_seed_of_a_campaign_has_one_key() -> None:
    campaign = new_run_id()
    keys = {run_id_within(campaign, name, "", seed) for name in ("a", "b") for seed in range(100)}
    assert len(keys) == 200
    assert run_id_within(campaign, "a", "", 7) in keys
    assert run_id_within(new_run_id(), "a", "", 7) not in keys
    assert {UUID(key).version for key in keys} == {7}
    assert {UUID(key).int >> 80 for key in keys} == {UUID(campaign).int >> 80}
