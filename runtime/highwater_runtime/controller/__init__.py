"""Controllers: who decides over brokers, leaders and ISRs.

``kraft`` is the quorum of KIP-500; ``zk`` holds the election of Detailed Replication Design V3.
"""
