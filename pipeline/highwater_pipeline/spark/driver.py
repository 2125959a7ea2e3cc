"""``python -m highwater_pipeline.spark.driver``: what the driver's pod of a ``SparkApplication`` runs.

In cluster mode Spark starts the driver's container with the argument ``driver``, then those of ``spark-submit``: the
file of properties that it has mounted, the class that runs Python, the application and its arguments. Spark's own
images have a shell script for this (``entrypoint.sh``, Spark 4.0). This does what it does for ``driver``, in the
image of the pipeline, and a pod template names it. :mod:`~highwater_pipeline.spark.executor` is the same for executors.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pyspark

from highwater_pipeline.java import JavaNotFoundError, find_java
from highwater_pipeline.spark.executor import NotAPodError
from highwater_pipeline.spark.java_home import home_for_spark

_ADDRESS: Final = "SPARK_DRIVER_BIND_ADDRESS"
_USAGE: Final = 254
IN_DRIVER: Final = "HIGHWATER_SPARK_DRIVER"
"""Set in a driver's pod. There Spark has started Python, so what it has put into the environment counts."""


def command_of(environment: Mapping[str, str], arguments: Sequence[str]) -> list[str]:
    """The command line of ``spark-submit``. Raises :class:`~highwater_pipeline.spark.executor.NotAPodError`."""
    if arguments[:1] != ["driver"]:
        raise NotAPodError(
            f"expected the argument `driver`, as Spark gives it to a driver's pod; found: {list(arguments)}"
        )
    if _ADDRESS not in environment:
        raise NotAPodError(f"expected the environment of a driver's pod, as Spark makes it; missing: {_ADDRESS}")
    return [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        *("--conf", f"spark.driver.bindAddress={environment[_ADDRESS]}"),
        *("--conf", f"spark.executorEnv.SPARK_DRIVER_POD_IP={environment[_ADDRESS]}"),
        *("--deploy-mode", "client"),
        *arguments[1:],
    ]


def main() -> None:
    """Become the driver."""
    try:
        command = command_of(os.environ, sys.argv[1:])
        java = home_for_spark(find_java(), Path(tempfile.mkdtemp(prefix="highwater-java-")))
    except (NotAPodError, JavaNotFoundError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(_USAGE)
    home = str(Path(pyspark.__file__).parent)
    ours = {"SPARK_HOME": home, "JAVA_HOME": str(java), "PYSPARK_PYTHON": sys.executable, "PYTHONSAFEPATH": "1"}
    environment = {**os.environ, **ours, IN_DRIVER: "1"}
    os.execve(command[0], command, environment)  # noqa: S606 - it is this process from now on


if __name__ == "__main__":
    main()
