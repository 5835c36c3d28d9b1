"""
Captions and prompts
====================

The built-in model ``fruit`` was trained on photographs with captions. A caption is a sequence of word tokens
in front of an image's codes. Known words and masked codes give text-to-image; known codes and masked words
give captioning. The model was trained for an hour: colours follow the prompt, varieties hardly do.
"""

import unmask

model = unmask.load("fruit", device="cpu")
model

# %%
# Four images for each of two prompts. Words that the model does not know are refused, with the closest known
# words as suggestions. Guidance above 1 follows a prompt more closely, for twice the work.

prompts = ["granny smith apples"] * 4 + ["oranges"] * 4
pictures = model.sample(8, prompts, steps=16, guidance=2)
unmask.contact_sheet(pictures, columns=8)

# %%
# Prompts along a canvas: each window is conditioned on the prompt at its position.

model.canvas((192, 64), prompt=["granny smith apples", "oranges"], steps=16, guidance=2, care="fast")

# %%
# Image to label: classify the first and the last image, with the probability of each label.

model.classify([pictures[0], pictures[-1]], ["granny smith apples", "oranges"])
