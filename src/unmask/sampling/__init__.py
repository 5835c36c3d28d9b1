"""MASK to codes: everything that draws codes from a prior."""
