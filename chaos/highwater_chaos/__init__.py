"""The harness: experiments, workloads, faults, backends, verdicts, reports and the command line."""

import os
import sys


def _leave_working_directory_out() -> None:
    # An empty element of PYTHONPATH, as in `PYTHONPATH=$PYTHONPATH:/x` where it was not set, means the working
    # directory, which may be anybody's. It goes, from here and from what our programs inherit. A relative element was
    # meant: it stays, and names the same directory for a program that works in another one.
    # Nothing is imported for this but what Python has loaded already.
    given = os.environ.get("PYTHONPATH")
    if not given:
        return
    elements = given.split(os.pathsep)
    kept = [os.path.abspath(element) for element in elements if element]  # noqa: PTH100
    os.environ["PYTHONPATH"] = os.pathsep.join(kept)
    here = os.getcwd()  # noqa: PTH109
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    if "" in elements and here in sys.path and here not in (*kept, ours):
        sys.path.remove(here)


_leave_working_directory_out()
