"""The code generator of the wire package: schemas in, functions out.

``encoding`` and ``decoding`` write the body of one encoder or decoder: one message, one version, straight down.
Everything is inline there: runs of fixed-size fields become one ``struct`` call, a version never shows as a condition,
and only the rare cases (lengths above 127, tagged fields that are present) leave the straight line. ``functions``
compiles what they write. Its source can be read: ``inspect.getsource``, debuggers and tracebacks show it.
"""
