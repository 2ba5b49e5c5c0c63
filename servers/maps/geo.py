"""Geometry of the city grids: where junctions and house numbers lie, and how far apart points are."""

from __future__ import annotations

from math import cos, hypot, radians

COLUMNS = 8
"""Junctions along each side of a city's grid."""

HIGHEST_NUMBER = 160
"""House numbers of every street run from 1 to this."""

_STEP = 500.0
_METERS_PER_DEGREE = 111_320.0


def offset(lat: float, lon: float, row: float, column: float) -> tuple[float, float]:
    """Coordinates of a point of the grid whose middle is the given point, in degrees."""
    middle = (COLUMNS - 1) / 2
    north = (middle - row) * _STEP / _METERS_PER_DEGREE
    east = (column - middle) * _STEP / (_METERS_PER_DEGREE * cos(radians(lat)))
    return round(lat + north, 5), round(lon + east, 5)


def house(along_row: bool, index: int, number: int) -> tuple[float, float]:
    """Row and column of a house number on a street that follows a row or a column."""
    along = (number - 1) / (HIGHEST_NUMBER - 1) * (COLUMNS - 1)
    return (float(index), along) if along_row else (along, float(index))


def meters(lat1: float, lon1: float, lat2: float, lon2: float) -> int:
    """Distance in whole metres on a plane, good within a city."""
    east = (lon2 - lon1) * cos(radians((lat1 + lat2) / 2))
    return round(hypot(lat2 - lat1, east) * _METERS_PER_DEGREE)
