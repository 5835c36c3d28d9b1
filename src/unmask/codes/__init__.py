"""Codes at rest: a data set encoded once, memory-mapped, stamped with the codec that made it."""
