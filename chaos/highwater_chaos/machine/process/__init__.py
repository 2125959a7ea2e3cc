"""Processes, commands and programs of others: started, stopped and told what to do."""
