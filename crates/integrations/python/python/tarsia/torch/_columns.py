"""Batches as they go from workers to the process that trains."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

#: Batches up to this size go through the pipe of the worker. That is faster than memory that is shared: PyTorch passes
#: on a descriptor of a file for each tensor then, which takes as long as half a MiB in a pipe.
_PIPE_BYTES = 1 << 20
_ALIGN = 64


class Ragged(NamedTuple):
    """Lists of several rows: row ``i`` has the values from ``offsets[i]`` to ``offsets[i + 1]``."""

    #: The items of all rows, one behind the other.
    values: Any
    #: Where the items of each row begin, and where the last ones end.
    offsets: torch.Tensor


class Columns(dict):
    """A batch: values by the names of the columns. It goes to another process as one piece of memory."""

    def __copy__(self) -> Columns:
        return Columns(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        packer = _Packer()
        described = {name: packer.add(value) for name, value in self.items()}
        return (_unpacked, (described, packer.memory()))


class _Packer:
    """Copies tensors and bytes into one piece of memory."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, Any]] = []
        self._n_bytes = 0

    def add(self, value: Any) -> tuple[Any, ...]:
        """Notes a value, and tells how it is made again."""
        if isinstance(value, torch.Tensor) and _is_plain(value):
            tensor = value.detach().contiguous()
            place = self._place(tensor.reshape(-1).view(torch.uint8) if tensor.numel() else tensor, tensor.nbytes)
            return ("tensor", tensor.dtype, tuple(tensor.shape), place)
        if isinstance(value, Ragged):
            return ("ragged", self.add(value.values), self.add(value.offsets))
        if type(value) is dict:
            return ("dict", {name: self.add(part) for name, part in value.items()})
        if type(value) is list and value:
            if all(type(part) is bytes for part in value):
                whole = b"".join(value)
                return ("bytes", self._place(whole, len(whole)), [len(part) for part in value])
            if all(isinstance(part, torch.Tensor) for part in value):
                return ("list", [self.add(part) for part in value])
        return ("as it is", value)

    def _place(self, part: Any, n_bytes: int) -> int:
        place = -(-self._n_bytes // _ALIGN) * _ALIGN
        if n_bytes:
            self._parts.append((place, part))
        self._n_bytes = place + n_bytes
        return place

    def memory(self) -> Any:
        """The piece of memory: bytes, or a tensor that is shared."""
        if self._n_bytes <= _PIPE_BYTES:
            made = bytearray(self._n_bytes)
            into = torch.frombuffer(made, dtype=torch.uint8) if made else torch.empty(0, dtype=torch.uint8)
            self._copy(into)
            return bytes(made)
        # As PyTorch's own `collate` does in workers: memory that is shared from the beginning is not copied again.
        shared = torch.UntypedStorage._new_shared(self._n_bytes)
        into = torch.empty(0, dtype=torch.uint8).set_(shared, 0, (self._n_bytes,))
        self._copy(into)
        return into

    def _copy(self, into: torch.Tensor) -> None:
        for place, part in self._parts:
            if isinstance(part, bytes):
                memoryview(into.numpy())[place : place + len(part)] = part
            else:
                into[place : place + len(part)] = part


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor is its type, its shape and its bytes."""
    return (
        tensor.device.type == "cpu"
        and tensor.layout == torch.strided
        and not tensor.is_nested
        and not tensor.requires_grad
    )


def _unpacked(described: dict[str, tuple[Any, ...]], memory: Any) -> Columns:
    if isinstance(memory, bytes):
        memory = torch.frombuffer(bytearray(memory), dtype=torch.uint8) if memory else torch.empty(0, dtype=torch.uint8)
    return Columns({name: _made(part, memory) for name, part in described.items()})


def _made(described: tuple[Any, ...], memory: torch.Tensor) -> Any:
    kind, *parts = described
    if kind == "tensor":
        dtype, shape, place = parts
        n_bytes = dtype.itemsize
        for length in shape:
            n_bytes *= length
        if n_bytes == 0:
            return torch.empty(shape, dtype=dtype)
        return memory[place : place + n_bytes].view(dtype).reshape(shape)
    if kind == "ragged":
        return Ragged(_made(parts[0], memory), _made(parts[1], memory))
    if kind == "dict":
        return {name: _made(part, memory) for name, part in parts[0].items()}
    if kind == "list":
        return [_made(part, memory) for part in parts[0]]
    if kind == "bytes":
        place, lengths = parts
        view, made = memoryview(memory.numpy()), []
        for length in lengths:
            made.append(bytes(view[place : place + length]))
            place += length
        return made
    return parts[0]
