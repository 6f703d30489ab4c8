"""The pages of settings and commands, made from what the code knows; a test keeps them in step.

`python -m procession.cli.reference settings > docs/reference/settings.md`, and likewise `commands`.
"""

import sys
from collections.abc import Iterator

import click

from procession.app.settings import SETTINGS, Setting

_SETTINGS_HEAD = """\
# Settings

A setting is called the same everywhere: `outbound.allow_private` is `allow_private` under `[outbound]` in
`procession.toml` of the working directory, `PROCESSION_OUTBOUND_ALLOW_PRIVATE` in the environment, and
`--set outbound.allow_private=…` on every command line; many have an option of their own. The later wins: default,
file, environment, command line. `procession config` prints each value with its origin.

Durations are written `500ms`, `10s`, `5m`, `2h`, `30d`; a bare number is seconds. Lists are lists in the file and have
commas elsewhere. A name that is no setting is an error, with the name that was probably meant; a variable of the
environment only if it is that like one of ours, since others may share the prefix.
"""

_SETTINGS_TAIL = """
Not settings, since they must not be shown: the keys under which all secrets are sealed.

| variable | what it holds |
|---|---|
| `PROCESSION_MASTER_KEY` | the master key, 32 random bytes in base64: `openssl rand -base64 32` |
| `PROCESSION_MASTER_KEY_OLD` | the one before it, until `procession secret rotate --master` is done |
| `PROCESSION_MASTER_KEY_COMMAND` | [a program](../guides/operating.md#the-master-key) that has the key instead |

Without any the engine makes `master.key` (mode 0600) in the data folder with the first secret: keep a copy elsewhere.

Only for the proof on real processes: `PROCESSION_CRASHPOINT`, as `name:k`,
kills the process when it passes that point for the k-th time.

## A channel's own settings

Beside what its connector reads, each `[[channel]]` of a declaration (`procession apply -f FILE`) may say how its
effects are to be sent:

| setting | default | what it is for |
|---|---|---|
| `gate` | `accepted` | what one must have reached before the next goes: accepted, sent, delivered, read |
| `gate_wait` | `5` | seconds after its acceptance when the next goes anyway; counted and shown |
| `gate_gap` | `0` | seconds between its acceptance and the next, at least |
| `doubt_policy` | `park` | when it stays unknown whether one was taken: park, resend (may duplicate), skip |
| `doubt_wait` | `60` | seconds until that policy applies |
| `resends_max` | `3` | after so many an effect is parked instead |
| `on_refused` | `continue` | what a refusal does to those behind it: continue, park |
| `tries_max` | `20` | tries that count before an effect is refused for good |
| `answer_within` | `86400` | seconds; what is older when its turn to be sent comes is refused, not sent |

A WhatsApp channel has other defaults (`gate = "delivered"`), and settings of its own:
[WhatsApp](../guides/whatsapp.md#settings).
"""

_COMMANDS_HEAD = """\
# Commands

Each command asks the engine that runs on the data folder, through its control socket; if none runs, it opens the store
itself for as long as it takes. All take `--json` (one document on standard output), `--store`, `--data` and
`--set NAME=VALUE`; those that change something take `--actor` (by default your login name), which stands in the audit.
Where several tenants have what you name, `--tenant` says which.

Exit status: 0 done; 1 it could not be done, with a text that says what happened, whose it is and what to do next (with
`--json` also as a document on standard output); 2 wrong usage. `procession serve` also: 70 stopped on purpose since
the store can be trusted no more; 128 + the signal's number if a second signal cut the draining short.
"""


def settings_page() -> str:
    rows = [f"| `{s.name}` | {_default(s)} | `{s.variable}` | {_flag(s)} | {s.reason} |" for s in SETTINGS]
    table = "\n".join(("| setting | default | environment | option | what it is for |", "|---|---|---|---|---|", *rows))
    return f"{_SETTINGS_HEAD}\n{table}\n{_SETTINGS_TAIL}"


def _default(setting: Setting) -> str:
    return f"`{setting.default}`" if setting.default else "empty"


def _flag(setting: Setting) -> str:
    return f"`{setting.flag}`" if setting.flag.startswith("--") else setting.flag


def commands_page(main: click.Group) -> str:
    return _COMMANDS_HEAD + "".join(_sections(main, "procession"))


def _sections(group: click.Group, path: str) -> Iterator[str]:
    for name, command in sorted(group.commands.items()):
        own = f"{path} {name}"
        if path == "procession":
            yield f"\n## {name}\n\n{_paragraph(command)}\n"
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield f"\n{_entry(command, own, with_text=path != 'procession')}"
        if isinstance(command, click.Group):
            yield from _sections(command, own)


def _entry(command: click.Command, path: str, *, with_text: bool) -> str:
    context = click.Context(command, info_name=path)
    arguments = " ".join(part for part in command.collect_usage_pieces(context) if part not in _OF_EVERY_ONE)
    text = f"  \n{_paragraph(command)}" if with_text else ""
    lines = [f"`{path}{f' {arguments}' if arguments else ''}`{text}\n"]
    lines.extend(f"- {option}" for option in _options(command))
    return "\n".join(lines).rstrip() + "\n"


_OF_EVERY_ONE = frozenset({"[OPTIONS]", "COMMAND [ARGS]...", "[COMMAND] [ARGS]..."})
_OF_ALL = frozenset({"json", "as_json", "set", "data", "store", "actor", "help"})


def _options(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name not in _OF_ALL:
            text = (parameter.help or "").rstrip(".")
            yield f"`{', '.join(parameter.opts)}`: {text[:1].lower() + text[1:]}"


def _paragraph(command: click.Command) -> str:
    return " ".join((command.help or "").replace("\b", "").split())


if __name__ == "__main__":
    from procession.cli.commands import main as commands

    click.echo(settings_page() if sys.argv[1:] == ["settings"] else commands_page(commands), nl=False)
