"""Small realistic bugs of the protocol, to measure the harness itself: which of them does a campaign find, and how?"""

from highwater_lab.mutants.apply import MutantError, applied
from highwater_lab.mutants.catalogue import CATALOGUE, SETS, mutant_named, set_of
from highwater_lab.mutants.mutant import Mutant
from highwater_lab.mutants.reach import watching

__all__ = ["CATALOGUE", "SETS", "Mutant", "MutantError", "applied", "mutant_named", "set_of", "watching"]
