"""The laboratory: how well does Highwater find bugs, and what does it cost? In CI, and not in the wheel.

:mod:`.mutants` are small bugs of the protocol, :mod:`.mutated` runs seeds with them, :mod:`.command` is a
campaign with them, and :mod:`.benchmarks` measure. Nothing of the product imports it.
"""
