# The container: host calls, tasks, the device (docs/concepts/house.md, floor 9).
walle_room(container/host USES vm runtime array store stream/match stream/graph
  stream/egress)
walle_room(container/task USES container/host)
walle_room(container/device USES container/task)
