# The compute container: host calls, what a task is, and the device that runs it (docs/concepts/house.md,
# floor 9).
walle_room(container/host USES vm runtime array store stream/match stream/graph stream/egress)
walle_room(container/task SMALL USES container/host stream/processor SCHEMAS task)
walle_room(container/device SMALL USES container/task link)
walle_room(container/link SMALL USES container/device link)
