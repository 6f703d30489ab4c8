"""The error tree, by stage and by blame.

ProcessionError
├── Misconfigured          the operator's settings or code are wrong; the text says which, and what to write
├── SecretMissing          a secret that settings name is not in the vault
├── BadRequest             a caller of the API, CLI or port asked for something that cannot be
├── IllegalMove            a state table forbids it: a bug of the engine, or of a caller that skipped a check
├── StoreError
│   ├── StoreAway          the write certainly did not happen; it may be tried again
│   ├── StoreFull          likewise, since the disk is full or a quota is used up
│   ├── OutcomeUnknown     the write may or may not have happened, or may happen yet: read back, never assume
│   ├── StoreBroken        the store cannot be trusted any more: the process ends (fail-stop)
│   └── SchemaNewer        the data was written by a newer version; nothing was touched
└── TurnError              raised into a handler, or for what it asked
    ├── LaneLost           the turn is not ours any more: stop, nothing that is done from here on counts
    ├── FileFailed         a file could not be fetched from the provider, or handed to it; another try may fare better
    ├── SqlFailed          the handler's own SQL raised, took too long, or has no place in this store; nothing was kept
    └── TurnMisused        the handler called the turn wrongly; the text teaches
"""


class ProcessionError(Exception):
    """The root of all of our errors."""


class Misconfigured(ProcessionError):
    """Settings or code of the operator are wrong."""


class SecretMissing(ProcessionError):
    """A secret that settings name is not in the vault."""


class BadRequest(ProcessionError):
    """A caller asked for something that cannot be."""


class IllegalMove(ProcessionError):
    """A state table forbids this; nothing was changed."""


class StoreError(ProcessionError):
    """The store could not do it."""


class StoreAway(StoreError):
    """The write certainly did not happen."""


class StoreFull(StoreAway):
    """The write certainly did not happen, since there is no room."""


class OutcomeUnknown(StoreError):
    """The write may or may not have happened."""


class StoreBroken(StoreError):
    """The store cannot be trusted any more; the process has to end."""


class SchemaNewer(StoreError):
    """The data was written by a newer version."""


class TurnError(ProcessionError):
    """Raised into a handler."""


class LaneLost(TurnError):
    """The turn belongs to another by now."""


class FileFailed(TurnError):
    """The provider did not hand a file out, or did not take one."""


class SqlFailed(TurnError):
    """The handler's own SQL failed; nothing of the settlement was kept."""


class TurnMisused(TurnError):
    """The handler called the turn wrongly."""
