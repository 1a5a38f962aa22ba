"""How often something is worked out or read."""

import sqlite3
import sys

from nammd.statistics import margin


def count_calls(monkeypatch, function):
    """Return a list that gets the arguments of every call of a function from here on, whoever calls it."""
    asked = []

    def counted(*given, **options):
        asked.append(given)
        return function(*given, **options)

    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("nammd"):
            for name, value in list(vars(module).items()):
                if value is function:
                    monkeypatch.setattr(module, name, counted)
    return asked


def count_method(monkeypatch, kind, name):
    """Return a list that gets the arguments of every call of a method from here on, the object first."""
    asked, method = [], getattr(kind, name)

    def counted(*given, **options):
        asked.append(given)
        return method(*given, **options)

    monkeypatch.setattr(kind, name, counted)
    return asked


def count_margins(monkeypatch):
    """Return a list that gets an entry for every margin that is tested from here on."""
    return count_calls(monkeypatch, margin.margin)


def trace_statements(monkeypatch):
    """Return a list of the statements that SQLite runs from here on."""
    ran, connect = [], sqlite3.connect

    def traced(*given, **options):
        db = connect(*given, **options)
        db.set_trace_callback(ran.append)
        return db

    monkeypatch.setattr(sqlite3, "connect", traced)
    return ran
