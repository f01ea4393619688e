"""Launch commands of other launchers, read into deployments."""

from smgcfg.importing.outcome import Decided, Imported, Lost
from smgcfg.importing.recognise import import_command, local_config

__all__ = ["Decided", "Imported", "Lost", "import_command", "local_config"]
