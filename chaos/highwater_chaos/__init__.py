"""The harness: experiments, workloads, faults, backends, verdicts, reports and the command line."""
