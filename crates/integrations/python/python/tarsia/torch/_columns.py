"""Batches as they go from workers to the process that trains."""

from __future__ import annotations

import mmap
import os
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any, NamedTuple

import torch

#: Batches up to this size go through the pipe of the worker. That is faster than to pass on the descriptor of a file,
#: for which two processes talk with each other, as PyTorch does for each tensor.
_PIPE_BYTES = 512 << 10
_ALIGN = 64
#: Parts that one call writes: the limit of Linux.
_WRITE_PARTS = 1024


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
        return (_unpacked, (described, packer.in_band()))


def _sent(columns: Columns) -> Any:
    """How a batch goes to another process that runs now; pickled otherwise it holds its bytes."""
    packer = _Packer()
    described = {name: packer.add(value) for name, value in columns.items()}
    if packer.n_bytes <= _PIPE_BYTES or not hasattr(os, "memfd_create"):
        return (_unpacked, (described, packer.in_band()))
    return (_unpacked_shared, (described, packer.shared(), packer.n_bytes))


ForkingPickler.register(Columns, _sent)


class _Packer:
    """Puts tensors and bytes one behind the other."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self.n_bytes = 0

    def add(self, value: Any) -> tuple[Any, ...]:
        """Notes a value, and tells how it is made again."""
        if isinstance(value, torch.Tensor) and _is_plain(value):
            tensor = value.detach().contiguous()
            place = self._place(_bytes_of(tensor), tensor.nbytes)
            return ("tensor", tensor.dtype, tuple(tensor.shape), place)
        if isinstance(value, Ragged):
            return ("ragged", self.add(value.values), self.add(value.offsets))
        if type(value) is dict:
            return ("dict", {name: self.add(part) for name, part in value.items()})
        if type(value) is list and value:
            if all(type(part) is bytes for part in value):
                lengths = [len(part) for part in value]
                return ("bytes", self._place([part for part in value if part], sum(lengths)), lengths)
            if all(isinstance(part, torch.Tensor) for part in value):
                return ("list", [self.add(part) for part in value])
        return ("as it is", value)

    def _place(self, part: Any, n_bytes: int) -> int:
        filler = -self.n_bytes % _ALIGN
        if filler:
            self._parts.append(bytes(filler))
        place = self.n_bytes + filler
        if n_bytes:
            self._parts.append(part)
        self.n_bytes = place + n_bytes
        return place

    def in_band(self) -> bytes:
        """All bytes."""
        return b"".join(self._flat())

    def shared(self) -> Any:
        """A file in memory that holds all bytes, for another process."""
        file = os.memfd_create("tarsia-batch", os.MFD_CLOEXEC)
        try:
            parts = [memoryview(part).cast("B") for part in self._flat()]
            while parts:
                # Written instead of mapped: memory that is mapped is cleared first, page by page.
                written = os.writev(file, parts[:_WRITE_PARTS])
                done = 0
                while done < len(parts) and written >= len(parts[done]):
                    written -= len(parts[done])
                    done += 1
                parts = parts[done:]
                if written:
                    parts[0] = parts[0][written:]
            return DupFd(file)
        finally:
            os.close(file)

    def _flat(self) -> list[Any]:
        made: list[Any] = []
        for part in self._parts:
            made += part if isinstance(part, list) else [part]
        return made


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor is its type, its shape and its bytes."""
    return (
        tensor.device.type == "cpu"
        and tensor.layout == torch.strided
        and not tensor.is_nested
        and not tensor.requires_grad
    )


def _bytes_of(tensor: torch.Tensor) -> Any:
    """The memory of a tensor."""
    return tensor.reshape(-1).view(torch.uint8).numpy() if tensor.numel() else b""


def _unpacked_shared(described: dict[str, tuple[Any, ...]], file: Any, n_bytes: int) -> Columns:
    descriptor = file.detach()
    try:
        memory = mmap.mmap(descriptor, n_bytes, flags=mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0))
    finally:
        os.close(descriptor)
    # The tensor keeps the map, which goes with the last tensor that is made of it.
    return _described(described, torch.frombuffer(memory, dtype=torch.uint8))


def _unpacked(described: dict[str, tuple[Any, ...]], memory: bytes) -> Columns:
    tensor = torch.frombuffer(bytearray(memory), dtype=torch.uint8) if memory else torch.empty(0, dtype=torch.uint8)
    return _described(described, tensor)


def _described(described: dict[str, tuple[Any, ...]], memory: torch.Tensor) -> Columns:
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
