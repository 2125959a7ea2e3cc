"""What every part stands on: durations and strict models, errors of users, temporary directories, lines of files.

Nothing here imports anything else of the harness.
"""
