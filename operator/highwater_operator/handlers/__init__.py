"""What kopf calls: one file a kind of thing that happens. Handlers decide nothing; they hand over to the queue or a
daemon.

Everything is registered on a registry of its own (never kopf's global one), so that tests can run operators side by
side.
"""
