"""How good is it: distances between pictures and between sets of pictures."""
