"""What the safetensors reader takes and what it refuses, through `tilescan plan` and `run`."""

import json
import struct

import pytest

import problems
import safetensors_file as st

ONE = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}


def entry(dtype="U8", shape=(1,), begin=0, end=1, **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end], **more}


def text(header) -> bytes:
    return json.dumps(header).encode()


# name: (content of the file, what the message must say)
MALFORMED = {
    "empty file": (b"", "0 bytes, too short for the header's size"),
    "short file": (b"\2\0\0\0", "4 bytes, too short for the header's size"),
    "header beyond file": (struct.pack("<Q", 100) + b"{}",
                           "a header of 100 bytes in a file of 10 bytes"),
    "header over limit": (struct.pack("<Q", 100_000_001) + b"{}",
                          "a header of 100000001 bytes, at most 100000000 are allowed"),
    "header size of 64 bits": (struct.pack("<Q", 2**64 - 1) + b"{}",
                               "a header of 18446744073709551615 bytes, at most"),
    "no header": (struct.pack("<Q", 0), "the header does not begin with '{'"),
    "leading space": (st.file_bytes(b" {}", b""), "the header does not begin with '{'"),
    "list": (st.file_bytes(b"[]", b""), "the header does not begin with '{'"),
    "cut JSON": (st.file_bytes(b'{"x": ', b""), "the header is not valid JSON, at its byte"),
    "padded with zeros": (st.file_bytes(b"{}\0\0", b""),
                          "the header has a zero byte, at its byte 2"),
    "text behind a zero": (st.file_bytes(b"{}\0{", b""),
                           "the header has a zero byte, at its byte 2"),
    "two values": (st.file_bytes(b"{}{}", b""), "the header is not valid JSON"),
    "not UTF-8": (st.file_bytes(b'{"\xff": 1}', b""), "the header is not valid JSON"),
    "tensor is a number": (st.file_bytes(b'{"x": 1}', b""),
                           'the header has 1 for "x", expected an object'),
    "tensor is null": (st.file_bytes(b'{"x": null}', b""), 'the header has null for "x"'),
    "tensor is a list": (st.file_bytes(b'{"x": []}', b""), 'the header has a list for "x"'),
    "deep": (st.file_bytes(b'{"x":' * 100_000 + b"1" + b"}" * 100_000, b""),
             'tensor "x" has an unknown field "x"'),
    "deep shape": (st.file_bytes(b'{"x":{"shape":' + b"[" * 100_000, b""),
                   'tensor "x" has a list as shape'),
    "unknown field": (st.file_bytes({"x": entry(stride=[1])}, b"\0"),
                      'tensor "x" has an unknown field "stride"'),
    "no dtype": (st.file_bytes({"x": {"shape": [1], "data_offsets": [0, 1]}}, b"\0"),
                 'tensor "x" has no dtype'),
    "no shape": (st.file_bytes({"x": {"dtype": "U8", "data_offsets": [0, 1]}}, b"\0"),
                 'tensor "x" has no shape'),
    "no offsets": (st.file_bytes({"x": {"dtype": "U8", "shape": [1]}}, b"\0"),
                   'tensor "x" has no data_offsets'),
    "unknown dtype": (st.file_bytes({"x": entry("F8_E4M3")}, b"\0"),
                      'tensor "x" has dtype "F8_E4M3", expected one of F64 F32 BF16 F16'),
    "dtype is a number": (st.file_bytes({"x": entry(7)}, b"\0"), 'tensor "x" has 7 as dtype'),
    "shape is text": (st.file_bytes({"x": ONE | {"shape": "1"}}, b"\0"),
                      'tensor "x" has text as shape'),
    "negative size": (st.file_bytes({"x": entry(shape=[-1])}, b"\0"),
                      'tensor "x" has -1 as shape'),
    "fractional size": (st.file_bytes({"x": entry(shape=[1.5])}, b"\0"),
                        'tensor "x" has "1.5" as shape'),
    "size over int64": (st.file_bytes({"x": entry(shape=[2**63])}, b"\0"),
                        'tensor "x" has 9223372036854775808 in shape, which is too large'),
    "size over uint64": (st.file_bytes({"x": entry(shape=[2**64])}, b"\0"),
                         'tensor "x" has "18446744073709551616" as shape'),
    "six dimensions": (st.file_bytes({"x": entry(shape=[1] * 6)}, b"\0"),
                       'tensor "x" has more than 5 dimensions'),
    "shape overflows": (st.file_bytes({"x": entry("F64", [2**31, 2**31, 4], 0, 1)}, b"\0"),
                        'tensor "x" has shape (2147483648, 2147483648, 4), whose size overflows'),
    "one offset": (st.file_bytes({"x": ONE | {"data_offsets": [0]}}, b"\0"),
                   'tensor "x" has fewer than two data_offsets'),
    "three offsets": (st.file_bytes({"x": ONE | {"data_offsets": [0, 1, 1]}}, b"\0"),
                      'tensor "x" has more than two data_offsets'),
    "ends before it begins": (st.file_bytes({"x": entry(begin=1, end=0)}, b"\0"),
                              'tensor "x" ends at byte 0, before it begins (1)'),
    "beyond the file": (st.file_bytes({"x": entry(shape=[2], end=2)}, b"\0"),
                        'tensor "x" ends at byte 2 of the data, but the file has 1 bytes'),
    "wrong size": (st.file_bytes({"x": entry("F32", [2], 0, 4)}, bytes(4)),
                   'tensor "x" of dtype F32 and shape (2) takes 8 bytes, but has data_offsets '
                   "[0, 4]"),
    "overlap": (st.file_bytes({"x": entry(shape=[2], end=2), "z": entry(shape=[2], begin=1, end=3)},
                              bytes(3)), 'tensor "z" begins at byte 1 of the data, inside another'),
    "hole": (st.file_bytes({"x": ONE, "z": entry(begin=2, end=3)}, bytes(3)),
             'bytes [1, 2) of the data, before tensor "z", belong to no tensor'),
    "bytes at the end": (st.file_bytes({"x": ONE}, bytes(3)),
                         "the last 2 bytes of the file belong to no tensor"),
    "duplicate tensor": (st.file_bytes(b'{"x":' + text(ONE) + b',"x":' + text(ONE) + b"}", b"\0"),
                         'the header names "x" twice'),
    "duplicate by escape": (st.file_bytes(b'{"A":' + text(ONE) + b',"\\u0041":' + text(ONE) + b"}",
                                          b"\0"), 'the header names "A" twice'),
    "duplicate field": (st.file_bytes(b'{"x":{"dtype":"U8","dtype":"U8"}}', b""),
                        'the header names "dtype" twice in tensor "x"'),
    "duplicate metadata": (st.file_bytes(b'{"__metadata__":{"a":"1","a":"2"}}', b""),
                           'the header names "a" twice'),
    "metadata is text": (st.file_bytes(b'{"__metadata__": "a"}', b""),
                         'the header has text for "__metadata__", expected an object'),
    "metadata of numbers": (st.file_bytes({"__metadata__": {"chunk_size": 64}}, b""),
                            '__metadata__ has 64 for "chunk_size", expected text'),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_file_is_refused_by_name(tilescan, tmp_path, name):
    content, message = MALFORMED[name]
    (tmp_path / "bad.safetensors").write_bytes(content)
    for arguments in (["plan", "bad.safetensors"], ["run", "bad.safetensors", "-o", "out"]):
        result = tilescan(*arguments, code=2)
        assert result.stdout == ""
        assert result.stderr.startswith(
            "tilescan: bad.safetensors: not a valid safetensors file: ")
        assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_control_characters_of_a_name_do_not_reach_the_terminal(tilescan, tmp_path):
    (tmp_path / "bad.safetensors").write_bytes(st.file_bytes({"\x1b[2J" + "a" * 500: 1}, b""))
    stderr = tilescan("plan", "bad.safetensors", code=2).stderr
    assert "\x1b" not in stderr and "\\u001b[2J" in stderr and len(stderr) < 300


@pytest.mark.parametrize("path, message", [
    ("none.safetensors", "cannot open none.safetensors: No such file or directory"),
    ("/dev/null", "cannot read /dev/null: not a regular file"),
    (".", "cannot read .: not a regular file"),
])
def test_unreadable_file_is_refused(tilescan, path, message):
    assert message in tilescan("run", path, "-o", "out", code=2).stderr


@pytest.mark.parametrize("past_boundary", [0, 1, 2, 4, 7])
def test_data_may_lie_at_any_address(tilescan, tmp_path, past_boundary):
    """The format does not align the data behind the header."""
    problem = problems.scan_problem()
    expected, _, _ = problems.scan(problem)
    header, data = st.header_of(problem)
    header = text(header)
    header += b" " * ((past_boundary - len(header)) % 8)
    (tmp_path / "in").write_bytes(st.file_bytes(header, data))
    tilescan("run", "in", "-o", "out")
    tensors, _ = st.read(tmp_path / "out")
    assert problems.relative_l2(tensors["out"].values, expected) < problems.TOLERANCE["F32"]


def test_header_may_end_in_spaces_and_tensors_come_in_any_order(tilescan, tmp_path):
    problem = problems.scan_problem()
    header, data = st.header_of(dict(reversed(problem.items())))
    in_order = {name: header[name] for name in sorted(header)}
    (tmp_path / "in").write_bytes(st.file_bytes(text(in_order) + b" " * 99, data))
    tilescan("run", "in", "-o", "out")
    tensors, _ = st.read(tmp_path / "out")
    expected, _, _ = problems.scan(problem)
    assert problems.relative_l2(tensors["out"].values, expected) < problems.TOLERANCE["F32"]


def test_empty_tensors_are_taken(tilescan, tmp_path):
    """seqlen 0: the final states are the initial states, bit for bit."""
    problem = problems.scan_problem(seqlen=0)
    st.write(tmp_path / "in", problem)
    tilescan("run", "in", "-o", "out")
    tensors, _ = st.read(tmp_path / "out")
    assert tensors["out"].values == []
    assert tensors["final_states"].values == problem["initial_states"].rounded()
