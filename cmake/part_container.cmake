# The compute container (docs/concepts/house.md): what a task is, and what runs it.
walle_room(container USES vm stream/processor stream/egress SCHEMAS task)
