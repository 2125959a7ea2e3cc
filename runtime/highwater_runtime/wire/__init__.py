"""Kafka's wire protocol: message classes, their codec, the registry of APIs, and the framing of requests and responses.

How it fits together. A class under ``messages`` declares the facts of one of Kafka's message formats: which fields
exist, in which versions, with which defaults. Its bases in ``message`` give it a constructor, equality and ``repr``.
Its encoder and decoder are generated for each version, straight-line code without conditions on the version, when a
process first encodes or decodes that version (``generator``). No generated code is kept in the repository or on disk.

Where to look: ``message`` for how to declare, ``schema`` for what is then known, ``codec`` for exceptions and what
generated code calls, ``registry`` for what a key means, ``framing`` for whole requests and responses,
``records_codec`` for records of the metadata log, ``errors`` and ``api_keys`` for Kafka's numbers. To add a version,
edit the class. To add an API, add two modules and its key in ``registry``. The tests then cover it by themselves
(round trip, hostile bytes, comparison with ``kio`` and ``kafka-python``).

Rules kept here: a value that the version cannot carry is an error unless the field is ignorable; unknown tagged fields
are passed over; malformed bytes end in ``DecodeError`` and nothing else; a length is believed only as far as the
remaining bytes go. Nothing here does I/O.
"""
