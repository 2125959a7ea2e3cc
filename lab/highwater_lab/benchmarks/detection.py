"""How many seeds, and how much processor time, it takes to detect each switch: a table of the laboratory's page.

    python -m highwater_lab.benchmarks.detection [SWITCH=VALUE ...] [--starts 10] [--most 100] [--first 1] [--random]

Each start has seeds of its own, ``--most`` of them, and is over with its first failing seed. Seeds are those of the
file that is made for the switch, or with ``--random`` of ``random``. One process; nothing but the seconds depends on
the machine.

The interval is that of the mean number of seeds: the inverse of the exact binomial (Clopper-Pearson) 95 % interval of
the share of failing seeds. To stop at a failing seed makes that interval too wide, never too narrow.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

from highwater_chaos.campaign.plan import Plan, Series, series_of_file, series_of_random
from highwater_chaos.campaign.seed import Outcome, prepare_process, run_seed_job
from highwater_chaos.experiment import load_experiment
from highwater_lab.benchmarks.shrink import FILES, SCENARIOS

COLUMNS = ("switch", "seeds of", "found", "seeds: mean (95 %)", "most seeds", "seconds: mean", "most seconds")


def exact_interval(failed: int, seeds: int) -> tuple[float, float]:
    """The 95 % Clopper-Pearson interval of the share of failing seeds."""

    def at_most(count: int, share: float) -> float:
        return math.fsum(math.comb(seeds, n) * share**n * (1 - share) ** (seeds - n) for n in range(count + 1))

    least = 0.0 if failed == 0 else _where(lambda share: 1 - at_most(failed - 1, share) > 0.025)
    most = 1.0 if failed == seeds else _where(lambda share: at_most(failed, share) < 0.025)
    return least, most


def _where(holds: Callable[[float], bool]) -> float:
    """The least share for which this holds; it holds for all that are larger."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def start_of(series: Series, seeds: range, switch: tuple[str, str]) -> list[Outcome]:
    """The outcomes up to the first that failed."""
    plan, outcomes = Plan((series,), seeds, (switch,)), []
    for seed in seeds:
        outcomes.append(run_seed_job(plan.unit(series, seed)))
        if outcomes[-1].verdict == "fail":
            break
    return outcomes


def line_of(switch: str, *, first: int, starts: int, most: int, random: bool) -> str:
    """The line of one switch."""
    name, _, value = switch.partition("=")
    if random:
        series = series_of_random({name: value}, until_failure=True)
    else:
        series = series_of_file(load_experiment(SCENARIOS / f"{FILES[switch]}.yaml"), {name: value}, until_failure=True)
    begins = range(first, first + starts * most, most)
    runs = [start_of(series, range(begin, begin + most), (name, value)) for begin in begins]
    found = sum(run[-1].verdict == "fail" for run in runs)
    errors = sum(one.verdict == "error" for run in runs for one in run)
    seeds = sum(len(run) for run in runs)
    least, highest = exact_interval(found, seeds)
    mean, many = (f"{1 / share:.1f}" if share else "∞" for share in (found / seeds, least))
    seconds = [sum(one.cpu_seconds for one in run) for run in runs]
    cells = (
        f"`{switch}`",
        "`random`" if random else f"`{FILES[switch]}`",
        f"{found} of {starts}" + (f", {errors} errors" if errors else ""),
        f"{mean} ({1 / highest:.1f} to {many})",
        str(max(len(run) for run in runs)),
        f"{sum(seconds) / starts:.1f}",
        f"{max(seconds):.1f}",
    )
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("switches", nargs="*", metavar="SWITCH=VALUE", help=f"by default {', '.join(FILES)}")
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--most", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--random", action="store_true")
    given = parser.parse_args()
    if unknown := [one for one in given.switches if one not in FILES]:
        parser.error(f"{unknown[0]!r}: expected one of {', '.join(FILES)}")
    if min(given.starts, given.most) < 1 or given.first < 0:
        parser.error("expected at least one start of at least one seed, from seed 0 on")
    prepare_process()
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" * len(COLUMNS) + "|")
    for switch in given.switches or FILES:
        line = line_of(switch, first=given.first, starts=given.starts, most=given.most, random=given.random)
        print(line, flush=True)


if __name__ == "__main__":
    main()
