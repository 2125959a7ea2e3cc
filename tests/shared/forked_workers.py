"""Workers of pytest-xdist that begin as copies of the process that starts them.

That process imports the modules of all tests once. A worker would take seconds of the processor for it, and as long
again for each of its neighbours.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any, NoReturn

import execnet.gateway_io
import psutil
import pytest
import xdist.plugin
from _pytest.pathlib import ImportMode, import_path
from execnet.gateway_base import Popen2IO
from hypothesis.internal.conjecture import providers

from highwater_runtime.sim.garbage import freeze_collector

Worker = tuple[psutil.Process, FileIO, FileIO]
"""Its process, what it reads and what it writes."""


def fork_workers(config: pytest.Config, count: int) -> None:
    """Import what this run's tests are in, and let the next so many workers begin as copies of this process."""
    _import_tests(config)
    providers._get_local_constants()  # from each module's text, at the end of each collection
    if threading.active_count() > 1:
        return  # a copy would have the locks of the others, and not the others: workers begin as they do elsewhere
    freeze_collector()
    xdist.plugin._sys_path[:] = sys.path  # what each worker's will be: modules have added to it
    workers: list[Worker] = []
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.suspend_global_capture(in_=True)
    sys.stdout.flush()  # or each copy says it once more
    try:
        for _ in range(count):
            workers.append(_fork(workers))
    finally:
        capture.resume_global_capture()

    class Forked(execnet.gateway_io.Popen2IOMaster):
        def __init__(self, args: list[str], execmodel: Any) -> None:
            if not workers:  # in place of one that crashed
                super().__init__(args, execmodel)
                return
            self.popen, to_worker, from_worker = workers.pop(0)
            Popen2IO.__init__(self, to_worker, from_worker, execmodel=execmodel)

    execnet.gateway_io.Popen2IOMaster = Forked  # type: ignore[misc]


def _import_tests(config: pytest.Config) -> None:
    """As each worker's collection will look for them."""
    options = {"mode": ImportMode.importlib, "root": config.rootpath, "consider_namespace_packages": False}
    for file in _files(config):
        before = set(sys.modules)
        try:
            with warnings.catch_warnings(action="ignore"):
                import_path(file, **options)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            for name in set(sys.modules) - before:  # each worker finds this out, and says or skips it
                if getattr(sys.modules[name], "__file__", None) == str(file):
                    del sys.modules[name]


def _files(config: pytest.Config) -> Iterator[Path]:
    for argument in config.args:
        path = config.invocation_params.dir / argument.partition("::")[0]
        if path.is_file():
            yield from (above / "conftest.py" for above in path.parents[1::-1] if (above / "conftest.py").exists())
            yield path
        else:
            yield from sorted({*path.rglob("conftest.py"), *path.rglob("test_*.py")})


def _fork(others: list[Worker]) -> Worker:
    its_input, to_worker = os.pipe()
    from_worker, its_output = os.pipe()
    if (pid := os.fork()) == 0:
        for end in (to_worker, from_worker, *(file.fileno() for other in others for file in other[1:])):
            os.close(end)  # a worker ends when nobody can write to it
        for end, number in ((its_input, 0), (its_output, 1)):
            os.dup2(end, number)
            os.close(end)
        _work()
    os.close(its_input)
    os.close(its_output)
    return psutil.Process(pid), FileIO(to_worker, "wb"), FileIO(from_worker, "rb")


def _work() -> NoReturn:
    """Do as ``python -c`` would with what pytest-xdist writes, and end as it would."""
    status = 0
    try:
        sys.argv = ["-c"]
        sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
        exec(eval(sys.stdin.readline()), {"__name__": "__main__"})
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    os._exit(status)
