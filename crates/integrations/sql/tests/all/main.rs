//! Runs the command as scripts do.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use tarsia_table::{CommitInfo, Table, TableSpec};
use tempfile::TempDir;

/// A folder in which the command runs.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tarsia-sql"));
        command.args(args).current_dir(self.0.path());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).stdin(Stdio::null()).output().unwrap()
    }

    /// The standard output of statements that must succeed.
    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.as_str()), (Some(0), ""));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The line of statements that must fail with this code.
    #[track_caller]
    fn fails(&self, args: &[&str], code: i32) -> String {
        let output = self.run(args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(
            error.starts_with("error: ") && error.lines().count() == 1,
            "{error}"
        );
        error
    }

    /// A file of users.
    fn with_users() -> Self {
        let folder = Self::new();
        folder.ok(&[
            "copy (select value as id, value * 1000003 + value * value % 104729 as key, \
            'user ' || value as name, case when value % 3 = 0 then null else value % 7 end as n \
            from generate_series(1, 30000)) to 'users.tarsia'",
        ]);
        folder
    }
}

#[test]
fn answers_are_tables_json_lines_and_csv() {
    let folder = Folder::with_users();
    let select = "select id, name, n from 'users.tarsia' where id < 4 order by id";
    let table = folder.ok(&[select]);
    assert!(table.contains("| 2  | user 2 | 2 |"), "{table}");
    assert!(table.contains("| 3  | user 3 |   |"), "{table}");
    let csv = folder.ok(&[select, "--format", "csv"]);
    assert_eq!(csv, "id,name,n\n1,user 1,1\n2,user 2,2\n3,user 3,\n");
    let json = folder.ok(&[select, "--format", "json"]);
    let rows: Vec<serde_json::Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        rows[2],
        serde_json::json!({"id": 3, "name": "user 3", "n": null})
    );
    let none = "select id, n from 'users.tarsia' where id < 0";
    assert_eq!(folder.ok(&[none, "--format", "csv"]), "id,n\n");
    assert_eq!(folder.ok(&[none, "--format", "json"]), "");
}

#[test]
fn formats_are_mixed() {
    let folder = Folder::with_users();
    std::fs::write(
        folder.0.path().join("pages.csv"),
        "uid,page\n1,a\n1,b\n2,c\n",
    )
    .unwrap();
    std::fs::write(
        folder.0.path().join("notes.json"),
        "{\"uid\": 2, \"note\": \"x\"}\n",
    )
    .unwrap();
    folder.ok(&["copy (select id, n from 'users.tarsia' where id < 3) to 'few.parquet'"]);
    let csv = folder.ok(&[
        "select u.name, f.n, count(*) as pages, max(o.note) as note from 'users.tarsia' u \
         join 'few.parquet' f on u.id = f.id join 'pages.csv' p on p.uid = u.id \
         left join 'notes.json' o on o.uid = u.id group by u.name, f.n order by u.name",
        "--format",
        "csv",
    ]);
    assert_eq!(csv, "name,n,pages,note\nuser 1,1,2,\nuser 2,2,1,x\n");
}

#[test]
fn explain_analyze_shows_what_zones_did() {
    let folder = Folder::with_users();
    let plan = folder.ok(&[
        "explain analyze select n from 'users.tarsia' where key > 29900000000",
        "--partitions",
        "1",
    ]);
    for metric in [
        "rows_pruned=",
        "rows_proved=",
        "rows_evaluated=",
        "predicate=key@1 > 29900000000",
    ] {
        assert!(plan.contains(metric), "{metric}: {plan}");
    }
    assert!(!plan.contains("rows_pruned=0,"), "{plan}");
}

#[test]
fn functions_show_what_a_file_says_of_itself() {
    let folder = Folder::with_users();
    let rows = "select value from tarsia_metadata('users.tarsia') where name = 'rows'";
    assert_eq!(folder.ok(&[rows, "--format", "csv"]), "value\n30000\n");
    let columns =
        "select name, type, nulls, encoded_bytes > 0 as held from tarsia_columns('users.tarsia')";
    let csv = folder.ok(&[columns, "--format", "csv"]);
    assert!(csv.contains("id,Int64,0,true\n"), "{csv}");
    assert!(csv.contains("n,Int64,10000,true\n"), "{csv}");
    let error = folder.fails(&["select * from tarsia_columns('nothing.tarsia')"], 1);
    assert!(error.contains("nothing.tarsia"), "{error}");
    folder.fails(&["select * from tarsia_columns(7)"], 2);
}

#[test]
fn mistakes_and_bad_files_have_their_codes() {
    let folder = Folder::with_users();
    let error = folder.fails(&["select * from 'nothing.tarsia'"], 1);
    assert!(error.contains("nothing.tarsia: no such file"), "{error}");
    std::fs::write(folder.0.path().join("bad.tarsia"), "no such thing").unwrap();
    let error = folder.fails(&["select * from 'bad.tarsia'"], 1);
    assert!(error.contains("bad.tarsia: "), "{error}");
    assert!(!error.contains("no such file"), "{error}");
    folder.fails(&["selec 1"], 2);
    folder.fails(&["select nothing from 'users.tarsia'"], 2);
    folder.fails(&["select 1", "--format", "xml"], 2);
    folder.fails(&["select 1", "--partitions", "0"], 2);
    folder.fails(&["select 1 / (id - 5) from 'users.tarsia'"], 1);
}

#[test]
fn statements_come_from_the_standard_input() {
    let folder = Folder::with_users();
    std::fs::write(
        folder.0.path().join("q.sql"),
        "create view v as select id from 'users.tarsia' where id < 3;\n\
         select count(*) as k from v; -- two\nselect max(id) as m from v",
    )
    .unwrap();
    let input = std::fs::File::open(folder.0.path().join("q.sql")).unwrap();
    let output = folder
        .command(&["--format", "csv"])
        .stdin(input)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "k\n2\nm\n2\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn files_that_are_added_to_a_folder_are_seen() {
    let folder = Folder::new();
    let csv = folder.ok(&[
        "copy (select 1 as a) to 'f/1.tarsia'; create external table f stored as tarsia location 'f/'; \
         select sum(a) from f; copy (select 2 as a) to 'f/2.tarsia'; select sum(a) from f; \
         copy (select 5 as a) to 'f/1.tarsia'; select sum(a) from f",
        "--format",
        "csv",
    ]);
    let sums = csv
        .lines()
        .filter(|line| !line.contains("sum") && *line != "count");
    assert_eq!(
        sums.collect::<Vec<_>>(),
        ["1", "1", "1", "3", "1", "7"],
        "{csv}"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::with_users();
    let mut child = folder
        .command(&["select * from 'users.tarsia'", "--format", "json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/sql")
}

/// The answer of an example in an empty folder.
fn example(name: &str) -> String {
    example_in(&Folder::new(), name)
}

fn example_in(folder: &Folder, name: &str) -> String {
    let statements = std::fs::File::open(examples().join(name)).unwrap();
    let mut command = folder.command(&["--format", "csv"]);
    let output = command.stdin(statements).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), error.as_str()),
        (Some(0), ""),
        "{name}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A folder with the table `ads`, which has no rows, and its branch `exp`.
fn with_table() -> Folder {
    let folder = Folder::new();
    let store = tarsia::io::LocalStore::create(folder.0.path().join("ads")).unwrap();
    let schema = Schema::new(vec![
        Field::new("country", DataType::Utf8View, true),
        Field::new("clicks", DataType::Int64, true),
    ]);
    let info = CommitInfo::new("ada", "made");
    let spec = TableSpec::new(std::sync::Arc::new(schema)).partition_by(["country"]);
    let table = Table::create(std::sync::Arc::new(store), &spec, &info).unwrap();
    table.create_branch("exp", "main", &info).unwrap();
    folder
}

#[test]
fn the_example_of_a_table_runs() {
    let csv = example_in(&with_table(), "table.sql");
    let (_, answers) = csv.split_once("country,clicks\n").unwrap();
    assert_eq!(
        answers,
        "NL,150\nbefore\n0\ncountry,clicks,in_exp\nNL,3,30\nNL,12,120\n"
    );
}

#[test]
fn states_that_there_are_not_are_mistakes() {
    let folder = with_table();
    let error = folder.fails(&["select * from 'ads#nobody'"], 2);
    assert!(
        error.contains("ads: there is no branch `nobody`"),
        "{error}"
    );
    let error = folder.fails(&["select * from tarsia_table('.')"], 1);
    assert!(error.contains("there is no table"), "{error}");
    let error = folder.fails(&["insert into 'ads' (country, views) values ('NL', 1)"], 2);
    assert!(error.contains("views"), "{error}");
    let plan = folder.ok(&["explain select clicks from 'ads#exp' where country = 'NL'"]);
    assert!(plan.contains("table=ads, commit="), "{plan}");
    let fields = folder.ok(&["describe 'ads'", "--format", "csv"]);
    assert!(fields.contains("clicks,Int64,YES"), "{fields}");
}

#[test]
fn the_examples_run() {
    let folder = example("folder.sql");
    assert!(
        folder.ends_with("user_id,country,score\n1,NL,\n2,BE,\n3000000000,DE,0.5\n"),
        "{folder}"
    );
    let parquet = example("parquet.sql");
    assert!(
        parquet.ends_with("name,clicks\nAda,2\nGrace,1\n"),
        "{parquet}"
    );
    let sorted = example("sorted.sql");
    assert!(
        sorted.lines().last().unwrap().parse::<u32>().unwrap() > 0,
        "{sorted}"
    );
}
