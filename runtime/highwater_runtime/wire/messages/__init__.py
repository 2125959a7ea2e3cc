"""One module per message: its fields, in the order, versions and defaults of Kafka's own schema.

Attributes and options are those of :func:`highwater_runtime.wire.message.field`.
"""
