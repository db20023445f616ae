"""Names for what functions take, for type checkers."""

import typing

# An array of NumPy, torch, CuPy or JAX, or any with DLPack or the buffer protocol. Not spelled as a
# Protocol: frameworks disagree on the signature of __dlpack__.
Array: typing.TypeAlias = typing.Any
# A dtype's name, or a framework's object for it.
DtypeLike: typing.TypeAlias = typing.Any
# An address, or a stream of torch or CuPy, or an object with __cuda_stream__().
StreamLike: typing.TypeAlias = typing.Any
