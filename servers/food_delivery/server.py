"""The food delivery service's server object."""

from __future__ import annotations

from servers.food_delivery.model import (
    CartDish,
    DeliveryAddress,
    Dish,
    Fault,
    FoodOrder,
    FoodOrderLine,
    FoodPromo,
    Restaurant,
)
from servers.food_delivery.seed import build
from servers.kernel.server import ToolServer

server = ToolServer(
    "food_delivery",
    "Restaurants, menus, a cart and delivery orders of a customer",
    records=(Restaurant, Dish, CartDish, FoodPromo, DeliveryAddress, FoodOrder, FoodOrderLine),
    seed=build,
    faults=Fault,
)
