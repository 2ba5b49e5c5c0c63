"""Real cities with their country, time zone, currency and coordinates (degrees, two decimals)."""

from __future__ import annotations

from dataclasses import dataclass

from servers.kernel.dice import Dice


@dataclass(frozen=True, slots=True)
class City:
    """A city; `zone` is an IANA time zone, `airport` its IATA code."""

    name: str
    country: str
    zone: str
    currency: str
    lat: float
    lon: float
    airport: str


CITIES = (
    City("Lisbon", "Portugal", "Europe/Lisbon", "EUR", 38.72, -9.14, "LIS"),
    City("Paris", "France", "Europe/Paris", "EUR", 48.86, 2.35, "CDG"),
    City("Berlin", "Germany", "Europe/Berlin", "EUR", 52.52, 13.41, "BER"),
    City("Madrid", "Spain", "Europe/Madrid", "EUR", 40.42, -3.70, "MAD"),
    City("Rome", "Italy", "Europe/Rome", "EUR", 41.90, 12.50, "FCO"),
    City("Vienna", "Austria", "Europe/Vienna", "EUR", 48.21, 16.37, "VIE"),
    City("Amsterdam", "Netherlands", "Europe/Amsterdam", "EUR", 52.37, 4.90, "AMS"),
    City("London", "United Kingdom", "Europe/London", "GBP", 51.51, -0.13, "LHR"),
    City("Zurich", "Switzerland", "Europe/Zurich", "CHF", 47.38, 8.54, "ZRH"),
    City("Stockholm", "Sweden", "Europe/Stockholm", "SEK", 59.33, 18.07, "ARN"),
    City("Warsaw", "Poland", "Europe/Warsaw", "PLN", 52.23, 21.01, "WAW"),
    City("New York", "United States", "America/New_York", "USD", 40.71, -74.01, "JFK"),
    City("Chicago", "United States", "America/Chicago", "USD", 41.88, -87.63, "ORD"),
    City("San Francisco", "United States", "America/Los_Angeles", "USD", 37.77, -122.42, "SFO"),
    City("Austin", "United States", "America/Chicago", "USD", 30.27, -97.74, "AUS"),
    City("Toronto", "Canada", "America/Toronto", "CAD", 43.65, -79.38, "YYZ"),
    City("Mumbai", "India", "Asia/Kolkata", "INR", 19.08, 72.88, "BOM"),
    City("Bengaluru", "India", "Asia/Kolkata", "INR", 12.97, 77.59, "BLR"),
    City("Tokyo", "Japan", "Asia/Tokyo", "JPY", 35.68, 139.69, "HND"),
    City("Kyoto", "Japan", "Asia/Tokyo", "JPY", 35.01, 135.77, "KIX"),
)

STREETS = (
    "Maple Street", "Harbour Road", "Mill Lane", "Station Road", "Linden Avenue", "Church Street", "River Walk",
    "Garden Row", "Market Square", "Hill Crescent", "Orchard Way", "Canal Street", "Park Terrace", "Oak Drive",
    "Bridge Street", "Castle Lane", "Meadow Close", "Forge Alley", "Quay Street", "Willow Court",
)  # fmt: skip


def address(dice: Dice) -> str:
    """A house number and a street."""
    return f"{dice.integer(1, 199)} {dice.choice(STREETS)}"
