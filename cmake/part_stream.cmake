# The on-device stream processor.
walle_room(stream USES store tensor base SCHEMAS event trigger egress)
