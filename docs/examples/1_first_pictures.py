"""
First images
============

A model comes with the package. It was trained on emoji and samples new ones on any CPU.
"""

import unmask

model = unmask.load("emoji", device="cpu")
model

# %%
# Eight new images. A seed stands for an endless sequence of images: the same seed always gives the same ones,
# and another seed gives others. The model recommends 32 steps; fewer are faster.

new = model.sample(8, seed=1, steps=24)
unmask.contact_sheet(new, columns=8)

# %%
# An image is a grid of 16×16 codes. At first all of them are masked. Every step reveals some, in random
# order. Codes that are still masked are shown in grey.

stages = []
model.sample(1, seed=1, steps=24, on_step=lambda codes: stages.append(model.preview(codes)[0]))
unmask.contact_sheet(stages[2::3], columns=8)

# %%
# The codec encodes an image to codes and decodes them. Samples are never sharper than such a reconstruction.

unmask.contact_sheet([new[0], *model.reconstruct(new[:1])], columns=2)

# %%
# How likely is an image? The model gives an upper bound on the bits it needs for each code. A uniform guess
# among 512 codes takes 9 bits.

scores = model.score(new[:4])
print(f"{scores.mean:.2f} ± {scores.standard_error:.2f} bits per code")
