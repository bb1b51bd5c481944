"""The steps of daily-report.dig. Arguments are parameters, found by name."""
import os
import random

import zerodag


def extract(session_date, regions):
    """Orders of a day, the same for everybody who asks for that day."""
    day = random.Random(session_date)
    orders = [{"region": day.choice(regions), "amount": day.randint(5, 250)} for _ in range(60)]
    print(len(orders), "orders on", session_date)
    zerodag.env.store({"orders": orders})


def total(orders, region):
    """One region; the regions run at the same time, their stores are merged."""
    amounts = [o["amount"] for o in orders if o["region"] == region]
    zerodag.env.store({"totals": {region: sum(amounts)}})


def rates(currency, broken=False):
    """Exchange rates, from a service that fails the first time it is asked."""
    if broken or os.environ["ZERODAG_TRY"] == "1":
        raise ConnectionError("the rate service does not answer")
    zerodag.env.store({"rate": 1.08 if currency == "EUR" else 1.0})


def report(session_date, totals, rate, currency):
    print("%-10s %10s %10s" % (session_date, currency, "USD"))
    for region, amount in sorted(totals.items()):
        print("%-10s %10d %10.2f" % (region, amount, amount * rate))
    everything = sum(totals.values())
    print("%-10s %10d %10.2f" % ("total", everything, everything * rate))
    zerodag.env.store({"report": {"total": everything}})
