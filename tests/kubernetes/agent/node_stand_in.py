"""``node_stand_in.py highwater-node FILE [DIRECTORY]``: holds a file open with bytes that were synced and bytes that
were not, and answers at port 9404. FILE may be ``-``: no file. Says ``up`` when all that is so. Begins once nothing in
DIRECTORY holds it."""

import os
import socket
import sys
import time
from pathlib import Path

from node_stand_in_sizes import SYNCED, UNSYNCED

while sys.argv[3:] and list(Path(sys.argv[3]).glob("hold-*")):
    time.sleep(0.02)
if sys.argv[2] != "-":
    descriptor = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT, 0o644)
    os.write(descriptor, b"s" * SYNCED)
    os.fsync(descriptor)
    directory = os.open(os.path.dirname(sys.argv[2]), os.O_RDONLY)  # noqa: PTH120
    os.fsync(directory)
    os.write(descriptor, b"u" * UNSYNCED)
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("0.0.0.0", 9404))
listener.listen(64)
sys.stdout.write("up\n")
sys.stdout.flush()
while True:
    time.sleep(1000)
