"""Where an experiment runs. One protocol, so that schedule, faults and workload do not know which it is."""
