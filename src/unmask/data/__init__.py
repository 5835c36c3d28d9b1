"""Files to pixels: where pictures come from, how they are cropped, and in what order they are seen."""
