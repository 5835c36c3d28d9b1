"""Evaluation: distances between images and between sets of images."""
