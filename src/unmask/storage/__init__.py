"""Storage on disk: atomic files, arrays that grow, state, models (bundles), the hub."""
