"""Inference: prompts, sampling of codes, edits of images, and likelihoods."""
