"""Suggest what is looked at most and on stock."""

import walle


def main(event):
    item = event["fields"]["item"]
    looks = walle.kv.get(item, 0) + 1
    walle.kv.put(item, looks)
    if walle.app.stock(item) == 0:
        return None
    return {"item": item, "looks": looks}
