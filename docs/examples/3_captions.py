"""
Captions and prompts
====================

The built-in model ``avatars`` was trained on drawn portraits with captions. A caption is a sequence of word
tokens in front of an image's codes. Known words and masked codes give text-to-image; known codes and masked
words give captioning.
"""

import unmask

model = unmask.load("avatars", device="cpu")
model

# %%
# Four images for each of two prompts. Words that the model does not know are refused, with the closest known
# words as suggestions. Guidance above 1 follows a prompt more closely, for twice the work.

prompts = ["long red hair, sunglasses"] * 4 + ["black afro, laughing"] * 4
pictures = model.sample(8, prompts, steps=16, guidance=2)
unmask.contact_sheet(pictures, columns=8)

# %%
# A prompt for a part of an image: the hair is drawn again, everything outside the box stays as it was.

(portrait,) = model.sample(1)
edits = model.inpaint(portrait, (4, 0, 56, 28), prompt="pink mohawk", guidance=3, count=4)
unmask.contact_sheet([portrait, *edits], columns=5)

# %%
# The other way round: what does the first image show, by the model's own words?

model.caption(pictures[0])

# %%
# Or choose between labels: the first and the last image, with the probability of each.

model.classify([pictures[0], pictures[-1]], ["long red hair", "black afro"])

# %%
# Prompts along a canvas, by another built-in model, of photographs: each window is conditioned on the prompt
# at its position.

fruit = unmask.load("fruit", device="cpu")
fruit.canvas((192, 64), prompt=["granny smith apples", "oranges"], steps=16, guidance=2, care="fast")
