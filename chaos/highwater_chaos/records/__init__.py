"""What the records of a run mean, as clients wrote them and as they lie on a broker's disk."""
