//! The rows of a file that pass a condition.

use std::ops::Range;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use tarsia::ErasureLevel;
use tarsia_filter::Expr;

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
    let scan = file.scan().columns::<&str>(&[]);
    let scan = scan.strict_filter(condition.clone()).with_row_numbers();
    let scan = match level {
        ErasureLevel::Erase => scan.with_hidden_rows(),
        _ => scan,
    };
    let bar = Bar::new("searching");
    let total = file.num_rows();
    let mut found: Vec<Range<u64>> = Vec::new();
    for batch in scan.build().map_err(failed)? {
        let batch = batch.map_err(|error| failed(error.into()))?;
        let numbers = batch.columns().last();
        let numbers = numbers.and_then(|numbers| numbers.as_primitive_opt::<UInt64Type>());
        for row in numbers.into_iter().flat_map(|numbers| numbers.values()) {
            push_rising(&mut found, *row..*row + 1);
        }
        let at = found.last().map_or(0, |last| last.end);
        bar.set(at, total, at);
    }
    Ok(found)
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
                "t.tarsia: <memory>: condition: character 11: no column `m`",
            ),
            (
                "s.c = 1",
                "t.tarsia: <memory>: condition: character 1: no column `s.c`",
            ),
            (
                "\"n.b\" = 1",
                "t.tarsia: <memory>: condition: character 1: no column `n.b`",
            ),
            (
                "N = 1",
                "t.tarsia: <memory>: condition: character 1: no column `N`",
            ),
            (
                "n = 256",
                "t.tarsia: <memory>: condition: character 5: column `n` has the type UInt8, which does not hold 256",
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
