"""The programs of the pods that the operator starts for an experiment: :mod:`~.runner` runs it, :mod:`~.judge` judges
what it recorded. They do in a cluster what ``highwater run`` does on a machine."""
