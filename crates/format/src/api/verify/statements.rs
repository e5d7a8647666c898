//! Checks of what the metadata say of each other: buckets of records, the footer of page descriptions and kernels, the
//! schema of columns. Digests cannot tell, since a liar computes them too.

use std::sync::Arc;

use tarsia_kernels::Kernel;
use tarsia_metadata::{EncodingUse, ErasureLevel};
use tarsia_structure::Meta;

use super::report::corrupt;
use crate::error::{Error, Result};
use crate::exec::OpenFile;
use crate::table::Column;
use crate::write::{Needs, ROUNDED_KEY_PREFIX, STRICT_KEY_PREFIX, STRICT_VALUE};

/// Checks all of it.
pub(super) fn check(file: &OpenFile, columns: &[Arc<Column>]) -> Result<()> {
    let catalog = &file.catalog;
    catalog.check_buckets(&file.source)?;
    let (stated, found) = (catalog.n_leaves(), columns.len());
    if stated as usize != found {
        return Err(corrupt(format!(
            "footer: {stated} columns, the schema has {found}"
        )));
    }
    let descriptions = descriptions(file)?;
    let trees = descriptions.iter().flat_map(|meta| meta.all_trees());
    if EncodingUse::of_trees(trees) != catalog.encodings() {
        let what = "footer: the list of encodings is not that of the page descriptions";
        return Err(corrupt(what));
    }
    kernels(file, &descriptions)?;
    strict(file, columns)?;
    rounding(file, columns)
}

/// The page descriptions of the file, whether or not a page has them.
fn descriptions(file: &OpenFile) -> Result<Vec<Arc<Meta>>> {
    let metas = file.catalog.metas();
    let indexes = (0..=u16::MAX).take(metas.len());
    let parsed = indexes.map(|index| match metas.get(index) {
        Ok(meta) => Ok(meta.clone()),
        Err(error) => Err(error.prefixed(&format!("page description {index}"))),
    });
    parsed.collect()
}

/// Checks that the kernels are kernels, and decode the pages whose descriptions name them, as far as this build knows
/// them.
fn kernels(file: &OpenFile, descriptions: &[Arc<Meta>]) -> Result<()> {
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
    for (index, meta) in (0..).zip(descriptions) {
        let needs = Needs::of(meta);
        let decodes = |kernel: &Option<&Kernel>| kernel.is_some_and(|it| needs.met_by(it));
        let lie = match file.catalog.metas().kernel(index).map(usize::from) {
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
        return Err(corrupt(format!("page description {index} {lie}")));
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
    let said = file.catalog.schema_metadata().iter();
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
    for key in file.catalog.schema_metadata().keys() {
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
