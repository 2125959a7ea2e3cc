"""Puts a release into the image of its pods: ``python -m highwater_chaos.apache_kafka [--fetch] RELEASE``.

``--fetch``: the jars alone, in a stage that has Maven. Without it, what the Java that will run them makes of them.
"""

from __future__ import annotations

import argparse
import sys

from highwater_chaos.apache_kafka.fetching import ApacheKafkaUnavailableError
from highwater_chaos.apache_kafka.installation import fetch, install
from highwater_chaos.apache_kafka.versions import why_not_in_pods


def main() -> None:
    """Entry point. Exit status: 0 done; 1 not to be had; 2 no release that runs in pods."""
    parser = argparse.ArgumentParser(prog="python -m highwater_chaos.apache_kafka", description=__doc__)
    parser.add_argument("--fetch", action="store_true", help="only fetch")
    parser.add_argument("release")
    given = parser.parse_args()
    try:
        if (why := why_not_in_pods(given.release, "kraft")) and why_not_in_pods(given.release, "zookeeper"):
            parser.error(why)
        if given.fetch:
            fetch(given.release, exporter=True)
        else:
            install(given.release)
    except ValueError as error:
        parser.error(str(error))
    except ApacheKafkaUnavailableError as error:
        sys.exit(f"apache-kafka: {error}")


if __name__ == "__main__":
    main()
