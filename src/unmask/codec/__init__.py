"""Pixels to codes and back (stage 1): encoder, quantiser, decoder, and what trains them."""
