"""
Captions and prompts
====================

The built-in model ``fruit`` learnt captions with its photographs. A caption stands in front of a picture's
codes, in one row. Known words and masked codes: a picture by prompt. Known codes and masked words: a caption.
It was trained for minutes: colours follow the words, outlines hardly.
"""

import unmask

model = unmask.load("fruit", device="cpu")
model

# %%
# Four pictures by each of two prompts, in words that the model knows; others are refused, with the nearest
# known ones. Guidance above 1 follows a prompt more closely, for twice the work.

prompts = ["granny smith apples"] * 4 + ["oranges"] * 4
pictures = model.sample(8, prompts, steps=16, guidance=2)
unmask.contact_sheet(pictures, columns=8)

# %%
# Prompts along a canvas: each window is told the one at its place.

model.canvas((192, 64), prompt=["granny smith apples", "oranges"], steps=16, guidance=2, care="fast")

# %%
# The other way round: which of two labels, with its probability, the first and the last picture have.

model.classify([pictures[0], pictures[-1]], ["granny smith apples", "oranges"])
