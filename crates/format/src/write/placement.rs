//! Which columns' pages come first, where pages of several columns are written together.

use std::collections::HashMap;

use arrow_schema::{Field, Schema};

use crate::error::{Error, ErrorKind, Result};
use crate::table::full_name;

/// The order that [`WriteOptions::with_column_order`](crate::WriteOptions::with_column_order) asks for.
pub(crate) struct Placement {
    /// Positions in the order, by the full names of what the names lead to.
    ranks: HashMap<String, u32>,
    n_names: u32,
}

impl Placement {
    /// # Errors
    /// [`ErrorKind::NoSuchColumn`] for a name that leads nowhere; [`ErrorKind::InvalidInput`] for two that lead to the
    /// same.
    pub(crate) fn new(order: &[String], schema: &Schema) -> Result<Self> {
        let fields = match order.is_empty() {
            true => Fields(HashMap::new()),
            false => Fields::of(schema),
        };
        let mut ranks = HashMap::with_capacity(order.len());
        for (rank, name) in (0..).zip(order) {
            let refused = |kind, what| Err(Error::new(kind, what).in_column(name));
            let Some(full) = fields.full_name(name)? else {
                let what = "the order of columns has a column that the schema does not have";
                return refused(ErrorKind::NoSuchColumn, what);
            };
            if ranks.insert(full, rank).is_some() {
                let what = "the order of columns has this column twice";
                return refused(ErrorKind::InvalidInput, what);
            }
        }
        Ok(Self {
            n_names: ranks.len() as u32,
            ranks,
        })
    }

    /// The position of a leaf column, given the names from its top-level field down, joined by dots. Of several names
    /// that lead to it or to what it is in, the longest counts. Columns without a name come behind all others.
    pub(crate) fn rank(&self, leaf: &str) -> u32 {
        if self.ranks.is_empty() {
            return 0;
        }
        let whole = std::iter::once(leaf.len());
        let mut ends = whole.chain(leaf.rmatch_indices('.').map(|(dot, _)| dot));
        let rank = ends.find_map(|end| self.ranks.get(leaf.get(..end)?));
        rank.copied().unwrap_or(self.n_names)
    }

    /// Whether a name leads to a leaf column.
    pub(crate) fn names(&self, leaf: &str) -> bool {
        self.rank(leaf) < self.n_names
    }
}

/// The top-level fields of a schema by their names; `None` where several have one.
pub(crate) struct Fields<'a>(HashMap<&'a str, Option<&'a Field>>);

impl<'a> Fields<'a> {
    pub(crate) fn of(schema: &'a Schema) -> Self {
        let mut fields: HashMap<&str, Option<&Field>> = HashMap::new();
        for field in schema.fields() {
            let of_name = fields.entry(field.name());
            of_name.and_modify(|it| *it = None).or_insert(Some(field));
        }
        Self(fields)
    }

    /// The full name of what a name leads to: a top-level field, or one inside it.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchColumn`] if several columns have the name.
    pub(crate) fn full_name(&self, name: &str) -> Result<Option<String>> {
        let several = |name: &str| {
            let path = name.escape_debug().to_string();
            Err(tarsia_metadata::Error::AmbiguousPath { path }.into())
        };
        match self.0.get(name) {
            Some(Some(_)) => return Ok(Some(name.to_owned())),
            Some(None) => return several(name),
            None => {}
        }
        for (dot, _) in name.match_indices('.') {
            let (outer, inner) = (&name[..dot], &name[dot + 1..]);
            let full = match self.0.get(outer) {
                Some(Some(field)) => full_name(field.data_type(), inner),
                Some(None) => return several(outer),
                None => None,
            };
            if let Some(below) = full {
                return Ok(Some(format!("{outer}.{below}")));
            }
        }
        Ok(None)
    }
}
