"""The intake: receives messages, routes their events to tables, stores the hints, and deletes the messages.

The modules, in the order in which a message and its hints meet them:

- `tick`: one drain of all queues.
- `fair_drain`: which queue comes first, and how queues share the tick.
- `message_routing` and `known_tables`: from messages of events to hints by table. `event_typing`: the
  types of events. `forwarded_messages`: what goes to the outbox.
- `held_events`: events of folders that waited until a day has room for their tables.
- `row_objects`: from messages of row queues to objects, and hints of these.
- `round_manifests`: which hints are gathered with those of other tables, and until when.
- `store_and_delete`: stores the result, and deletes the messages last.
- `dealer`: moves gathered hints to the inbox.
- `due_tables`: which tables get a run, and which run. `intake_result`: what a tick received.
"""
