"""
Editing
=======

A model that unmasks codes in any order can keep some of a picture and draw the rest. Nothing is trained for
it.
"""

import unmask

model = unmask.load("emoji", device="cpu")
(picture,) = model.sample(1, seed=1, steps=24)
picture

# %%
# A box drawn again in four ways: left, top, width, height in pixels. Beyond a thin seam every other pixel
# stays as it is. A mask, a picture that is white where to replace, does as well as a box.

unmask.contact_sheet(model.inpaint(picture, (8, 32, 48, 32), count=4, steps=16), columns=4)

# %%
# What could lie beyond the right edge.

unmask.contact_sheet(model.extend(picture, right=32, count=2, steps=16, stride=4), columns=2)

# %%
# A picture larger than any of the training. The model looks through windows of its own size; with a stride of
# 4 codes between them there are fewer, which is faster and less exact.

model.canvas((160, 64), seed=3, steps=16, stride=4)
