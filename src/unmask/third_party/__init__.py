"""Other people's files: fetched by checksum, read without being run, put under our names."""
