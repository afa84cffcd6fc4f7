"""How a command ends that does not succeed: a line on standard error, and an exit status.

Mistakes in a file have a line each.

Never a traceback for a user's mistake.
"""

from __future__ import annotations

import sys
from typing import Any

import typer
import typer.main

from isr_pipeline.base.disk import disk_full
from isr_pipeline.base.errors import LINE_MAX, USER_ERRORS, InputError, shortened
from isr_pipeline.base.extras import missing

PROGRAM = "isr-pipeline"


def run(commands: typer.Typer) -> None:
    """Run the command in ``sys.argv``; never a traceback for a user's mistake.

    Args:
        commands: which there are.
    """
    try:
        status = commands(standalone_mode=False)
        if isinstance(status, int):
            sys.exit(status)
    except USER_ERRORS as error:
        for line in str(error).splitlines() if isinstance(error, InputError) else [str(error)]:
            refuse(line)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        sys.exit(130)
    except typer.Abort:
        sys.exit(130)
    except BrokenPipeError:
        # The reader of a pipe (head, less) had enough; Python would complain once more at exit.
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        # Typer's own refusals: of its public classes none has the command that was meant.
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):
            _refuse_usage(error)
            sys.exit(error.exit_code)
        asked = _asked(commands)
        library = missing(error, of_night=asked.startswith(f"{PROGRAM} night "))
        reason = f"{asked}: {library}" if library else machine_says(error)
        if not reason:
            raise
        refuse(reason)
        sys.exit(1)


def _asked(commands: typer.Typer) -> str:
    """The command in ``sys.argv``, without what it was given."""
    command: Any = typer.main.get_command(commands)
    words = [PROGRAM]
    for word in sys.argv[1:]:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            break
        words.append(word)
    return " ".join(words)


def machine_says(error: Exception) -> str:
    """Say in one line what the machine does not give: room, or a file; empty for a defect."""
    full = disk_full(error)
    if full:
        return full
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {str(error.strerror).lower()}; nothing more was done"
    return ""


def _refuse_usage(error: Any) -> None:
    """Say in one line which command was written wrongly, and how to see what it takes."""
    context = getattr(error, "ctx", None)
    message = str(error.format_message()).strip()
    if not message or "\n" in message:  # a group without a command: its help was printed
        return
    path = context.command_path if context is not None else PROGRAM
    allowed = _number_allowed(error)
    if allowed:
        (option, *_), given = error.param.opts, error.__cause__.errors()[0]["input"]
        refuse(str(InputError(path, option, given, allowed)))
        return
    text = message[:1].lower() + message[1:].rstrip(".")
    if text == "option '--json' requires an argument":
        text += " here: a file, or - for standard output"
    refuse(f"{path}: {text}; {path} --help says what may stand there")


def _number_allowed(error: Any) -> str:
    """Say which numbers an option takes, if it was given something else; empty if not."""
    reasons = getattr(error.__cause__, "errors", None)  # of pydantic, which reads what is typed
    if reasons is None or getattr(error, "param", None) is None:
        return ""
    (first, *_) = reasons()
    if "ge" in first.get("ctx", {}):
        return f"{first['ctx']['ge']} or more"
    kinds = {"int": "a whole number", "float": "a number"}
    return kinds.get(first["type"].partition("_")[0], "")


def refuse(text: str) -> None:
    """Say in one line why a command ends."""
    sys.stdout.flush()
    sys.stderr.write(f"{shortened(' '.join(text.split()), LINE_MAX)}\n")
