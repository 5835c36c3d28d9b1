"""Codes to logits (stage 2): one Transformer, bidirectional or causal."""
