"""`tidegate prove`: a lake of its own in an account or at an endpoint, with an oracle, races, numbers and a report.

`plan` makes the files and `oracle` computes from their bytes alone what the tables must have; neither knows Tidegate.
`resources` makes, finds and removes what a run needs, `worker` is the process that ingests and is killed, and `run`
puts everything together.
"""
