//! Choosers of the trees of encodings for each leaf column.

use std::collections::{HashMap, HashSet};

use arrow_schema::Schema;
use tarsia_arrow::LeafPath;
use tarsia_cascade::{Chooser, Objective, Outline, Weights};
use tarsia_codec::Statistics;
use tarsia_metadata::ErasureLevel;
use tarsia_page_writer::{Choice, Choose, not_strict};

use crate::error::{Error, ErrorKind, Result};
use crate::table::{Stored, full_name};
use crate::write::captured::CapturedColumn;
use crate::write::options::{ColumnOptions, Erasure, PageChooser, WriteOptions};
use crate::write::preset::Preset;
use crate::write::rounding::{ColumnRounding, is_rounded};

/// The chooser of a column's trees.
pub(super) enum ColumnChooser {
    Search(Chooser),
    Custom {
        policy: PageChooser,
        full_zip_bytes_min: u32,
    },
}

impl Choose for ColumnChooser {
    fn choose(&self, values: &Statistics<'_>) -> tarsia_codec::Result<Choice> {
        match self {
            Self::Search(chooser) => chooser.choose(values),
            Self::Custom { policy, .. } => policy.choose(values),
        }
    }

    fn full_zip_bytes_min(&self) -> u32 {
        match self {
            Self::Search(chooser) => chooser.full_zip_bytes_min(),
            Self::Custom {
                full_zip_bytes_min, ..
            } => *full_zip_bytes_min,
        }
    }
}

/// The names by which options find a leaf column.
pub(super) struct LeafName<'a> {
    /// Name of the top-level field.
    pub(super) field: &'a str,
    /// Names from the top-level field down, joined by dots.
    pub(super) leaf: &'a str,
}

/// Makes the choosers of all columns.
pub(super) struct Choosers<'a> {
    options: &'a WriteOptions,
    /// All columns share what it finds out about fallbacks.
    base: Chooser,
    /// The names that options may have.
    known: HashSet<String>,
    /// Names with options that lead into nested columns, by the full names of what they lead to: those of lists' items
    /// and maps' entries, which need not be named, are in it.
    leading: HashMap<String, &'a str>,
    /// Columns whose values are rounded.
    rounded: HashSet<String>,
}

impl<'a> Choosers<'a> {
    pub(super) fn new(options: &'a WriteOptions, schema: &Schema) -> Self {
        Self {
            options,
            base: Chooser::new(options.registry().clone(), options.preset().into()),
            known: HashSet::new(),
            leading: leading(options, schema),
            rounded: HashSet::new(),
        }
    }

    /// The chooser of a leaf column. `full_zip_bytes_min` is what its field asks for.
    pub(super) fn of(
        &mut self,
        name: &LeafName<'_>,
        full_zip_bytes_min: Option<u32>,
    ) -> ColumnChooser {
        let options = self.options;
        let names = self.names_of(name);
        let own = names.iter().find_map(|name| options.column(name));
        self.known.extend(names.into_iter().map(str::to_owned));
        let captured = options.layout().column(name.leaf);
        let full_zip_bytes_min = full_zip_bytes_min
            .or(captured.map(|captured| match captured {
                CapturedColumn::RowByRow => 0,
                CapturedColumn::Together(_) => u32::MAX,
            }))
            .unwrap_or(options.full_zip_bytes_min());
        let erasure = self.erasure(name);
        if erasure.is_strict {
            return ColumnChooser::Search(self.base.clone().by_type_alone());
        }
        let has_tree = own.is_some_and(|own| own.tree().is_some() || own.outline().is_some());
        let policy = own.and_then(ColumnOptions::chooser);
        if let Some(policy) = policy.or_else(|| options.chooser().filter(|_| !has_tree)) {
            return ColumnChooser::Custom {
                policy: policy.clone(),
                full_zip_bytes_min,
            };
        }
        let preset = own.and_then(ColumnOptions::preset);
        let weights = Weights {
            erasable: erasure.level == ErasureLevel::Erase,
            ..Objective::from(self.preset(name)).weights()
        };
        let chooser = self
            .base
            .clone()
            .with_weights(weights)
            .with_full_zip_bytes_min(full_zip_bytes_min);
        let captured = captured.filter(|_| preset.is_none() && !has_tree);
        let outline = match captured {
            Some(CapturedColumn::Together(outline)) => {
                Some(outline).filter(|outline| self.unwritten(outline).is_none())
            }
            _ => own.and_then(ColumnOptions::outline),
        };
        let chooser = match outline {
            None => chooser,
            Some(outline) => chooser.with_outline(outline.clone()),
        };
        ColumnChooser::Search(match own.and_then(ColumnOptions::tree) {
            None => chooser,
            Some(tree) => chooser.with_tree(tree.clone()),
        })
    }

    /// Returns what erasures may do with the values of a leaf column.
    pub(super) fn erasure(&self, name: &LeafName<'_>) -> Erasure {
        let asked = |name: &str| {
            let own = self.options.column(name);
            own.and_then(ColumnOptions::erasure_asked)
        };
        let of_column = self.names_of(name).into_iter().find_map(asked);
        of_column.unwrap_or(self.options.erasure_asked())
    }

    /// Returns the preset of a leaf column.
    pub(super) fn preset(&self, name: &LeafName<'_>) -> Preset {
        let names = self.names_of(name).into_iter();
        let mut own = names.filter_map(|name| self.options.column(name));
        let of_column = own.next().and_then(ColumnOptions::preset);
        of_column.unwrap_or(self.options.preset())
    }

    /// Returns whether a leaf column has zones.
    pub(super) fn zones(&self, name: &LeafName<'_>) -> bool {
        let asked = |name: &str| self.options.column(name).and_then(ColumnOptions::zones);
        let of_column = self.names_of(name).into_iter().find_map(asked);
        of_column.unwrap_or(self.options.zones())
    }

    /// Returns whether a leaf column gets bloom filters, which `stored` lies at `path` in its field.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a column that can have none.
    pub(super) fn blooms(
        &self,
        name: &LeafName<'_>,
        stored: &Stored,
        path: &LeafPath,
    ) -> Result<bool> {
        let asked = |name: &str| self.options.column(name).and_then(ColumnOptions::blooms);
        let of_column = self.names_of(name).into_iter().find_map(asked);
        let is_asked = of_column.unwrap_or(false);
        if is_asked && !stored.may_have_blooms(path) {
            let what = format!(
                "no bloom filters for type {}: there are some for integers, dates, times, decimals, text and binary \
                 data, also as dictionaries and runs, if nothing but structs is above them",
                path.data_type()
            );
            return Err(Error::new(ErrorKind::InvalidInput, what).in_column(name.leaf));
        }
        Ok(is_asked)
    }

    /// Checks that a strict leaf column, which lies at `path`, can be stored so that erasures leave nothing.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] that names what would be left.
    pub(super) fn check_strict(
        &self,
        name: &LeafName<'_>,
        path: &LeafPath,
        rounding: Option<&ColumnRounding>,
        full_zip_bytes_min: Option<u32>,
    ) -> Result<()> {
        let names = self.names_of(name).into_iter();
        let own = names.filter_map(|name| self.options.column(name));
        let chooses = |own: &ColumnOptions| {
            own.tree().is_some() || own.outline().is_some() || own.chooser().is_some()
        };
        let what = match not_strict(path.forms(), path.value_type()) {
            Some(what) => what,
            None if rounding.is_some_and(ColumnRounding::depends_on_other_rows) => {
                "the scale of a page tells about how large its largest value was"
            }
            None if own.into_iter().any(chooses) => {
                "its trees are those of its type, and no others"
            }
            None if full_zip_bytes_min == Some(0) => "its rows are not stored one by one",
            None => return Ok(()),
        };
        let what = format!("a strict column cannot be stored so: {what}");
        Err(Error::new(ErrorKind::InvalidInput, what).in_column(name.leaf))
    }

    /// The names by which options find a leaf column, the closest first: its own, those that lead to what it is in, its
    /// field's.
    fn names_of<'n>(&self, name: &LeafName<'n>) -> Vec<&'n str>
    where
        'a: 'n,
    {
        let whole = std::iter::once(name.leaf.len());
        let dots = name.leaf.rmatch_indices('.').map(|(dot, _)| dot);
        let led = whole.chain(dots).filter_map(|end| {
            let full = name.leaf.get(..end)?;
            self.leading.get(full).copied()
        });
        let led = led.filter(|_| !self.leading.is_empty());
        std::iter::once(name.leaf)
            .chain(led)
            .chain([name.field])
            .collect()
    }

    /// How a leaf column is rounded: as the options of its own name say, or of its field's if it is of floating-point
    /// numbers.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for an unknown rounding, or one of a leaf without floating-point numbers.
    pub(super) fn rounding(
        &mut self,
        name: &LeafName<'_>,
        path: &LeafPath,
    ) -> Result<Option<ColumnRounding>> {
        let asked = |name: &str| self.options.column(name).and_then(ColumnOptions::rounding);
        let names = self.names_of(name);
        let Some(asked) = names.iter().find_map(|name| asked(name)) else {
            return Ok(None);
        };
        let found = ColumnRounding::new(asked, name.leaf, path, self.options.registry())?;
        if !is_rounded(path) {
            return Ok(None);
        }
        self.rounded.extend(names.into_iter().map(str::to_owned));
        Ok(Some(found))
    }

    /// Checks that all options of columns are for columns that there are, and name encodings that are written.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchColumn`] with the name that no column has; [`ErrorKind::InvalidInput`] for columns that
    /// cannot be rounded, and for encodings that are not written.
    pub(super) fn check_names(&self) -> Result<()> {
        let refused = |what: String, name: &str| {
            Err(Error::new(ErrorKind::InvalidInput, what).in_column(name))
        };
        let names = self.options.column_names();
        if let Some(name) = names.filter(|name| !self.known.contains(*name)).min() {
            let what = "options for a column that the schema does not have";
            return Err(Error::new(ErrorKind::NoSuchColumn, what).in_column(name));
        }
        let mut names: Vec<_> = self.options.column_names().collect();
        names.sort_unstable();
        for name in names {
            let rounding = self.options.column(name).and_then(ColumnOptions::rounding);
            if rounding.is_some() && !self.rounded.contains(name) {
                let what = "only floating-point numbers are rounded, and the column has none";
                return refused(what.to_owned(), name);
            }
            let outline = self.options.column(name).and_then(ColumnOptions::outline);
            if let Some(id) = outline.and_then(|outline| self.unwritten(outline)) {
                return refused(format!("no encoding `{id}` is written"), name);
            }
        }
        Ok(())
    }

    /// The first encoding of an outline that is not written.
    fn unwritten<'o>(&self, outline: &'o Outline) -> Option<&'o str> {
        let writers = self.options.registry().writers();
        let is_written = |id: &str| writers.iter().any(|known| known.writer.id() == id);
        outline.ids().into_iter().find(|id| !is_written(id))
    }
}

/// The names with options that lead into nested fields of a schema, by the full names of what they lead to.
fn leading<'a>(options: &'a WriteOptions, schema: &Schema) -> HashMap<String, &'a str> {
    let full = |name: &'a str| {
        if schema.column_with_name(name).is_some() {
            return None;
        }
        name.match_indices('.').find_map(|(dot, _)| {
            let (_, field) = schema.column_with_name(&name[..dot])?;
            let below = full_name(field.data_type(), &name[dot + 1..])?;
            Some((format!("{}.{below}", &name[..dot]), name))
        })
    };
    let mut names: Vec<_> = options.column_names().collect();
    // Of two names that lead to the same, the longer one counts, which says more.
    names.sort_unstable_by_key(|name| (name.len(), *name));
    names.into_iter().filter_map(full).collect()
}
