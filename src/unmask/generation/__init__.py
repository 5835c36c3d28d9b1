"""A prior at work: what it is told, the codes that it draws, and edits of pictures."""
