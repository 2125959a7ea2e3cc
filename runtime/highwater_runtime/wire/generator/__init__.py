"""The code generator of the wire package: schema text in, Python source out, nothing else.

A development step (``python -m highwater_runtime.wire.generate``): nothing here is imported by a running node.
"""
