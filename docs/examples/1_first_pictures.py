"""
First pictures
==============

A model comes with the package. It learnt from emoji, and draws new ones on any CPU.
"""

import unmask

model = unmask.load("emoji", device="cpu")
model

# %%
# Eight new pictures. A seed stands for an endless row of them: the same seed always gives the same pictures,
# another one gives others. The model recommends 64 steps; fewer are faster.

new = model.sample(8, seed=1, steps=24)
unmask.contact_sheet(new, columns=8)

# %%
# A picture is a grid of 16×16 codes. All of them are masked at first, and every step reveals some, in random
# order. What is not known yet is grey here.

stages = []
model.sample(1, seed=1, steps=24, on_step=lambda codes: stages.append(model.preview(codes)[0]))
unmask.contact_sheet(stages[2::3], columns=8)

# %%
# The codec alone: a picture to codes and back. Samples are never sharper than this.

unmask.contact_sheet([new[0], *model.reconstruct(new[:1])], columns=2)

# %%
# How likely is a picture? The model says how many bits it needs for each code, at most. A guess among 512
# codes takes 9.

scores = model.score(new[:4])
print(f"{scores.mean:.2f} ± {scores.standard_error:.2f} bits per code")
