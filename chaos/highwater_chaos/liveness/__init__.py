"""What a cluster owes its users in time: while it is healthy, and once all faults are over.

Safety (nothing acknowledged is lost) is judged from recordings by :mod:`highwater_pipeline.checks`; that something good
happens is judged here, during the run.
"""
