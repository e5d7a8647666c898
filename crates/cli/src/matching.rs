//! The rows of a file that pass a condition.

use std::ops::Range;
use std::path::Path;

use arrow_schema::Schema;
use tarsia::{ErasureLevel, ErrorKind, RowSet};
use tarsia_filter::{Expr, FilterError};

use crate::failure::Failure;
use crate::progress::Bar;
use crate::ranges::push_rising;

/// The rows of a file that pass a condition, as rising ranges. Only the columns that it names are read. The condition
/// is bound strictly, since it chooses what is erased. Rows that were deleted do not pass, unless rows are to be
/// erased, and values of hidden ones with them: then only rows that were erased do not.
///
/// # Errors
/// [`Failure::Usage`] with the character of the condition where it does not suit the file: a column that the file does
/// not have or that is nested, a literal that is no value of its column's type. Else what a scan meets.
pub fn matching_rows(
    path: &Path,
    file: &tarsia::File,
    condition: &Expr,
    level: ErasureLevel,
) -> Result<Vec<Range<u64>>, Failure> {
    let failed = |error: tarsia::Error| Failure::of_tarsia(path, &error);
    let names = existing(file, condition).map_err(failed)?;
    let scan = file.scan().columns(&names);
    let (scan, unseen) = match level {
        ErasureLevel::Erase => (scan.with_hidden_rows(), file.erased_rows()),
        _ => (scan, file.deleted_rows()),
    };
    let scan = match names.is_empty() {
        true => None,
        false => Some(scan.build().map_err(failed)?),
    };
    let schema = scan.as_ref().map(|scan| scan.schema());
    let schema = schema.unwrap_or_else(|| Schema::empty().into());
    let filter = condition
        .bind_strict(&schema)
        .map_err(|error: FilterError| {
            Failure::Usage(format!("{}: condition: {error}", path.display()))
        })?;
    let bar = Bar::new("searching");
    let total = file.num_rows();
    let mut found = Vec::new();
    let mut first = 0;
    for batch in scan.into_iter().flatten() {
        let batch = batch.map_err(|error| failed(error.into()))?;
        let rows = filter
            .matches(&batch)
            .map_err(|error| Failure::bad(path, error))?;
        for (start, end) in rows.set_slices() {
            push_rising(&mut found, first + start as u64..first + end as u64);
        }
        first += batch.num_rows() as u64;
        bar.set(first, total, first);
    }
    Ok(positions(found, unseen, file.num_rows()))
}

/// The columns of a condition that the file has, by name. Of the others, binding says where they are named.
fn existing<'a>(file: &tarsia::File, condition: &'a Expr) -> Result<Vec<&'a str>, tarsia::Error> {
    let mut names = Vec::new();
    for name in condition.columns() {
        match file.scan().columns(&[name]).build() {
            Ok(_) => names.push(name),
            Err(error) if error.kind() == ErrorKind::NoSuchColumn => {}
            Err(error) => return Err(error),
        }
    }
    Ok(names)
}

/// Ranges of the rows that a scan gives, as ranges of the file's rows: those that it leaves out are between them.
fn positions(found: Vec<Range<u64>>, unseen: &RowSet, n_rows: u64) -> Vec<Range<u64>> {
    if unseen.is_empty() {
        return found;
    }
    let mut all = Vec::new();
    let mut found = found.into_iter().peekable();
    // Rows of the scan before `at`, a row of the file.
    let (mut at, mut before) = (0, 0);
    let end = n_rows..n_rows;
    for gap in unseen.ranges(0..n_rows).chain(std::iter::once(end)) {
        let live = before..before + (gap.start - at);
        while let Some(range) = found.peek_mut() {
            let start = range.start.max(live.start);
            let end = range.end.min(live.end);
            if start < end {
                push_rising(&mut all, at + (start - before)..at + (end - before));
            }
            if range.end > live.end {
                break;
            }
            found.next();
        }
        before = live.end;
        at = gap.end;
    }
    all
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "one range is meant")]
mod tests {
    use std::sync::Arc;

    use arrow_array::*;
    use arrow_schema::{DataType, Field};

    use super::*;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        let columns = columns.into_iter().map(|(name, array)| (name, array, true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    /// A file in memory with batches of this column.
    fn file(arrays: &[ArrayRef]) -> tarsia::File {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.tarsia");
        let structs = StructArray::from(vec![(
            Arc::new(Field::new("b", DataType::Int8, true)),
            Arc::new(Int8Array::from(vec![1])) as ArrayRef,
        )]);
        let batches: Vec<_> = arrays
            .iter()
            .map(|array| {
                let n_rows = array.len();
                let indices = UInt32Array::from(vec![0; n_rows]);
                let structs = arrow_select::take::take(&structs, &indices, None).unwrap();
                let words: StringArray = (0..n_rows).map(|i| Some(["a", "b"][i % 2])).collect();
                batch(vec![
                    ("n", array.clone()),
                    ("s", structs),
                    ("t.u", Arc::new(words)),
                ])
            })
            .collect();
        let sink = tarsia::io::FileSink::create(&path).unwrap();
        let options = tarsia::WriteOptions::new().with_embed_kernels(tarsia::EmbedKernels::Omit);
        let mut writer = tarsia::Writer::new(sink, batches[0].schema(), options).unwrap();
        for batch in &batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        tarsia::File::from_bytes(std::fs::read(&path).unwrap(), tarsia::OpenOptions::new()).unwrap()
    }

    fn found(file: &tarsia::File, condition: &str) -> Result<Vec<Range<u64>>, Failure> {
        let condition = condition.parse().unwrap();
        matching_rows(Path::new("t.tarsia"), file, &condition, ErasureLevel::Hide)
    }

    #[test]
    fn rows_of_a_file_are_rising_ranges() {
        let n_rows = 300_000_i64;
        let numbers = Int64Array::from_iter_values((0..n_rows).map(|i| i / 100_000));
        let file = file(&[Arc::new(numbers)]);
        assert_eq!(found(&file, "n = 1"), Ok(vec![100_000..200_000]));
        assert_eq!(
            found(&file, "n IN (0, 2)"),
            Ok(vec![0..100_000, 200_000..300_000])
        );
        assert_eq!(found(&file, "n IS NOT NULL"), Ok(vec![0..300_000]));
        assert_eq!(found(&file, "n = 7"), Ok(vec![]));
        assert_eq!(
            found(&file, "n <> 1 AND NOT s.b = 2"),
            Ok(vec![0..100_000, 200_000..300_000])
        );
        let odd = found(&file, "\"t.u\" = 'b' AND n = 1 AND \"t.u\" IS NOT NULL").unwrap();
        assert_eq!(odd.len(), 50_000);
        assert_eq!(
            (&odd[0], &odd[49_999]),
            (&(100_001..100_002), &(199_999..200_000))
        );
    }

    #[test]
    fn conditions_that_do_not_suit_a_file_are_usage_errors() {
        let file = file(&[Arc::new(UInt8Array::from(vec![1, 2, 3]))]);
        for (condition, what) in [
            (
                "n = 1 AND m = 1",
                "t.tarsia: condition: character 11: no column `m`",
            ),
            (
                "s.c = 1",
                "t.tarsia: condition: character 1: no column `s.c`",
            ),
            (
                "\"n.b\" = 1",
                "t.tarsia: condition: character 1: no column `n.b`",
            ),
            ("N = 1", "t.tarsia: condition: character 1: no column `N`"),
            (
                "n = 256",
                "t.tarsia: condition: character 5: column `n` has the type UInt8, which does not hold 256",
            ),
        ] {
            assert_eq!(found(&file, condition), Err(Failure::Usage(what.into())));
        }
        let nested = found(&file, "s IS NULL").unwrap_err();
        assert_eq!(nested.exit_code(), 2);
        assert!(
            nested.line().unwrap().contains("column `s` is nested"),
            "{nested:?}"
        );
    }
}
