"""The smg gateway."""
