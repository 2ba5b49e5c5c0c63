"""What restaurants are called and what they cook."""

from __future__ import annotations

from servers.food_delivery.model import Cuisine

SIZE = ("regular", "large")
SPICE = ("mild", "medium", "hot")
VEGAN = ("vegan", "vegetarian")
VEGGIE = ("vegetarian",)
VEGAN_FREE = ("vegan", "vegetarian", "gluten_free")
HALAL = ("halal",)

NAMES: dict[Cuisine, tuple[str, ...]] = {
    "bakery": ("Crumb & Co", "Morning Loaf", "Butter Lane", "Little Oven"),
    "indian": ("Curry Leaf", "Saffron House", "Tandoor Club", "Bombay Corner"),
    "italian": ("Trattoria Nonna", "Pizza Fiore", "Pasta Bar Luca", "Forno Rosso"),
    "japanese": ("Sakura Bowl", "Ramen Yard", "Sushi Kite", "Tokyo Counter"),
    "burgers": ("Smash Street", "Patty Works", "Grill Depot", "Bun Society"),
    "thai": ("Lemongrass", "Bangkok Lane", "Thai Orchid", "Basil Boat"),
    "mexican": ("Casa Agave", "Taco Plaza", "El Comal", "Burrito Post"),
    "salads": ("Green Bowl", "Leaf & Seed", "The Salad Shed", "Sprout"),
}

MENUS: dict[Cuisine, tuple[tuple[str, int, tuple[str, ...], tuple[str, ...]], ...]] = {
    "bakery": (
        ("Butter Croissant", 3, VEGGIE, ()),
        ("Cinnamon Roll", 4, VEGGIE, ()),
        ("Avocado Toast", 8, VEGAN, ()),
        ("Egg Brioche", 7, VEGGIE, ()),
        ("Flat White", 4, VEGGIE, SIZE),
        ("Oat Porridge", 6, VEGAN, SIZE),
        ("Sourdough Loaf", 5, VEGAN, ()),
        ("Salmon Bagel", 9, (), ()),
    ),
    "indian": (
        ("Chicken Tikka Masala", 12, HALAL, SPICE),
        ("Lamb Biryani", 14, HALAL, SPICE),
        ("Chana Masala", 9, VEGAN_FREE, SPICE),
        ("Palak Paneer", 10, ("vegetarian", "gluten_free"), SPICE),
        ("Garlic Naan", 3, VEGGIE, ()),
        ("Vegetable Samosas", 5, VEGAN, ()),
        ("Mango Lassi", 4, VEGGIE, SIZE),
        ("Tarka Dal", 8, VEGAN_FREE, ()),
    ),
    "italian": (
        ("Pizza Margherita", 10, VEGGIE, SIZE),
        ("Pizza Diavola", 12, (), SIZE),
        ("Spaghetti Carbonara", 12, (), ()),
        ("Penne Arrabbiata", 10, VEGAN, SPICE),
        ("Mushroom Risotto", 13, ("vegetarian", "gluten_free"), ()),
        ("Caprese Salad", 8, ("vegetarian", "gluten_free"), ()),
        ("Tiramisu", 6, VEGGIE, ()),
        ("Focaccia", 5, VEGAN, ()),
    ),
    "japanese": (
        ("Salmon Nigiri Set", 15, (), SIZE),
        ("Tonkotsu Ramen", 13, (), SPICE),
        ("Veggie Gyoza", 7, VEGAN, ()),
        ("Chicken Katsu Curry", 13, (), SPICE),
        ("Tofu Miso Soup", 4, VEGAN_FREE, ()),
        ("Edamame", 4, VEGAN_FREE, ()),
        ("Avocado Maki", 6, VEGAN_FREE, ()),
        ("Mochi Trio", 6, VEGGIE, ()),
    ),
    "burgers": (
        ("Classic Smash Burger", 10, HALAL, SIZE),
        ("Crispy Chicken Burger", 10, HALAL, SPICE),
        ("Plant Burger", 11, VEGAN, ()),
        ("Sea Salt Fries", 4, VEGAN_FREE, SIZE),
        ("Onion Rings", 5, VEGGIE, ()),
        ("Vanilla Shake", 5, VEGGIE, ()),
        ("Buffalo Wings", 9, HALAL, SPICE),
        ("Coleslaw", 3, ("vegetarian", "gluten_free"), ()),
    ),
    "thai": (
        ("Pad Thai", 11, (), SPICE),
        ("Green Curry", 12, ("gluten_free",), SPICE),
        ("Tofu Pad See Ew", 11, VEGAN, ()),
        ("Tom Yum Soup", 8, ("gluten_free",), SPICE),
        ("Papaya Salad", 7, VEGAN_FREE, ()),
        ("Spring Rolls", 6, VEGAN, ()),
        ("Jasmine Rice", 3, VEGAN_FREE, ()),
        ("Mango Sticky Rice", 6, VEGAN_FREE, ()),
    ),
    "mexican": (
        ("Chicken Burrito", 10, HALAL, SPICE),
        ("Black Bean Burrito", 9, VEGAN, SPICE),
        ("Beef Tacos", 11, HALAL, ()),
        ("Cauliflower Tacos", 9, VEGAN, ()),
        ("Loaded Nachos", 9, VEGGIE, SIZE),
        ("Guacamole", 5, VEGAN_FREE, ()),
        ("Churros", 5, VEGGIE, ()),
        ("Corn Esquites", 5, ("vegetarian", "gluten_free"), ()),
    ),
    "salads": (
        ("Falafel Bowl", 10, VEGAN, SIZE),
        ("Caesar Salad", 9, (), SIZE),
        ("Poke Bowl", 13, ("gluten_free",), SIZE),
        ("Quinoa Power Bowl", 11, VEGAN_FREE, ()),
        ("Halloumi Salad", 10, ("vegetarian", "gluten_free"), ()),
        ("Lentil Soup", 6, VEGAN_FREE, ()),
        ("Green Juice", 5, VEGAN_FREE, SIZE),
        ("Fruit Cup", 4, VEGAN_FREE, ()),
    ),
}
