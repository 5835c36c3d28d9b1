"""
Editing
=======

A model that unmasks codes in any order can keep a part of an image and draw the rest. This needs no extra
training.
"""

import unmask

model = unmask.load("emoji", device="cpu")
(picture,) = model.sample(1, seed=1, steps=24)
picture

# %%
# A box redrawn in four ways: left, top, width, height in pixels. Outside the box and a thin seam, every pixel
# stays the same. Instead of a box you can pass a mask: an image that is white where pixels are
# to be replaced.

unmask.contact_sheet(model.inpaint(picture, (8, 32, 48, 32), count=4, steps=16), columns=4)

# %%
# The image extended beyond its right edge.

unmask.contact_sheet(model.extend(picture, right=32, count=2, steps=16, stride=4), columns=2)

# %%
# An image larger than any training image. The model sees it through windows of its own size. With a stride of
# 4 codes there are fewer windows, which is faster and less exact.

model.canvas((160, 64), seed=3, steps=16, stride=4)
