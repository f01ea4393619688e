"""Settings of the whole test run."""

import signal

from hypothesis import HealthCheck, settings

# Under nohup, or as a job of a script, a run inherits signals that are ignored, and what it starts would, too.
for number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# Example counts are set per test; time per example says nothing on a busy machine.
settings.register_profile("smgcfg", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("smgcfg")
