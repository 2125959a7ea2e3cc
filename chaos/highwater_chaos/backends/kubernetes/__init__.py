"""Backend ``kubernetes``: the same engine as on the other backends, run in a pod of its own.

``highwater run --backend kubernetes`` applies the experiment and follows it. The operator starts a *runner* (a Job,
:mod:`highwater_chaos.kubernetes_jobs.runner`) for it, and the runner runs the engine on :mod:`~.backend`, so that
schedules, targets, conditions and evidence mean here what they mean everywhere. Faults are the node agents'
(:mod:`~.agents`); each is written down in the experiment's status before it is asked for (:mod:`~.journal`), so that
the operator can heal everything when the runner dies.
"""
