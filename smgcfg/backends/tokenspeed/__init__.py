"""The TokenSpeed engine."""
