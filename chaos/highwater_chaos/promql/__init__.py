"""PromQL over recorded samples: parsed by a parser of others, evaluated here, compared with Prometheus itself.

A stated part of the language (:data:`~highwater_chaos.promql.language.SUPPORTED`) with the semantics of Prometheus
2.55; anything else is refused by name before anything is evaluated. Imports nothing else of ours. An expression is
parsed without NumPy, which :mod:`.evaluate` needs.
"""
