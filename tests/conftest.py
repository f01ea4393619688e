"""Settings of the whole test run."""

from hypothesis import HealthCheck, settings

# Example counts are set per test; time per example says nothing on a busy machine.
settings.register_profile("smgcfg", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("smgcfg")
