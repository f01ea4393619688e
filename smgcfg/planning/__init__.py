"""From a deployment to a plan: pure functions, the same inputs to the same bytes."""
