//! Checks of what the metadata say of each other: buckets of records, the footer of page descriptions and kernels, the
//! schema of columns. Digests cannot tell, since a liar computes them too.

use std::collections::HashSet;
use std::sync::Arc;

use tarsia_kernels::Kernel;
use tarsia_metadata::{EncodingUse, ErasureLevel};
use tarsia_structure::Meta;

use super::report::corrupt;
use crate::error::{Error, Result};
use crate::exec::OpenFile;
use crate::source::run;
use crate::table::{Column, Description};
use crate::write::{Needs, ROUNDED_KEY_PREFIX, STRICT_KEY_PREFIX, STRICT_VALUE};

/// Checks all of it.
pub(super) fn check(file: &OpenFile, columns: &[Arc<Column>]) -> Result<()> {
    let catalog = &file.catalog;
    run(&file.source, |hand| catalog.check_buckets(hand))?;
    let (stated, found) = (catalog.n_leaves(), columns.len());
    if stated as usize != found {
        return Err(corrupt(format!(
            "footer: {stated} columns, the schema has {found}"
        )));
    }
    let descriptions = descriptions(file, columns)?;
    let mut trees = Vec::new();
    for described in &descriptions {
        trees.extend(described.meta()?.all_trees());
    }
    if EncodingUse::of_trees(trees) != catalog.encodings() {
        let what = "footer: the list of encodings is not that of the page descriptions";
        return Err(corrupt(what));
    }
    kernels(file, &descriptions)?;
    strict(file, columns)?;
    rounding(file, columns)
}

/// A page description, and where it is: in the footer, by its index, or beside a column.
struct Described<'a> {
    description: &'a Description,
    index: usize,
    column: Option<&'a str>,
}

impl Described<'_> {
    fn meta(&self) -> Result<&Meta> {
        self.description.meta().map_err(|error| self.at(error))
    }

    /// Adds to an error where the description is.
    fn at(&self, error: Error) -> Error {
        match self.column {
            Some(name) => error.prefixed("page description").in_column(name),
            None => error.prefixed(&format!("page description {}", self.index)),
        }
    }
}

/// The page descriptions of the file: the footer's, whether or not a page has them, and those of columns.
fn descriptions<'a>(file: &'a OpenFile, columns: &'a [Arc<Column>]) -> Result<Vec<Described<'a>>> {
    let common = file.catalog.descriptions().common();
    let mut all: Vec<_> = common
        .iter()
        .enumerate()
        .map(|(index, description)| Described {
            description,
            index,
            column: None,
        })
        .collect();
    let address = |description: &Arc<Description>| Arc::as_ptr(description).addr();
    let mut known: HashSet<usize> = common.iter().map(address).collect();
    for column in columns {
        for page in column.pages.iter().chain(&column.shared_pages) {
            if known.insert(address(&page.description)) {
                all.push(Described {
                    description: &page.description,
                    index: all.len(),
                    column: Some(column.name()),
                });
            }
        }
    }
    Ok(all)
}

/// Checks that the kernels are kernels, and decode the pages whose descriptions name them, as far as this build knows
/// them.
fn kernels(file: &OpenFile, descriptions: &[Described<'_>]) -> Result<()> {
    let mut shipped: Vec<Option<&Kernel>> = Vec::new();
    for (number, section) in file.catalog.kernel_sections().enumerate() {
        let check = || {
            let bytes = file.source.read(section.range.clone())?;
            check_kernel(file, &bytes)?;
            let digest = tarsia_metadata::KernelSection::parse(&bytes)?.digest;
            let mut known = tarsia_kernels::ALL.iter();
            Ok(known.find(|known| known.digest == digest).copied())
        };
        let place = section.range.start;
        let named = |error: Error| error.prefixed(&format!("kernel {number} at byte {place}"));
        shipped.push(check().map_err(named)?);
    }
    for described in descriptions {
        let needs = Needs::of(described.meta()?);
        let decodes = |kernel: &Option<&Kernel>| kernel.is_some_and(|it| needs.met_by(it));
        let lie = match described.description.kernel().map(usize::from) {
            Some(number) => match shipped.get(number) {
                Some(Some(kernel)) if !needs.met_by(kernel) => {
                    "names a kernel that does not decode such pages"
                }
                _ => continue,
            },
            None if shipped.iter().any(decodes) => {
                "names no kernel, and the file has one that decodes such pages"
            }
            None => continue,
        };
        return Err(described.at(corrupt(lie)));
    }
    Ok(())
}

#[cfg(feature = "kernels")]
fn check_kernel(file: &OpenFile, section: &[u8]) -> Result<()> {
    crate::decode::check_kernel(section, &file.session.trusted_kernels)
}

/// A build that runs no kernels has nothing to check them with.
#[cfg(not(feature = "kernels"))]
fn check_kernel(_: &OpenFile, _: &[u8]) -> Result<()> {
    Ok(())
}

/// Checks that columns that are said to be strict are at level 2. Whether they are strict is what an audit looks at.
fn strict(file: &OpenFile, columns: &[Arc<Column>]) -> Result<()> {
    let said = file.schema_metadata()?.iter();
    for (key, _) in said.filter(|(_, value)| *value == STRICT_VALUE) {
        let Some(name) = key.strip_prefix(STRICT_KEY_PREFIX) else {
            continue;
        };
        let mut named = columns.iter().filter(|column| column.name() == name);
        if !named.any(|column| column.level == ErasureLevel::Erase) {
            let what = "which is no column at erasure level 2";
            return Err(corrupt(format!("the schema's metadata: `{key}`, {what}")));
        }
    }
    Ok(())
}

/// Checks that what is said to be rounded are columns of floating-point numbers.
fn rounding(file: &OpenFile, columns: &[Arc<Column>]) -> Result<()> {
    for key in file.schema_metadata()?.keys() {
        let Some(name) = key.strip_prefix(ROUNDED_KEY_PREFIX) else {
            continue;
        };
        let mut named = columns.iter().filter(|column| column.name() == name);
        if !named.any(|column| column.path.data_type().is_floating()) {
            let what = "which is no column of floating-point numbers";
            return Err(corrupt(format!("the schema's metadata: `{key}`, {what}")));
        }
    }
    Ok(())
}
