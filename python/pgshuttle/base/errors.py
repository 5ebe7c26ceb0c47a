"""What the tool says when it can't do what it was asked to do."""

from enum import IntEnum


class ExitCode(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_RUNNING = 3
    NOT_INSTALLED = 4
    TIMED_OUT = 5
    CLAIM_FAILED = 6


class ToolError(Exception):
    """An error for the user: a message, perhaps a hint, never a traceback."""

    def __init__(
        self, message: str, *, hint: str = "", exit_code: ExitCode = ExitCode.FAILED
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code
