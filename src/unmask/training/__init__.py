"""Training: one engine, one loop, one task for each stage."""
