"""The errors of designs that were not drawn yet, and the search among them."""
