"""``python -m highwater_pipeline.spark.executor``: what an executor's pod runs, from the image that judges.

Spark's own images have a shell script for this (``entrypoint.sh``, Spark 4.0), on top of the whole distribution. The
image of the pipeline has PySpark from a package, whose jars are the same; this does what the script does for
``executor``. A pod template names it (``spark.kubernetes.executor.podTemplateFile``), and Spark adds the argument
``executor`` and the environment.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pyspark

from highwater_pipeline.java import JavaNotFoundError, find_java
from highwater_pipeline.spark.java_home import home_for_spark

_BACKEND: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_ARGUMENTS: Final = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
_OPTION: Final = "SPARK_JAVA_OPT_"
_USAGE: Final = 254


class NotAPodError(RuntimeError):
    """The environment is not that which Spark gives to the pod of an executor; the message names what is missing."""


def command_of(environment: Mapping[str, str], java: Path) -> list[str]:
    """The command line of the executor's JVM. Raises :class:`NotAPodError`."""
    missing = [name for name in (*_ARGUMENTS.values(), "SPARK_EXECUTOR_MEMORY") if name not in environment]
    if missing:
        raise NotAPodError(
            f"expected the environment of an executor's pod, as Spark makes it; missing: {', '.join(missing)}"
        )
    numbered = {name.removeprefix(_OPTION): value for name, value in environment.items() if name.startswith(_OPTION)}
    options = [numbered[number] for number in sorted(numbered, key=int)]
    classpath = [environment.get("SPARK_CONF_DIR", ""), str(Path(pyspark.__file__).parent / "jars" / "*")]
    classpath += [environment.get(name, "") for name in ("SPARK_EXTRA_CLASSPATH", "SPARK_DIST_CLASSPATH")]
    memory = environment["SPARK_EXECUTOR_MEMORY"]
    return [
        str(java / "bin" / "java"),
        *options,
        *(f"-Xms{memory}", f"-Xmx{memory}", "-cp", ":".join(one for one in classpath if one), _BACKEND),
        *(word for option, name in _ARGUMENTS.items() for word in (option, environment[name])),
    ]


def main() -> None:
    """Become the executor."""
    if sys.argv[1:] != ["executor"]:
        sys.exit(f"expected the argument `executor`, as Spark gives it to an executor's pod; found: {sys.argv[1:]}")
    try:
        java = home_for_spark(find_java(), Path(tempfile.mkdtemp(prefix="highwater-java-")))
        command = command_of(os.environ, java)
    except (NotAPodError, JavaNotFoundError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(_USAGE)
    home = str(Path(pyspark.__file__).parent)
    environment = {**os.environ, "SPARK_HOME": home, "PYSPARK_PYTHON": sys.executable, "PYTHONSAFEPATH": "1"}
    os.execve(command[0], command, environment)  # noqa: S606 - it is this process from now on


if __name__ == "__main__":
    main()
