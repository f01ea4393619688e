"""One reader per place that values come from."""
