"""The controller of Detailed Replication Design V3: one of the brokers, elected through coordination."""
