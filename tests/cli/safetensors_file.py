"""Writes and reads safetensors files with the standard library only, valid ones and broken ones.

A second, independent implementation of the format, so that the tool's own reader and writer are
not checked against themselves.
"""

import array
import dataclasses
import json
import pathlib
import struct

ITEM_BYTES = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}
_ARRAY_CODES = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "U8": "B", "BOOL": "B"}


def _num_elements(shape) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _encode(dtype: str, values) -> bytes:
    values = list(values)
    if dtype == "F16":
        return struct.pack(f"<{len(values)}e", *values)
    if dtype == "BF16":
        # Rounds to nearest even on the bits of the float32.
        bits = (struct.unpack("<I", struct.pack("<f", value))[0] for value in values)
        return b"".join(struct.pack("<H", (b + 0x7FFF + (b >> 16 & 1)) >> 16) for b in bits)
    return array.array(_ARRAY_CODES[dtype], values).tobytes()


def _decode(dtype: str, data: bytes) -> list:
    if dtype == "F16":
        return list(struct.unpack(f"<{len(data) // 2}e", data))
    if dtype == "BF16":
        words = struct.unpack(f"<{len(data) // 2}H", data)
        return [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in words]
    return list(array.array(_ARRAY_CODES[dtype], data))


@dataclasses.dataclass
class Tensor:
    """A tensor as flat row-major values."""

    dtype: str
    shape: tuple
    values: list

    def rounded(self) -> list:
        """The values as the dtype holds them."""
        return _decode(self.dtype, _encode(self.dtype, self.values))


def header_of(tensors: dict, metadata: dict | None = None) -> tuple[dict, bytes]:
    """Returns the header as a dict and the data of the tensors, in their order."""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, tensor in tensors.items():
        encoded = _encode(tensor.dtype, tensor.values)
        assert len(encoded) == ITEM_BYTES[tensor.dtype] * _num_elements(tensor.shape), name
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(encoded)]}
        data += encoded
    return header, data


def file_bytes(header: dict | bytes, data: bytes) -> bytes:
    """A file of a header and data; a dict is padded to 8 bytes, bytes are taken as they are."""
    if isinstance(header, dict):
        header = json.dumps(header).encode()
        header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def write(path: pathlib.Path, tensors: dict, metadata: dict | None = None) -> pathlib.Path:
    path.write_bytes(file_bytes(*header_of(tensors, metadata)))
    return path


def read(path: pathlib.Path) -> tuple[dict, dict]:
    """Returns tensors by name and the metadata; asserts the layout that a writer must keep."""
    content = path.read_bytes()
    (header_bytes,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + header_bytes])
    assert header_bytes % 8 == 0, "the header is not padded to 8 bytes"
    data = content[8 + header_bytes:]
    metadata = header.pop("__metadata__", {})
    tensors, covered = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert begin == covered, f"hole or overlap before {name}"
        assert begin % ITEM_BYTES[entry["dtype"]] == 0, f"{name} is not aligned"
        assert end - begin == ITEM_BYTES[entry["dtype"]] * _num_elements(entry["shape"]), name
        tensors[name] = Tensor(entry["dtype"], tuple(entry["shape"]),
                               _decode(entry["dtype"], data[begin:end]))
        covered = end
    assert covered == len(data), "bytes of no tensor at the end"
    return tensors, metadata
