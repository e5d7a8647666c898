//! Results so far, in a file, so that the parts of a run can be measured one by one.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::branches::Branches;
use crate::columns::NewColumn;
use crate::commits::{Race, Row};
use crate::plans::{Plan, Remote};
use crate::updates::Update;

/// Parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Part {
    /// Plans of one partition of tables of up to a million files.
    Planning,
    /// Appends, in a row and at once, and requests to a slow store.
    Commits,
    /// A new column of a table of 20,000.
    NewColumn,
    /// Updates of one column, ten times.
    Updates,
    /// Branches, merges, rebases, differences and logs.
    Branches,
}

impl Part {
    pub(crate) const ALL: [Self; 5] = [
        Self::Planning,
        Self::Commits,
        Self::NewColumn,
        Self::Updates,
        Self::Branches,
    ];
}

/// Formats that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    /// This one.
    Tarsia,
    /// The package `deltalake`.
    Delta,
    /// The package `pyiceberg`, with a catalogue in SQLite.
    Iceberg,
    /// The package `pylance`.
    Lance,
}

impl Format {
    pub(crate) const ALL: [Self; 4] = [Self::Tarsia, Self::Delta, Self::Iceberg, Self::Lance];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tarsia => "tarsia",
            Self::Delta => "delta",
            Self::Iceberg => "iceberg",
            Self::Lance => "lance",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Value {
    Plan(Plan),
    Remote(Vec<Remote>),
    Commits(Vec<Row>),
    Race(Race),
    Branches(Branches),
    Update(Update),
    NewColumn(NewColumn),
    /// A peer did not do it, and why.
    Failed(String),
}

/// One measurement, and of what.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) part: Part,
    pub(crate) format: Format,
    pub(crate) case: String,
    pub(crate) value: Value,
}

/// Everything that was found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The machine and the versions.
    pub(crate) machine: String,
    /// A digest of the program.
    pub(crate) build: String,
    pub(crate) cells: Vec<Cell>,
}

impl Report {
    /// Reads what an earlier run of this program left in a file; nothing if there is none.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let build = crate::machine::build()?;
        if !path.exists() {
            return Ok(Self {
                machine: crate::machine::line(),
                build,
                cells: Vec::new(),
            });
        }
        let text = std::fs::read(path).with_context(|| path.display().to_string())?;
        let report: Self =
            serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
        ensure!(
            report.build == build,
            "{} has results of another build of this program: remove it, or name another file with --parts",
            path.display()
        );
        Ok(report)
    }

    /// Writes everything to a file, at once.
    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        let new = path.with_extension("new");
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(&new, text).with_context(|| new.display().to_string())?;
        std::fs::rename(&new, path).with_context(|| path.display().to_string())
    }

    /// Keeps a measurement in the place of an earlier one of the same.
    pub(crate) fn put(&mut self, part: Part, format: Format, case: &str, value: Value) {
        self.cells
            .retain(|it| (it.part, it.format, it.case.as_str()) != (part, format, case));
        self.cells.push(Cell {
            part,
            format,
            case: case.to_owned(),
            value,
        });
        // Stable: cases of a part and a format are in the order in which they were measured.
        self.cells.sort_by_key(|it| (it.part, it.format));
    }

    pub(crate) fn has(&self, part: Part, format: Format, case: &str) -> bool {
        let mut cells = self.cells.iter();
        cells.any(|it| (it.part, it.format, it.case.as_str()) == (part, format, case))
    }

    /// Measurements of one kind, by the order of the formats.
    pub(crate) fn all<'a, T: 'a>(
        &'a self,
        of: impl Fn(&'a Value) -> Option<&'a T> + 'a,
    ) -> impl Iterator<Item = &'a T> + 'a {
        self.cells.iter().filter_map(move |it| of(&it.value))
    }

    /// Plans, small tables first.
    pub(crate) fn plans(&self) -> Vec<&Plan> {
        let mut plans: Vec<&Plan> = self
            .all(|it| match it {
                Value::Plan(plan) => Some(plan),
                _ => None,
            })
            .collect();
        plans.sort_by_key(|it| it.files);
        plans
    }

    pub(crate) fn remote(&self) -> Vec<&Remote> {
        let lists = self.all(|it| match it {
            Value::Remote(list) => Some(list),
            _ => None,
        });
        lists.flatten().collect()
    }

    pub(crate) fn commits(&self) -> Vec<&Row> {
        let lists = self.all(|it| match it {
            Value::Commits(rows) => Some(rows),
            _ => None,
        });
        lists.flatten().collect()
    }

    pub(crate) fn races(&self) -> Vec<&Race> {
        let races = self.all(|it| match it {
            Value::Race(race) => Some(race),
            _ => None,
        });
        races.collect()
    }

    pub(crate) fn branches(&self) -> Vec<&Branches> {
        let branches = self.all(|it| match it {
            Value::Branches(branches) => Some(branches),
            _ => None,
        });
        branches.collect()
    }

    /// Updates, by table and rows.
    pub(crate) fn updates(&self) -> Vec<&Update> {
        let updates = self.all(|it| match it {
            Value::Update(update) => Some(update),
            _ => None,
        });
        let mut updates: Vec<&Update> = updates.collect();
        updates.sort_by(|a, b| (&b.table, &a.which).cmp(&(&a.table, &b.which)));
        updates
    }

    /// New columns, narrow tables first.
    pub(crate) fn new_columns(&self) -> Vec<&NewColumn> {
        let columns = self.all(|it| match it {
            Value::NewColumn(column) => Some(column),
            _ => None,
        });
        let mut columns: Vec<&NewColumn> = columns.collect();
        columns.sort_by_key(|it| it.columns);
        columns
    }

    /// Lists what peers did not do.
    pub(crate) fn failures(&self) -> Vec<String> {
        let failures = self.cells.iter().filter_map(|it| match &it.value {
            Value::Failed(why) => Some(format!("{}, {}: {why}", it.format, it.case)),
            _ => None,
        });
        failures.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(text: &str) -> Value {
        Value::Failed(text.to_owned())
    }

    #[test]
    fn a_measurement_takes_the_place_of_an_earlier_one_of_the_same() {
        let mut report = Report::default();
        report.put(Part::Updates, Format::Lance, "a", failed("1"));
        report.put(Part::Planning, Format::Lance, "a", failed("2"));
        report.put(Part::Updates, Format::Delta, "a", failed("3"));
        report.put(Part::Updates, Format::Lance, "a", failed("4"));
        assert_eq!(
            report.failures(),
            ["lance, a: 2", "delta, a: 3", "lance, a: 4"]
        );
        assert!(report.has(Part::Updates, Format::Lance, "a"));
        assert!(!report.has(Part::Updates, Format::Lance, "b"));
    }

    #[test]
    fn a_file_of_another_build_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("parts.json");
        let mut report = Report::open(&path).unwrap();
        report.put(Part::Updates, Format::Lance, "a", failed("1"));
        report.save(&path).unwrap();
        assert_eq!(Report::open(&path).unwrap().failures(), ["lance, a: 1"]);
        report.build.push('x');
        report.save(&path).unwrap();
        let error = Report::open(&path).unwrap_err().to_string();
        assert!(error.contains("another build"), "{error}");
    }
}
