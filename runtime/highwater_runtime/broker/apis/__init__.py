"""What a broker answers: one module for each API, each with a function that takes an inbound request."""
