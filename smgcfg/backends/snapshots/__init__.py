"""What the parsers of released programs accept, as data: one file per program and version, one flag per line."""
