//! Arrays of a record batch: where each of their buffers lies, and how their lengths belong together.

use arrow_ipc::MetadataVersion;
use arrow_schema::{DataType, UnionMode};

use super::array::{Array, Values};
use super::buffers::{Offsets, Place};
use super::views::{VIEW_BYTES, Views};

/// Lengths that do not belong together, or an array or buffer that is missing. Such a batch is left to the decoder,
/// which refuses it, or is more lenient.
pub(super) struct Irregular;

/// A column of a batch.
pub(super) struct Column {
    /// `None` if its type cannot be cut.
    pub(super) array: Option<Array>,
    /// Its nodes, buffers and numbers of buffers of views in those of the batch.
    pub(super) nodes: std::ops::Range<usize>,
    pub(super) buffers: std::ops::Range<usize>,
    pub(super) variadic_counts: std::ops::Range<usize>,
}

/// Goes through the nodes and buffers of a batch in the order of its columns.
pub(super) struct Layout {
    pub(super) nodes: Vec<arrow_ipc::FieldNode>,
    /// In the input.
    pub(super) buffers: Vec<Place>,
    pub(super) variadic_counts: Vec<i64>,
    version: MetadataVersion,
    next_node: usize,
    next_buffer: usize,
    next_count: usize,
}

impl Layout {
    /// The layout of a batch whose body begins at this byte, in which its buffers lie.
    pub(super) fn new(
        batch: arrow_ipc::RecordBatch<'_>,
        version: MetadataVersion,
        body_start: u64,
    ) -> Result<Layout, Irregular> {
        let place = |buffer: &arrow_ipc::Buffer| {
            let start = u64::try_from(buffer.offset()).ok()?;
            Some(Place {
                start: body_start.checked_add(start)?,
                bytes: u64::try_from(buffer.length()).ok()?,
            })
        };
        let buffers = batch.buffers().into_iter().flatten().map(place);
        let buffers: Option<Vec<Place>> = buffers.collect();
        Ok(Layout {
            nodes: batch.nodes().into_iter().flatten().copied().collect(),
            buffers: buffers.ok_or(Irregular)?,
            variadic_counts: batch.variadicBufferCounts().into_iter().flatten().collect(),
            version,
            next_node: 0,
            next_buffer: 0,
            next_count: 0,
        })
    }

    /// True if columns have taken all numbers of buffers of views.
    pub(super) fn is_at_end(&self) -> bool {
        self.next_count == self.variadic_counts.len()
    }

    /// The next column, of so many rows.
    pub(super) fn column(
        &mut self,
        data_type: &DataType,
        rows: usize,
    ) -> Result<Column, Irregular> {
        let (node, buffer, count) = (self.next_node, self.next_buffer, self.next_count);
        let array = self.array(data_type, Some(rows))?;
        Ok(Column {
            array,
            nodes: node..self.next_node,
            buffers: buffer..self.next_buffer,
            variadic_counts: count..self.next_count,
        })
    }

    fn node(&mut self) -> Result<Node, Irregular> {
        let node = self.nodes.get(self.next_node).ok_or(Irregular)?;
        self.next_node += 1;
        Ok(Node {
            len: usize::try_from(node.length()).map_err(|_| Irregular)?,
            null_count: usize::try_from(node.null_count()).map_err(|_| Irregular)?,
        })
    }

    /// The next buffer, which has so many bytes at least.
    fn buffer(&mut self, bytes_min: Option<usize>) -> Result<Place, Irregular> {
        let place = *self.buffers.get(self.next_buffer).ok_or(Irregular)?;
        self.next_buffer += 1;
        let bytes_min = bytes_min.ok_or(Irregular)? as u64;
        (place.bytes >= bytes_min).then_some(place).ok_or(Irregular)
    }

    fn validity(&mut self, node: Node) -> Result<Option<Place>, Irregular> {
        let bytes_min = if node.null_count > 0 {
            node.len.div_ceil(8)
        } else {
            0
        };
        self.buffer(Some(bytes_min)).map(Some)
    }

    /// The next array, of a length if its parent says it. `None` if it cannot be cut.
    fn array(
        &mut self,
        data_type: &DataType,
        len: Option<usize>,
    ) -> Result<Option<Array>, Irregular> {
        let node = self.node()?;
        if len.is_some_and(|len| len != node.len) {
            return Err(Irregular);
        }
        let made = |validity, values, children| Ok(Some(node.array(validity, values, children)));
        match data_type {
            DataType::Null if node.null_count == node.len => made(None, Values::Nulls, Vec::new()),
            DataType::Boolean => {
                let validity = self.validity(node)?;
                let bits = self.buffer(Some(node.len.div_ceil(8)))?;
                made(validity, Values::Bits(bits), Vec::new())
            }
            DataType::Utf8 | DataType::Binary => self.bytes(node, 4, *data_type == DataType::Utf8),
            DataType::LargeUtf8 | DataType::LargeBinary => {
                self.bytes(node, 8, *data_type == DataType::LargeUtf8)
            }
            DataType::List(item) | DataType::Map(item, _) => self.list(node, 4, item.data_type()),
            DataType::LargeList(item) => self.list(node, 8, item.data_type()),
            DataType::FixedSizeList(item, size) => {
                let size = usize::try_from(*size).map_err(|_| Irregular)?;
                let validity = self.validity(node)?;
                let items = node.len.checked_mul(size).ok_or(Irregular)?;
                let child = self.array(item.data_type(), Some(items))?;
                let Some(child) = child else { return Ok(None) };
                made(validity, Values::Items(size), vec![child])
            }
            DataType::Struct(fields) => {
                let validity = self.validity(node)?;
                let types = fields.iter().map(|field| field.data_type());
                let Some(children) = self.children(types, Some(node.len))? else {
                    return Ok(None);
                };
                made(validity, Values::Items(1), children)
            }
            DataType::Union(fields, mode) => {
                let has_validity = self.version < MetadataVersion::V5;
                if has_validity {
                    self.buffer(Some(0))?;
                }
                let types = self.buffer(Some(node.len))?;
                let is_sparse = *mode == UnionMode::Sparse;
                if !is_sparse {
                    self.buffer(Some(0))?;
                }
                let children = fields.iter().map(|(_, field)| field.data_type());
                let children = self.children(children, is_sparse.then_some(node.len))?;
                let Some(children) = children.filter(|_| is_sparse && !has_validity) else {
                    return Ok(None);
                };
                let values = Values::Fixed {
                    place: types,
                    width: 1,
                };
                // Unions have no nulls of their own, whatever their node says.
                Ok(Some(Array::new(node.len, 0, None, values, children)))
            }
            DataType::Dictionary(keys, _) => {
                let keys = self.fixed(node, keys.primitive_width())?;
                if let Some(Values::Fixed { place, width }) = keys.as_ref().map(Array::values) {
                    of_items(*place, *width)?;
                }
                Ok(keys)
            }
            DataType::FixedSizeBinary(width) => self.fixed(node, usize::try_from(*width).ok()),
            DataType::BinaryView | DataType::Utf8View => self.views(node),
            DataType::ListView(_) | DataType::LargeListView(_) | DataType::RunEndEncoded(..) => {
                self.pass_over(data_type)
            }
            other => self.fixed(node, other.primitive_width()),
        }
    }

    fn fixed(&mut self, node: Node, width: Option<usize>) -> Result<Option<Array>, Irregular> {
        let width = width.ok_or(Irregular)?;
        let validity = self.validity(node)?;
        let place = self.buffer(node.len.checked_mul(width))?;
        let values = Values::Fixed { place, width };
        Ok(Some(node.array(validity, values, Vec::new())))
    }

    fn offsets(&mut self, node: Node, width: usize) -> Result<Offsets, Irregular> {
        // Arrays without items may have no offset.
        let n = if node.len == 0 {
            Some(0)
        } else {
            node.len.checked_add(1)
        };
        let place = self.buffer(n.and_then(|n| n.checked_mul(width)))?;
        of_items(place, width)?;
        Ok(Offsets { place, width })
    }

    fn bytes(
        &mut self,
        node: Node,
        offset_width: usize,
        is_text: bool,
    ) -> Result<Option<Array>, Irregular> {
        let validity = self.validity(node)?;
        let values = Values::Bytes {
            offsets: self.offsets(node, offset_width)?,
            data: self.buffer(Some(0))?,
            is_text,
            next: 0,
            end: 0,
        };
        Ok(Some(node.array(validity, values, Vec::new())))
    }

    fn list(
        &mut self,
        node: Node,
        offset_width: usize,
        item: &DataType,
    ) -> Result<Option<Array>, Irregular> {
        let validity = self.validity(node)?;
        let values = Values::List(self.offsets(node, offset_width)?);
        let Some(child) = self.array(item, None)? else {
            return Ok(None);
        };
        Ok(Some(node.array(validity, values, vec![child])))
    }

    /// The next arrays, of these types; `None` if one of them cannot be cut.
    fn children<'a>(
        &mut self,
        types: impl Iterator<Item = &'a DataType>,
        len: Option<usize>,
    ) -> Result<Option<Vec<Array>>, Irregular> {
        let mut children = Some(Vec::new());
        for data_type in types {
            let child = self.array(data_type, len)?;
            children = children.zip(child).map(|(mut children, child)| {
                children.push(child);
                children
            });
        }
        Ok(children)
    }

    fn views(&mut self, node: Node) -> Result<Option<Array>, Irregular> {
        let count = self.variadic_counts.get(self.next_count);
        let count = count.and_then(|count| usize::try_from(*count).ok());
        self.next_count += 1;
        let validity = self.validity(node)?;
        let place = self.buffer(node.len.checked_mul(VIEW_BYTES))?;
        of_items(place, VIEW_BYTES)?;
        let end = count.and_then(|count| self.next_buffer.checked_add(count));
        let data = self.next_buffer..end.ok_or(Irregular)?;
        self.next_buffer = data.end;
        let data = self.buffers.get(data).ok_or(Irregular)?.to_vec();
        let values = Values::Views(Views::new(place, data));
        Ok(Some(node.array(validity, values, Vec::new())))
    }

    /// Goes behind the buffers and children of an array that cannot be cut.
    fn pass_over(&mut self, data_type: &DataType) -> Result<Option<Array>, Irregular> {
        match data_type {
            DataType::ListView(item) | DataType::LargeListView(item) => {
                for _ in ["validity", "offsets", "lengths"] {
                    self.buffer(Some(0))?;
                }
                self.array(item.data_type(), None)?;
            }
            DataType::RunEndEncoded(ends, values) => {
                self.array(ends.data_type(), None)?;
                self.array(values.data_type(), None)?;
            }
            _ => return Err(Irregular),
        }
        Ok(None)
    }
}

/// Whether a buffer ends with an item. The decoder refuses offsets, views and keys of dictionaries of other lengths.
fn of_items(place: Place, width: usize) -> Result<(), Irregular> {
    match place.bytes.is_multiple_of(width as u64) {
        true => Ok(()),
        false => Err(Irregular),
    }
}

/// A node whose numbers are none below zero.
#[derive(Clone, Copy)]
struct Node {
    len: usize,
    null_count: usize,
}

impl Node {
    fn array(self, validity: Option<Place>, values: Values, children: Vec<Array>) -> Array {
        Array::new(self.len, self.null_count, validity, values, children)
    }
}
