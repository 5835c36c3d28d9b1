"""The paper's claims, run again: ``unmask reproduce``."""
