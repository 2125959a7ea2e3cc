"""A real ZooKeeper ensemble as the harness deals with it, wherever its servers run.

:mod:`.servers` says how a server is configured and started; :mod:`.observer` follows what the ensemble commits;
:mod:`.sessions` ends sessions.
"""
