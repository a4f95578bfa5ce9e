"""A page that was left: the item to show next.

The page's feature needs no line here: task.toml names its graph, which the device runs natively for every
firing, and the gate lets out what it gives. This code could not change it.
"""

import json

import walle

ranking = None


class Ranking:
    """A deep interest network over the items of a page."""

    def __init__(self):
        self.model = walle.engine.load("din.walle")
        self.items = json.loads(bytes(walle.engine.read("items.json")))  # the network's rows, in order
        self.rows = {item: row for row, item in enumerate(self.items)}

    def best(self, seen):
        """The best item that was not on the page, and its score; nothing for a page of unknown items."""
        history = [self.rows[item] for item in seen if item in self.rows]
        others = [row for row in range(len(self.items)) if row not in set(history)]
        if not history or not others:
            return None, None
        given = {"history": walle.Tensor(history, "int64"), "candidates": walle.Tensor(others, "int64")}
        scores = self.model.run(given)["scores"]
        best = scores.argmax()
        return self.items[others[best]], scores[best]


def main(event):
    global ranking
    seen = walle.stream.events(event, of="page", fields=["item"])
    if ranking is None:
        ranking = Ranking()
    item, score = ranking.best([each for each in seen["item"] if each is not None])
    return {"events": len(seen["ts"]), "best": item, "score": score}
