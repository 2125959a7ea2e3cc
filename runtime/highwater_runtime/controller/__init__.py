"""Controllers: who decides over brokers, leaders and ISRs. ``kraft`` is the quorum of KIP-500."""
