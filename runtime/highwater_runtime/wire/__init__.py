"""Kafka's wire protocol: message classes, their codec, the registry of APIs, and the framing of requests and responses.

How it fits together. The files under ``schemas`` hold the facts of Kafka's message formats: which fields exist, in
which versions, with which defaults. ``python -m highwater_runtime.wire.generate`` turns each message into a module
under ``messages``: plain slotted classes with Kafka's names, and one straight-line encoder and decoder for each
layout that the message has had. The output is committed and a test holds it to the schemas, so nothing reads a schema
at run time.

Where to look: ``codec`` for exceptions and what generated code stands on, ``registry`` for what a key means,
``framing`` for whole requests and responses, ``records_codec`` for records of the metadata log, ``errors`` and
``api_keys`` for Kafka's numbers. To add a message or a version, edit a schema file and generate; the tests then cover
it by themselves (round trip, hostile bytes, comparison with ``kio`` and ``kafka-python``).

Rules kept here: a value that the version cannot carry is an error unless the schema calls it ignorable; unknown
tagged fields are passed over; malformed bytes end in ``DecodeError`` and nothing else; a length is believed only as
far as the remaining bytes go. Nothing here does I/O.
"""
