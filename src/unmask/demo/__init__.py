"""The demo: commands typed one after the other, and a page of what came of them."""
