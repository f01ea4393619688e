"""What smgcfg knows of each engine."""
