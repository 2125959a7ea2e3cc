"""The held-out set: bugs by somebody who had not read the known ones, to measure what the harness finds by itself.

Files and checks were written for mutants of the known set until they were found, so its rate says how well that was
done, and not how the next bug fares. For this set **no experiment file may ever be written, and no check may be made to
fit one of its mutants**: they run in ``random`` experiments alone. If this set shows a weakness, mend it for its kind
of bugs, and show that by other bugs. Entries may be added. One that no longer fits the code may be adapted.

Names of Apache Kafka's issues say which bug an entry is modelled on.
"""

from __future__ import annotations

from typing import Final

from highwater_lab.mutants.held_out.brokers import BROKERS
from highwater_lab.mutants.held_out.controllers import CONTROLLERS
from highwater_lab.mutants.held_out.logs import LOGS
from highwater_lab.mutants.held_out.quorum import QUORUM
from highwater_lab.mutants.held_out.replication import REPLICATION
from highwater_lab.mutants.held_out.services import SERVICES
from highwater_lab.mutants.held_out.zookeeper import ZOOKEEPER
from highwater_lab.mutants.mutant import Mutant

HELD_OUT: Final[dict[str, Mutant]] = {
    mutant.name: mutant for mutant in (*REPLICATION, *BROKERS, *LOGS, *QUORUM, *CONTROLLERS, *ZOOKEEPER, *SERVICES)
}
