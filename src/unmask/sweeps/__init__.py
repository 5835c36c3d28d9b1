"""A model measured over many sampling settings, and the best of them found."""
