"""Kafka's wire protocol: message classes, their codec, the registry of APIs, and the framing of requests and responses.

The classes under ``messages`` are generated from ``schemas`` (see ``generator``). Nothing here does I/O.
"""
