"""What the package raises. Messages are the library's own, as in C."""


class Error(Exception):
    """Any failure that the library reports."""


class InvalidArgument(Error, ValueError):
    """Arguments are wrong; the message names each that is, what came and what was expected."""


class Unsupported(Error, NotImplementedError):
    """Arguments are right, but the backend or kernel cannot do it; the message says why."""


class OutOfMemory(Error, MemoryError):
    """Memory for an output or a workspace was not there."""


class InternalError(Error, RuntimeError):
    """A fault of the library itself, or of the GPU."""
