"""Weights get better: one engine, one loop, one task a stage."""
