"""``report.html``: the verdict in a sentence, each lost record's story, and the run on one timeline."""
