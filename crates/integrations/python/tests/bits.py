"""Tables that are equal bit by bit, NaN and the sign of zero included."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def assert_same(found: pa.Table, expected: pa.Table, where: str = "") -> None:
    """Fails unless both tables have the same schema with all metadata, and the same values."""
    assert found.schema.equals(expected.schema, check_metadata=True), (
        f"{where}\n{found.schema.to_string(show_schema_metadata=True)}\n--\n"
        f"{expected.schema.to_string(show_schema_metadata=True)}"
    )
    assert found.num_rows == expected.num_rows, where
    for position, field in enumerate(expected.schema):
        one, other = (whole(table.column(position)) for table in (found, expected))
        assert same(one, other), f"{where}: column {field.name} of type {field.type}"


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    if column.num_chunks == 1:
        return column.chunk(0)
    if isinstance(column.type, pa.BaseExtensionType):
        storage = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
        return pa.ExtensionArray.from_storage(column.type, whole(storage))
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def same(one: pa.Array, other: pa.Array) -> bool:
    """Whether two arrays have the same type, the same nulls and the same values."""
    if one.type != other.type or len(one) != len(other):
        return False
    of, test = one.type, pa.types
    if isinstance(of, pa.BaseExtensionType):
        return same(one.storage, other.storage)
    if test.is_dictionary(of):
        return same(pc.cast(one, of.value_type), pc.cast(other, of.value_type))
    if test.is_run_end_encoded(of):
        return same(pc.run_end_decode(one), pc.run_end_decode(other))
    if test.is_union(of):
        return one.to_pylist() == other.to_pylist()
    if not one.is_valid().equals(other.is_valid()):
        return False
    if test.is_floating(of):
        number = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[of.bit_width]
        return one.view(number).equals(other.view(number))
    if test.is_struct(of):
        return all(same(a, b) for a, b in zip(one.flatten(), other.flatten(), strict=True))
    if test.is_fixed_size_list(of):
        return same(one.flatten(), other.flatten())
    if test.is_list_view(of) or test.is_large_list_view(of):
        return one.to_pylist() == other.to_pylist()
    if test.is_list(of) or test.is_large_list(of):
        lengths = pc.list_value_length(one).equals(pc.list_value_length(other))
        return lengths and same(one.flatten(), other.flatten())
    if test.is_map(of):
        pairs = pa.list_(pa.struct([of.key_field, of.item_field]))
        return same(one.cast(pairs), other.cast(pairs)) if of.item_type != pa.null() else one.equals(other)
    return one.equals(other)
