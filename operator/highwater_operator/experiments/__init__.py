"""ChaosExperiments: accepted or refused, run by a Job, and healed by the operator whatever becomes of that Job.

The runner (:mod:`highwater_chaos.kubernetes_jobs.runner`) writes each fault into ``status.journal`` before it asks
an agent for it. So the operator needs no memory of its own: where the runner ends without a verdict, or the experiment
is deleted, everything that the journal has open is healed by its id, seen to be gone, and only then let go.
"""
