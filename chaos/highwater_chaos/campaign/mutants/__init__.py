"""Small realistic bugs of the protocol, to measure the harness itself: which of them does a campaign find, and how?"""

from highwater_chaos.campaign.mutants.apply import MutantError, applied
from highwater_chaos.campaign.mutants.catalogue import CATALOGUE, mutant_named
from highwater_chaos.campaign.mutants.mutant import Mutant
from highwater_chaos.campaign.mutants.reach import watching

__all__ = ["CATALOGUE", "Mutant", "MutantError", "applied", "mutant_named", "watching"]
