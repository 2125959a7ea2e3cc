"""What `fuzz.py` runs: targets by what they read, and inputs to start from."""
