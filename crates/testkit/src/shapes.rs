//! Nested types and rows by enumeration: every type of a few nodes, and everything that a row of it may look like.
//!
//! [`nested`](crate::nested) makes random arrays. This module makes each case: a [`Slot`] says what a row holds at all
//! levels, and [`shape_array`] makes an array of such rows. Values under nulls, which Arrow leaves undefined, are
//! filled, so that a test finds code that reads them.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeListArray, Int8Array, Int32Array, ListArray,
    ListViewArray, MapArray, RunArray, StringArray, StructArray, UnionArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields, UnionFields, UnionMode};

/// A node of a type. Each has one child that is the next node. Unions and structs have a leaf beside it, maps their
/// keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// A struct of the child and a small number.
    Struct,
    /// A list.
    List,
    /// A list view.
    View,
    /// A map from numbers to the child.
    Map,
    /// A fixed-size list of this length, at most 2.
    Vector(usize),
    /// A dense union of the child and a number.
    Dense,
    /// A sparse union of the child and a number.
    Sparse,
    /// A run-end encoded array.
    Runs,
    /// A dictionary.
    Dictionary,
}

use Node::{Dense, Dictionary, List, Map, Runs, Sparse, Struct, Vector, View};

/// One of each kind.
pub const NODES: [Node; 9] = [
    Struct,
    List,
    View,
    Map,
    Vector(2),
    Dense,
    Sparse,
    Runs,
    Dictionary,
];

/// The leaf below the last node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    /// Int32.
    Number,
    /// Utf8, of some bytes or none.
    Text,
    /// Utf8 of a few KB, so that a block holds few.
    LongText,
}

/// The content of a slot of some type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    /// Null.
    Null,
    /// A leaf that is not null.
    Value,
    /// A leaf that the pattern of [`shape_array`] makes null or a value.
    Leaf,
    /// Items of a list, entries of a map, a struct.
    Items(Vec<Slot>),
    /// The child that a union chose, by its number, and its value. Child 1 is a leaf.
    Chosen(usize, Box<Slot>),
    /// In runs and dictionaries the previous run or entry, if there is one.
    Again,
    /// In dictionaries a key of an entry of its own.
    Entry(Box<Slot>),
    /// Any value: below nulls, and in the children that a union did not choose.
    Hidden,
}

fn nullable(name: &str, data_type: DataType) -> FieldRef {
    Arc::new(Field::new(name, data_type, true))
}

fn required(name: &str, data_type: DataType) -> FieldRef {
    Arc::new(Field::new(name, data_type, false))
}

fn leaf_type(leaf: Leaf) -> DataType {
    match leaf {
        Leaf::Number => DataType::Int32,
        Leaf::Text | Leaf::LongText => DataType::Utf8,
    }
}

/// The type of some nodes from the top down, and the leaf below the last.
pub fn shape_type(nodes: &[Node], leaf: Leaf) -> DataType {
    let Some((node, below)) = nodes.split_first() else {
        return leaf_type(leaf);
    };
    let child = shape_type(below, leaf);
    match node {
        Struct => DataType::Struct(struct_fields(child)),
        List => DataType::List(nullable("item", child)),
        View => DataType::ListView(nullable("item", child)),
        Map => DataType::Map(
            required("entries", DataType::Struct(entry_fields(child))),
            false,
        ),
        Vector(length) => DataType::FixedSizeList(nullable("item", child), *length as i32),
        Dense => DataType::Union(union_fields(child), UnionMode::Dense),
        Sparse => DataType::Union(union_fields(child), UnionMode::Sparse),
        Runs => DataType::RunEndEncoded(
            required("run_ends", DataType::Int32),
            nullable("values", child),
        ),
        Dictionary => DataType::Dictionary(Box::new(DataType::Int8), Box::new(child)),
    }
}

fn struct_fields(child: DataType) -> Fields {
    vec![nullable("x", child), nullable("beside", DataType::Int8)].into()
}

fn entry_fields(child: DataType) -> Fields {
    vec![required("key", DataType::Int32), nullable("value", child)].into()
}

fn union_fields(child: DataType) -> UnionFields {
    let fields = [nullable("x", child), nullable("y", DataType::Int32)];
    UnionFields::try_new(UNION_IDS, fields).unwrap()
}

const UNION_IDS: [i8; 2] = [7, 2];

/// Types that Tarsia does not store: dictionaries of dictionaries, and of runs of unions.
pub fn is_refused(nodes: &[Node]) -> bool {
    (0..nodes.len()).any(|at| {
        let mut below = nodes[at + 1..].iter().peekable();
        if nodes[at] != Dictionary {
            return false;
        }
        if below.peek() == Some(&&Dictionary) {
            return true;
        }
        let has_runs = below.peek() == Some(&&Runs);
        has_runs && matches!(below.find(|node| **node != Runs), Some(Dense | Sparse))
    })
}

/// Which pairs of items are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// Each item with each other one.
    All,
    /// Each item with the next one in the list of all items.
    Neighbours,
}

/// Everything that a slot may hold: null, empty, one item, two, at each level. `pairs` applies to the topmost lists.
pub fn slots(nodes: &[Node], pairs: Pairs) -> Vec<Slot> {
    let Some((node, below)) = nodes.split_first() else {
        return vec![Slot::Leaf];
    };
    // Items of lists are null alternately. Below other nodes there are few enough cases to try null and a value.
    let is_list = matches!(node, List | View | Map);
    let children = match below {
        [] if !is_list => vec![Slot::Null, Slot::Value],
        _ => slots(below, Pairs::All),
    };
    let n = children.len();
    let pairs_of_children = || -> Vec<Slot> {
        let seconds = |i: usize| match pairs {
            Pairs::All => 0..n,
            Pairs::Neighbours => (i + 1) % n..(i + 1) % n + 1,
        };
        let both = |i: usize, j: usize| Slot::Items(vec![children[i].clone(), children[j].clone()]);
        (0..n)
            .flat_map(|i| seconds(i).map(move |j| (i, j)))
            .map(|(i, j)| both(i, j))
            .collect()
    };
    let singles = || {
        children
            .iter()
            .map(|child| Slot::Items(vec![child.clone()]))
    };
    let mut all = vec![];
    match node {
        Struct => {
            all.push(Slot::Null);
            all.extend(singles());
        }
        List | View | Map => {
            all.extend([Slot::Null, Slot::Items(vec![])]);
            all.extend(singles());
            all.extend(pairs_of_children());
        }
        Vector(0) => all.extend([Slot::Null, Slot::Items(vec![])]),
        Vector(1) => {
            all.push(Slot::Null);
            all.extend(singles());
        }
        Vector(_) => {
            all.push(Slot::Null);
            all.extend(pairs_of_children());
        }
        Dense | Sparse => {
            let first = children.iter();
            all.extend(first.map(|child| Slot::Chosen(0, child.clone().into())));
            all.extend([Slot::Null, Slot::Value].map(|leaf| Slot::Chosen(1, leaf.into())));
        }
        Runs => {
            all.extend(children.iter().cloned());
            all.push(Slot::Again);
        }
        Dictionary => {
            all.push(Slot::Null);
            all.extend(
                children
                    .iter()
                    .map(|child| Slot::Entry(child.clone().into())),
            );
            all.push(Slot::Again);
        }
    }
    all
}

/// An array of the rows `slots`. One in `null_every` of the leaves that are [`Slot::Leaf`] is null, none for 0. `seed`
/// is the first number of the leaves, and chooses which of them are null.
///
/// # Panics
/// Where slots do not belong to the nodes, and for more than a hundred entries of a dictionary.
pub fn shape_array(
    nodes: &[Node],
    leaf: Leaf,
    slots: &[Slot],
    null_every: usize,
    seed: usize,
) -> ArrayRef {
    let mut maker = Maker {
        leaf,
        null_every,
        made: seed,
    };
    maker.array(nodes, slots)
}

struct Maker {
    leaf: Leaf,
    null_every: usize,
    made: usize,
}

impl Maker {
    fn next(&mut self) -> usize {
        self.made += 1;
        self.made
    }

    fn leaf_is_valid(&mut self, slot: &Slot) -> bool {
        let number = self.next();
        match slot {
            Slot::Leaf => self.null_every == 0 || !number.is_multiple_of(self.null_every),
            Slot::Null => false,
            _ => true,
        }
    }

    fn numbers(&mut self, slots: &[Slot]) -> ArrayRef {
        let valid: Vec<bool> = slots.iter().map(|slot| self.leaf_is_valid(slot)).collect();
        let values = slots
            .iter()
            .map(|_| (self.next() as i32).wrapping_mul(1_000_003));
        Arc::new(Int32Array::new(values.collect(), nulls(&valid)))
    }

    fn text(&mut self, slots: &[Slot]) -> ArrayRef {
        let valid: Vec<bool> = slots.iter().map(|slot| self.leaf_is_valid(slot)).collect();
        let texts = slots.iter().map(|_| match (self.leaf, self.next()) {
            (Leaf::LongText, n) => format!("{n} ").repeat(1600 + n),
            (_, n) if n.is_multiple_of(4) => String::new(),
            (_, n) => format!("value {n}"),
        });
        let values = StringArray::from_iter_values(texts);
        let (offsets, bytes, _) = values.into_parts();
        Arc::new(StringArray::new(offsets, bytes, nulls(&valid)))
    }

    fn array(&mut self, nodes: &[Node], slots: &[Slot]) -> ArrayRef {
        let Some((node, below)) = nodes.split_first() else {
            return match self.leaf {
                Leaf::Number => self.numbers(slots),
                Leaf::Text | Leaf::LongText => self.text(slots),
            };
        };
        let child_type = shape_type(below, self.leaf);
        let valid: Vec<bool> = slots.iter().map(|slot| *slot != Slot::Null).collect();
        match node {
            Struct => {
                let inner: Vec<Slot> = slots.iter().flat_map(|slot| items(slot, 1)).collect();
                let beside = (0..slots.len()).map(|_| match self.next() {
                    n if n.is_multiple_of(3) => None,
                    n => Some(n as i8),
                });
                let beside: ArrayRef = Arc::new(Int8Array::from_iter(beside));
                let columns = vec![self.array(below, &inner), beside];
                let fields = struct_fields(child_type);
                Arc::new(StructArray::new(fields, columns, nulls(&valid)))
            }
            List => {
                let (offsets, inner) = lists(slots);
                let inner = self.array(below, &inner);
                let field = nullable("item", child_type);
                Arc::new(ListArray::new(field, offsets, inner, nulls(&valid)))
            }
            Map => {
                let (offsets, inner) = lists(slots);
                let keys = inner.iter().map(|_| self.next() as i32);
                let keys: ArrayRef = Arc::new(Int32Array::from_iter_values(keys));
                let columns = vec![keys, self.array(below, &inner)];
                let entries = StructArray::new(entry_fields(child_type), columns, None);
                let field = required("entries", entries.data_type().clone());
                Arc::new(MapArray::new(field, offsets, entries, nulls(&valid), false))
            }
            View => self.view(child_type, below, slots, &valid),
            Vector(length) => {
                let inner: Vec<Slot> = slots.iter().flat_map(|slot| items(slot, *length)).collect();
                let inner = self.array(below, &inner);
                let (field, length) = (nullable("item", child_type), *length as i32);
                let rows = slots.len();
                let vectors = FixedSizeListArray::try_new_with_length(
                    field,
                    length,
                    inner,
                    nulls(&valid),
                    rows,
                );
                Arc::new(vectors.unwrap())
            }
            Dense | Sparse => self.union(*node, below, slots),
            Runs => self.runs(below, slots),
            Dictionary => {
                let (mut keys, mut entries) = (vec![], vec![]);
                for slot in slots {
                    match slot {
                        Slot::Again if !entries.is_empty() => {}
                        Slot::Null => {}
                        Slot::Entry(entry) => entries.push((**entry).clone()),
                        _ => entries.push(Slot::Hidden),
                    }
                    keys.push((*slot != Slot::Null).then(|| entries.len() as i8 - 1));
                }
                // An entry that no key names.
                entries.push(Slot::Hidden);
                let entries = self.array(below, &entries);
                Arc::new(DictionaryArray::new(Int8Array::from(keys), entries))
            }
        }
    }

    fn view(
        &mut self,
        child_type: DataType,
        below: &[Node],
        slots: &[Slot],
        valid: &[bool],
    ) -> ArrayRef {
        // The last row's items come first, those of null rows overlap them.
        let mut inner = vec![];
        let mut views = vec![(0, 0); slots.len()];
        for (view, slot) in views.iter_mut().zip(slots).rev() {
            match slot {
                Slot::Null => *view = (0, inner.len().min(1) as i32),
                slot => {
                    let items = items(slot, 1);
                    *view = (inner.len() as i32, items.len() as i32);
                    inner.extend(items);
                }
            }
        }
        let (offsets, sizes): (Vec<i32>, Vec<i32>) = views.into_iter().unzip();
        let inner = self.array(below, &inner);
        let field = nullable("item", child_type);
        let (offsets, sizes) = (offsets.into(), sizes.into());
        Arc::new(ListViewArray::new(
            field,
            offsets,
            sizes,
            inner,
            nulls(valid),
        ))
    }

    fn runs(&mut self, below: &[Node], slots: &[Slot]) -> ArrayRef {
        let (mut ends, mut values) = (vec![], vec![]);
        for (row, slot) in slots.iter().enumerate() {
            match slot {
                Slot::Again if row > 0 => ends.pop(),
                _ => {
                    let first = matches!(slot, Slot::Again | Slot::Hidden);
                    values.push(if first { Slot::Hidden } else { slot.clone() });
                    None
                }
            };
            ends.push(row as i32 + 1);
        }
        let values = self.array(below, &values);
        let ends = Int32Array::from(ends);
        Arc::new(RunArray::<Int32Type>::try_new(&ends, &values).unwrap())
    }

    fn union(&mut self, node: Node, below: &[Node], slots: &[Slot]) -> ArrayRef {
        let (mut ids, mut offsets) = (vec![], vec![]);
        let mut children: [Vec<Slot>; 2] = Default::default();
        for slot in slots {
            let (chosen, slot) = match slot {
                Slot::Chosen(child, slot) => (*child, (**slot).clone()),
                _ => (0, Slot::Hidden),
            };
            ids.push(UNION_IDS[chosen]);
            if node == Sparse {
                children[1 - chosen].push(Slot::Hidden);
            }
            offsets.push(children[chosen].len() as i32);
            children[chosen].push(slot);
        }
        let columns = vec![self.array(below, &children[0]), self.numbers(&children[1])];
        let offsets = (node == Dense).then(|| ScalarBuffer::from(offsets));
        let fields = union_fields(shape_type(below, self.leaf));
        Arc::new(UnionArray::try_new(fields, ids.into(), offsets, columns).unwrap())
    }
}

/// Makes the items below a slot, in a slot that is null as well.
fn items(slot: &Slot, hidden: usize) -> Vec<Slot> {
    match slot {
        Slot::Items(items) => items.clone(),
        _ => vec![Slot::Hidden; hidden],
    }
}

/// Null lists have an item that no reader may return, and so does the array before its first list.
fn lists(slots: &[Slot]) -> (OffsetBuffer<i32>, Vec<Slot>) {
    let mut inner = vec![Slot::Hidden];
    let mut offsets = vec![1];
    for slot in slots {
        inner.extend(items(slot, 1));
        offsets.push(inner.len() as i32);
    }
    (OffsetBuffer::new(offsets.into()), inner)
}

fn nulls(valid: &[bool]) -> Option<NullBuffer> {
    valid.contains(&false).then(|| NullBuffer::from(valid))
}
