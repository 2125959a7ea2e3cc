"""Schedules the check kernels on Spark: on this machine by default, on any master by name."""
