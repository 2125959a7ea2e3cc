"""The kinds of ``highwater.dev/v1alpha1``: pydantic models, and the CRDs that are generated from them.

One model serves files, the API server and the operator. What a CRD's structural schema cannot say (a schedule's
recursion below a certain depth, values of several types) the operator still refuses by the model itself.
"""

from highwater_operator.resources.chaos_experiment import ChaosExperimentStatus
from highwater_operator.resources.log_cluster import LogCluster, LogClusterSpec, LogClusterStatus

__all__ = ["ChaosExperimentStatus", "LogCluster", "LogClusterSpec", "LogClusterStatus"]
