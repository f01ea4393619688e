"""Is the schema still true? The flag table of an installed program, and how it differs from the shipped one."""
