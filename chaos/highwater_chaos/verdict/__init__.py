"""The verdict of a run: judged from its recordings, compared with what was expected, written for people and for CI."""
