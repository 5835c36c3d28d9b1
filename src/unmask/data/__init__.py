"""Files to pixels, captions and codes: where they come from, and in what order a training sees them."""
