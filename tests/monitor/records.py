"""Batches as a history holds them, without computing any."""

from nammd.monitor.history import History, Kept
from nammd.monitor.records import Batch

SETTINGS = {"rate": "budget", "amount": 1.0, "every": "day", "claim": "reference"}


def batch(key, *, z=-3.0, p_far=0.9, p_close=1e-6, digest="d", **changed):
    """A batch that is so many deviations beyond the tolerance."""
    found = {
        "key": key,
        "number": 0,
        "era": 1,
        "digest": digest,
        "added": "2026-01-01T00:00:00+00:00",
        "source": "",
        "m": 500,
        "n": 100,
        "epsilon": 0.05,
        "u": 0.01 * z,
        "deviation": 0.012,
        "share": 0.02,
        "given": 0.01,
        "reference": 0.005,
        "features": 0.0,
        "error": 0.004,
        "distance": 0.05 + 0.004 * z,
        "low": 0.04 + 0.004 * z,
        "high": 0.06 + 0.004 * z,
        "pvalue_close": p_close,
        "pvalue_far": p_far,
        "pvalue_beyond": p_far,
    }
    return Batch(**(found | changed))


def new_history(path, **settings):
    def begin(writer):
        number = writer.keep(Kept("train.csv", 500, "", "array", "", ""), b"")
        writer.begin_era("2026-01-01T00:00:00+00:00", "{}", number)
        writer.event("2026-01-01T00:00:00+00:00", "created")

    head = ("2026-01-01T00:00:00+00:00", "nammd 0", "shop")
    return History.create(path, head, SETTINGS | settings, begin)


def days(count, start=1):
    import datetime

    first = datetime.date(2020, 1, 1)
    return [(first + datetime.timedelta(days=start - 1 + k)).isoformat() for k in range(count)]
