"""Carts as rows of a table, and a row of another for every day."""

import collections
import datetime

import walle

MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE
MOST = 4096  # carts that a summary looks at


def main(event):
    if event["trigger"] == "day":
        return summary(event["ts"])
    item, visitor = event["scope"]["item"], event["scope"]["visitor"]
    minutes = (event["ts"] - event["start_ts"]) / MINUTE
    return {"end": event["trigger"], "ts": event["ts"], "item": item, "visitor": visitor, "minutes": minutes}


def summary(midnight):
    """A row for the day that has just ended, if it had any carts."""
    carts = walle.results.last("carts", MOST)
    today = [i for i, ts in enumerate(carts["ts"]) if midnight - DAY <= ts < midnight]
    if not today:
        return None
    ends = collections.Counter(carts["end"][i] for i in today)
    sold = collections.Counter(carts["item"][i] for i in today if carts["end"][i] == "bought")
    took = [carts["minutes"][i] for i in today if carts["end"][i] == "bought"]
    day = datetime.datetime.fromtimestamp((midnight - DAY) / 1e6, datetime.UTC).date().isoformat()
    row = {
        "day": day,
        "bought": ends["bought"],
        "abandoned": ends["abandoned"],
        "minutes": sum(took) / len(took) if took else None,
        "best": sold.most_common(1)[0][0] if sold else None,
    }
    walle.log.info(f"{day}: {row['bought']} bought, {row['abandoned']} abandoned")
    walle.results.append("days", row)
    return None
