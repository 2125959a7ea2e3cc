# The summary of a campaign with mutants, as Markdown, from its --json: three figures of the set, and what was missed.
"## Mutants: the \($set) set", "",
"| bugs | reached | changed the run | found | share |", "|---|---|---|---|---|",
(.mutants | "| \(.bugs) | \(.reached) | \(.changed) | \(.found) | \((.foundShare // 0) * 100 | round) % |"), "",
"Changed the run and was not found:", "",
"| mutant | seeds | reached | changed |", "|---|---|---|---|",
(.rows[] | select(.expected == "fail" and .seedsChanged > 0 and .failingSeeds == [])
  | "| \(.mutant) | \(.seeds) | \(.seedsReached) | \(.seedsChanged) |"), ""
