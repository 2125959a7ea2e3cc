"""Does a guide find more, or sooner? Guided campaigns of ``random`` against blind ones, on the same seeds.

    python -m highwater_lab.benchmarks.guided coverage [--seeds 60] [--from 1]
    python -m highwater_lab.benchmarks.guided detection NAME[=VALUE] ... [--seeds 60] [--from 1 ...]

``coverage``: how many transitions and combinations were reached after so many seeds, at the default of every switch.
``detection``: how many seeds it took until one failed, with a switch set or a mutant put in. Several ``--from`` give
several campaigns, each of which begins at that seed. One process; the figures depend on nothing but the arguments.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from highwater_chaos.campaign.plan import Plan, Progress, Series, series_of_random
from highwater_chaos.campaign.seed import Outcome, prepare_process
from highwater_lab.guided import GuidedProgress, guided_plan
from highwater_lab.mutants import CATALOGUE
from highwater_lab.mutated import run_mutated, series_of_mutant


def campaign(
    series: Series, seeds: range, switches: tuple[tuple[str, str], ...] = (), *, guided: bool
) -> Iterator[Outcome]:
    """The outcomes of a campaign, in order, as they come."""
    plan = Plan((series,), seeds, switches, combinations=True)
    progress = GuidedProgress(guided_plan(plan)) if guided else Progress(plan)
    for units in progress.rounds():
        for unit in units:
            outcome = run_mutated(unit)
            progress.add(outcome)
            yield outcome


def coverage(seeds: int, starts: list[int]) -> None:
    """Print one line for each campaign, and one more each 20 seeds of it."""
    print("| drawn | from seed | seeds | transitions | combinations | failing | seconds |")
    print("|---|---|---|---|---|---|---|")
    for start in starts:
        for guided in (False, True):
            transitions: set[str] = set()
            combinations: set[str] = set()
            failing, seconds = 0, 0.0
            series = series_of_random({}, until_failure=False)
            outcomes = campaign(series, range(start, start + seeds), guided=guided)
            for number, outcome in enumerate(outcomes, start=1):
                transitions.update(outcome.transitions)
                combinations.update(outcome.combinations)
                failing += outcome.verdict != "pass"
                seconds += outcome.cpu_seconds
                if outcome.verdict != "pass":
                    print(
                        f"seed {outcome.seed}: {outcome.verdict} {outcome.anomalies} {outcome.reasons}", file=sys.stderr
                    )
                if number % 20 == 0 or number == seeds:
                    reached = f"{len(transitions)} | {len(combinations)}"
                    how = "guided" if guided else "blind"
                    print(f"| {how} | {start} | {number} | {reached} | {failing} | {seconds:.0f} |", flush=True)


def detection(names: list[str], seeds: int, starts: list[int]) -> None:
    """Print one line for each switch or mutant."""
    columns = [f"{how}, from {start}" for start in starts for how in ("blind", "guided")]
    print("| " + " | ".join(["bug", *columns]) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name in names:
        switch, _, value = name.partition("=")
        switches = ((switch, value),) if value else ()
        cells = []
        for start in starts:
            for guided in (False, True):
                series = series_of_random(dict(switches), until_failure=True)
                mutated = series if value else series_of_mutant(series, CATALOGUE[name])
                assert mutated is not None, "random has both modes"
                outcomes = list(campaign(mutated, range(start, start + seeds), switches, guided=guided))
                found = outcomes[-1].verdict == "fail"
                cells.append(f"{len(outcomes)}" if found else f"none in {len(outcomes)}")
        print(f"| `{name}` | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("coverage", "detection"))
    parser.add_argument("names", nargs="*", metavar="NAME[=VALUE]")
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--from", dest="starts", type=int, nargs="+", default=[1])
    given = parser.parse_args()
    prepare_process()
    if given.what == "coverage":
        coverage(given.seeds, given.starts)
    else:
        detection(given.names, given.seeds, given.starts)


if __name__ == "__main__":
    main()
