"""The intervals that the table of detection prints."""

from __future__ import annotations

import pytest

from highwater_lab.benchmarks.detection import exact_interval


@pytest.mark.parametrize(
    ("failed", "seeds", "least", "most"),
    # The bounds of none and all have closed forms; the one between is in printed tables of the binomial.
    [(0, 10, 0.0, 1 - 0.025**0.1), (10, 10, 0.025**0.1, 1.0), (5, 10, 0.1871, 0.8129)],
)
def test_exact_interval(failed: int, seeds: int, least: float, most: float) -> None:
    assert exact_interval(failed, seeds) == pytest.approx((least, most), abs=5e-5)
