//! Rows that pass a condition, from the commands that read rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use serde_json::json;

use crate::run::Folder;

/// 3,000 rows of a number, a text of three values, and a floating-point number that is null or NaN at times.
fn table(folder: &Folder) {
    let texts = (0..3_000).map(|i| ["NL", "BE", "DE"][i % 3]);
    let floats = (0..3_000).map(|i| match i % 10 {
        0 => None,
        1 => Some(f64::NAN),
        _ => Some(f64::from(i) / 4.0),
    });
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("n", Arc::new(Int64Array::from_iter_values(0..3_000)), false),
        (
            "land",
            Arc::new(StringArray::from_iter_values(texts)),
            false,
        ),
        ("x", Arc::new(floats.collect::<Float64Array>()), true),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    folder.import(&batch.schema(), &[batch]);
}

#[test]
fn scans_heads_and_exports_have_the_rows_that_pass() {
    let folder = Folder::default();
    table(&folder);
    let condition = "land IN ('NL', 'DE') AND n < 300.5 AND NOT x IS NULL";
    let expected: Vec<i64> = (0..301).filter(|n| n % 3 != 1 && n % 10 != 0).collect();
    let scanned = folder.run(&[
        "scan",
        "t.tarsia",
        "--where",
        condition,
        "--columns",
        "n",
        "--json",
    ]);
    let lines: String = expected
        .iter()
        .map(|n| format!("{{\"n\":{n}}}\n"))
        .collect();
    assert_eq!(scanned.ok(), lines);
    let count = ["scan", "t.tarsia", "--where", condition, "--count"];
    assert_eq!(folder.run(&count).ok(), format!("{}\n", expected.len()));
    // The range of rows counts, too.
    let some = [&count[..], &["--rows", "10..20"]].concat();
    assert_eq!(folder.run(&some).ok(), "6\n");
    let head = [
        "head",
        "t.tarsia",
        "-n",
        "3",
        "--columns",
        "n",
        "--json",
        "--where",
        "n > 7 AND land = 'BE'",
    ];
    assert_eq!(
        folder.run(&head).json(),
        json!([{"n": 10}, {"n": 13}, {"n": 16}])
    );
    folder.write("condition.txt", condition);
    let export = [
        "export",
        "t.tarsia",
        "out.csv",
        "--columns",
        "n",
        "--where",
        "@condition.txt",
    ];
    folder.run(&export).code_is(0);
    let lines: String = expected.iter().map(|n| format!("{n}\n")).collect();
    assert_eq!(folder.read("out.csv"), format!("n\n{lines}"));
    let none = folder.run(&["scan", "t.tarsia", "--where", "n < 0", "--json"]);
    assert_eq!(none.ok(), "");
}

#[test]
fn each_part_of_a_condition_says_what_it_looked_at() {
    let folder = Folder::default();
    table(&folder);
    let done = folder.run(&[
        "scan",
        "t.tarsia",
        "--count",
        "--explain-filter",
        "--where",
        "land = 'NL' AND n >= 2000",
    ]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "333\n"));
    let looked_at = |part: &str| {
        let line = done
            .stderr
            .lines()
            .find(|line| line.contains(part))
            .unwrap();
        let mut numbers = line
            .split(|c: char| !c.is_ascii_digit())
            .filter(|it| !it.is_empty())
            .rev();
        let (passed, rows) = (numbers.next().unwrap(), numbers.next().unwrap());
        (rows.parse::<u64>().unwrap(), passed.parse::<u64>().unwrap())
    };
    let both = [looked_at("land = 'NL'"), looked_at("n >= 2000")];
    // The first looks at all rows, the second one at those that are left.
    assert!(
        both.contains(&(3_000, 1_000)) && both.iter().any(|(_, passed)| *passed == 333),
        "{both:?}"
    );
}

#[test]
fn conditions_that_do_not_suit_the_table_are_usage_errors() {
    let folder = Folder::default();
    table(&folder);
    let refused = |condition: &str| {
        folder
            .run(&["scan", "t.tarsia", "--where", condition])
            .fails(2)
    };
    for (condition, what) in [
        ("n = 1 AND m = 2", "character 11: no column `m`"),
        ("land = 3", "character 8"),
        ("n = NULL", "character 5"),
        ("n = 1 AND", "character"),
        ("lower(land) = 'nl'", "character 1"),
        ("n = land", "character 5"),
        ("", "character 1"),
    ] {
        let line = refused(condition);
        assert!(line.contains(what), "{condition}: {line}");
    }
    let missing = folder
        .run(&["head", "t.tarsia", "--where", "@none.txt"])
        .fails(1);
    assert!(missing.contains("none.txt"), "{missing}");
    let line = folder
        .run(&["scan", "t.tarsia", "--explain-filter"])
        .fails(2);
    assert!(line.contains("--where"), "{line}");
}

/// Bloom filters from the import of a table to its erasure: fewer rows are looked at, and no other rows are found.
#[test]
fn bloom_filters_show_in_all_that_is_said_of_a_file() {
    let folder = Folder::default();
    let key = |i: u64| format!("{:016x}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let lines: String = (0..70_000).map(|i| format!("{},{i}\n", key(i))).collect();
    folder.write("t.csv", format!("key,n\n{lines}"));
    folder
        .run(&[
            "import",
            "t.csv",
            "t.tarsia",
            "--bloom",
            "key",
            "--erasure",
            "2",
        ])
        .ok();
    let inspected = folder.run(&["inspect", "t.tarsia", "--json"]).json();
    let bytes = |number: usize| inspected["columns"][number]["bloom_bytes"].as_u64();
    assert!(bytes(0) >= Some(70_000 * 10 / 8) && bytes(1) == Some(0));
    let text = folder.run(&["inspect", "t.tarsia"]).ok();
    assert!(text.contains("key has bloom filters: "), "{text}");
    let condition = format!("key = '{}'", key(69_999));
    let count = ["scan", "t.tarsia", "--count", "--where", &condition];
    let explained = folder.run(&[&count[..], &["--explain-filter"]].concat());
    assert_eq!((explained.code, explained.stdout.as_str()), (0, "1\n"));
    let rejected = |stderr: &str| {
        let line = stderr.lines().find(|line| line.contains("key = ")).unwrap();
        let numbers = line.rsplit_once('\'').unwrap().1;
        let numbers = numbers.split(|c: char| !c.is_ascii_digit());
        let numbers: Vec<u64> = numbers.filter_map(|it| it.parse().ok()).collect();
        numbers[1]
    };
    assert!(explained.stderr.contains("rejected by bloom filters"));
    assert!(rejected(&explained.stderr) > 30_000, "{}", explained.stderr);
    folder
        .run(&["erase", "t.tarsia", "--where", &condition, "--json"])
        .ok();
    assert_eq!(folder.run(&count).ok(), "0\n");
    folder.run(&["verify", "t.tarsia"]).ok();
    let audit = folder.run(&["audit", "t.tarsia", "--json"]).json();
    assert_eq!(audit["clean"], true);
    // A file without the deleted rows, and a copy in another order, have them, too.
    folder.run(&["compact", "t.tarsia", "c.tarsia"]).ok();
    folder.run(&["verify", "c.tarsia"]).ok();
    let inspected = folder.run(&["inspect", "c.tarsia", "--json"]).json();
    assert!(inspected["columns"][0]["bloom_bytes"].as_u64() > Some(0));
    folder
        .run(&["reorder", "t.tarsia", "u.tarsia", "--columns", "n"])
        .ok();
    folder.run(&["verify", "u.tarsia"]).ok();
    let inspected = folder.run(&["inspect", "u.tarsia", "--json"]).json();
    assert_eq!(inspected["columns"][0]["bloom_bytes"].as_u64(), bytes(0));
    for (columns, what) in [
        ("missing", "column `missing`"),
        ("x", "column `x`: no bloom filters for type Float64"),
    ] {
        folder.write("x.csv", "x\n1.5\n");
        let done = folder.run(&["import", "x.csv", "x.tarsia", "--bloom", columns]);
        assert!(done.code > 0 && done.stderr.contains(what), "{done:?}");
    }
}
