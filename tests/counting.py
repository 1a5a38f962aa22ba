"""How often something is worked out or read."""

import sqlite3
import sys

from nammd.statistics import margin


def count_margins(monkeypatch):
    """Return a list that gets an entry for every margin that is tested from here on."""
    asked, test = [], margin.margin

    def counted(*given, **options):
        asked.append(given)
        return test(*given, **options)

    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("nammd") and vars(module).get("margin") is test:
            monkeypatch.setattr(module, "margin", counted)
    return asked


def trace_statements(monkeypatch):
    """Return a list of the statements that SQLite runs from here on."""
    ran, connect = [], sqlite3.connect

    def traced(*given, **options):
        db = connect(*given, **options)
        db.set_trace_callback(ran.append)
        return db

    monkeypatch.setattr(sqlite3, "connect", traced)
    return ran
