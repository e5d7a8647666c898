//! A run, or parts of one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::found::{Format, Part, Report, Value};
use crate::peers::Peers;
use crate::report::publish;
use crate::scale::Scale;
use crate::tables::Data;
use crate::{branches, columns, commits, lineitem, made, plans, updates};

/// Files of a table on a disk.
const DISK_FILES: usize = 48_666;
/// Rows that get new values.
pub(crate) const WHICH: [&str; 2] = ["all", "some"];
/// Tables that are updated.
pub(crate) const UPDATED: [&str; 2] = ["paper", "lineitem"];

/// Options.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Measure this part alone; may be given several times. Results of other parts stay in the file of --parts.
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
    /// Measure this format alone; may be given several times.
    #[arg(long, value_name = "FORMAT")]
    format: Vec<Format>,
    /// Plan tables of so many files; may be given several times.
    #[arg(long)]
    files: Vec<usize>,
    /// Update this table alone: `paper` or `lineitem`.
    #[arg(long, value_parser = UPDATED)]
    table: Vec<String>,
    /// Update these rows alone: `all` or `some`.
    #[arg(long, value_parser = WHICH)]
    rows: Vec<String>,
    /// Add a column to tables of so many columns alone.
    #[arg(long)]
    columns: Vec<usize>,
    /// Tables that show that everything runs, and no more. Results have a file of their own.
    #[arg(long)]
    tiny: bool,
    /// Seconds after which a command of a peer is given up.
    #[arg(long, default_value_t = 400)]
    limit: u64,
    /// A folder in memory.
    #[arg(long, default_value = "/dev/shm")]
    scratch: PathBuf,
    /// A folder on a disk, for commits that survive a loss of power; else they are measured in memory alone.
    #[arg(long)]
    disk: Option<PathBuf>,
    /// A folder of tables of peers and of rows that an earlier run made, or where this run leaves them.
    #[arg(long)]
    kept: Option<PathBuf>,
    /// A file of results, to which this run adds its own; else one in the target folder.
    #[arg(long)]
    parts: Option<PathBuf>,
    /// Measure nothing; write the results and the section of docs/benchmarks.md from the file of --parts.
    #[arg(long, conflicts_with = "tiny")]
    section: bool,
    /// Leave the results and docs/benchmarks.md as they are.
    #[arg(long)]
    no_docs: bool,
}

/// Everything that a part needs.
struct Run<'a> {
    arguments: &'a Arguments,
    scale: Scale,
    scratch: PathBuf,
    /// None if no peer is measured.
    peers: Option<Peers>,
    report: Report,
    file: PathBuf,
    /// The largest table of Tarsia, if it was made and no part changed the shape of its manifests.
    largest: Option<PathBuf>,
}

/// Measures, prints, and rewrites the section of the docs if nothing is missing.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let scale = match arguments.tiny {
        true => Scale::tiny(),
        false => Scale::whole(),
    };
    let file = match &arguments.parts {
        Some(file) => file.clone(),
        None => default_file(arguments.tiny)?,
    };
    let report = Report::open(&file)?;
    let scratch = tempfile::tempdir_in(&arguments.scratch)?;
    let mut run = Run {
        arguments,
        scale,
        scratch: scratch.path().to_owned(),
        peers: None,
        report,
        file,
        largest: None,
    };
    if !arguments.section {
        // Rows of tables are made by the interpreter of the peers, too.
        let parts = run.parts();
        let has_rows = parts.contains(&Part::Updates) || parts.contains(&Part::NewColumn);
        if has_rows || run.formats().iter().any(|it| *it != Format::Tarsia) {
            run.peers = Some(Peers::install(arguments.limit)?);
        }
        run.all()?;
    }
    run.finish()
}

fn default_file(is_tiny: bool) -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let folder = program.parent().context("no target folder")?;
    Ok(folder.join(match is_tiny {
        true => "table-tiny.json",
        false => "table-parts.json",
    }))
}

fn files_case(n_files: usize) -> String {
    format!("{n_files} files")
}

fn columns_case(n_columns: usize) -> String {
    format!("{n_columns} columns")
}

fn updates_case(table: &str, which: &str) -> String {
    format!("{table}, {which} rows")
}

fn branches_case(n_new: usize) -> String {
    format!("{n_new} files a commit")
}

const COMPACTED: &str = "compacted";
const REMOTE: &str = "late answers";
const COMMITS: &str = "appends";
const RACE: &str = "appends at once";
const DISK_COMMITS: &str = "appends on a disk";
const DISK_RACE: &str = "appends at once on a disk";

/// Files of the commits of a branch.
const BRANCH_FILES: [usize; 2] = [1, made::PARTITIONS];

impl Run<'_> {
    fn parts(&self) -> Vec<Part> {
        match self.arguments.only.is_empty() {
            true => Part::ALL.to_vec(),
            false => self.arguments.only.clone(),
        }
    }

    fn formats(&self) -> Vec<Format> {
        match self.arguments.format.is_empty() {
            true => Format::ALL.to_vec(),
            false => self.arguments.format.clone(),
        }
    }

    fn peers(&self) -> Result<&Peers> {
        self.peers.as_ref().context("the peers were not installed")
    }

    /// Keeps a measurement at once, so that a run that is interrupted has done something.
    fn put(&mut self, part: Part, format: Format, case: &str, value: Value) -> Result<()> {
        if let Value::Failed(why) = &value {
            eprintln!("{format}, {case}: {why}");
        }
        self.report.put(part, format, case, value);
        self.report.save(&self.file)
    }

    /// Keeps a measurement of a peer, or why there is none. An error of this library ends the run.
    fn put_found(
        &mut self,
        part: Part,
        format: Format,
        case: &str,
        found: Result<Value>,
    ) -> Result<()> {
        let value = match (found, format) {
            (Err(error), Format::Tarsia) => return Err(error.context(case.to_owned())),
            (Err(error), _) => Value::Failed(format!("{error:#}")),
            (Ok(value), _) => value,
        };
        self.put(part, format, case, value)
    }

    fn all(&mut self) -> Result<()> {
        for part in self.parts() {
            for format in self.formats() {
                match (part, format) {
                    (Part::Planning, Format::Tarsia) => self.plans()?,
                    (Part::Planning, peer) => self.plans_of(peer)?,
                    (Part::Commits, Format::Tarsia) => self.commits()?,
                    (Part::Commits, peer) => self.commits_of(peer)?,
                    (Part::Branches, Format::Tarsia) => self.branches()?,
                    (Part::Branches, _) => {}
                    (Part::NewColumn, format) => self.new_columns(format)?,
                    (Part::Updates, format) => self.updates(format)?,
                }
            }
        }
        Ok(())
    }

    fn files(&self) -> Vec<usize> {
        match self.arguments.files.is_empty() {
            true => self.scale.files.clone(),
            false => self.arguments.files.clone(),
        }
    }

    fn n_largest(&self) -> usize {
        self.scale.files.iter().copied().max().unwrap_or(0)
    }

    /// The largest table of Tarsia, which is made if it is not there.
    fn largest(&mut self) -> Result<PathBuf> {
        if let Some(folder) = &self.largest {
            return Ok(folder.clone());
        }
        let folder = self.scratch.join("tarsia-largest");
        eprintln!("tarsia, making the largest table");
        made::make(&folder, self.n_largest())?;
        self.largest = Some(folder.clone());
        Ok(folder)
    }

    fn plans(&mut self) -> Result<()> {
        for n_files in self.files() {
            let case = files_case(n_files);
            eprintln!("tarsia, {case}");
            let folder = self.scratch.join(format!("tarsia-{n_files}"));
            let plan = plans::tarsia(&folder, n_files)?;
            self.put(Part::Planning, Format::Tarsia, &case, Value::Plan(plan))?;
            if n_files == self.n_largest() {
                eprintln!("tarsia, one run of manifests");
                let plan = plans::compacted(&folder, n_files)?;
                self.put(Part::Planning, Format::Tarsia, COMPACTED, Value::Plan(plan))?;
            }
            std::fs::remove_dir_all(&folder)?;
        }
        Ok(())
    }

    fn peer_table(&self, peer: Format, n_files: usize) -> PathBuf {
        let kept = self.arguments.kept.as_deref().unwrap_or(&self.scratch);
        kept.join(format!("{peer}-{n_files}"))
    }

    fn plans_of(&mut self, peer: Format) -> Result<()> {
        let (mut is_over, mut largest) = (false, 0);
        for n_files in self.files() {
            let case = files_case(n_files);
            if is_over {
                let why = "not tried, since a smaller one was not made".to_owned();
                self.put(Part::Planning, peer, &case, Value::Failed(why))?;
                continue;
            }
            eprintln!("{peer}, {case}");
            let folder = self.peer_table(peer, n_files);
            let made = match folder.exists() {
                true => Ok(None),
                false => self.peers()?.make(peer, &folder, n_files).map(Some),
            };
            let plan = made.and_then(|made| self.peers()?.plan(peer, &folder, n_files, made));
            is_over = plan.is_err();
            let plan = plan.map(Value::Plan).map_err(|error| {
                error.context(format!(
                    "the largest table that was made has {largest} files"
                ))
            });
            largest = n_files;
            self.put_found(Part::Planning, peer, &case, plan)?;
        }
        Ok(())
    }

    fn commits(&mut self) -> Result<()> {
        let part = Part::Commits;
        let folder = self.largest()?;
        eprintln!("tarsia, late answers");
        let remote = plans::remote(&folder)?;
        self.put(part, Format::Tarsia, REMOTE, Value::Remote(remote))?;
        eprintln!("tarsia, commits");
        let rows = vec![
            commits::in_a_row(&folder, commits::LARGE_COMMITS, made::PARTITIONS)?,
            commits::in_a_row(&folder, commits::COMMITS, 1)?,
        ];
        self.put(part, Format::Tarsia, COMMITS, Value::Commits(rows))?;
        let race = commits::race(&folder, "memory")?;
        self.put(part, Format::Tarsia, RACE, Value::Race(race))?;
        if let Some(disk) = &self.arguments.disk {
            let disk = tempfile::tempdir_in(disk)?;
            let folder = disk.path().join("tarsia");
            made::make(&folder, DISK_FILES.min(self.n_largest()))?;
            let mut row = commits::in_a_row(&folder, commits::COMMITS, 1)?;
            "tarsia, on a disk".clone_into(&mut row.format);
            let rows = Value::Commits(vec![row]);
            self.put(part, Format::Tarsia, DISK_COMMITS, rows)?;
            let race = commits::race(&folder, "disk")?;
            self.put(part, Format::Tarsia, DISK_RACE, Value::Race(race))?;
        }
        Ok(())
    }

    fn commits_of(&mut self, peer: Format) -> Result<()> {
        let part = Part::Commits;
        let plans = self.report.plans();
        let plans = plans.iter().filter(|it| it.format == peer.name());
        let Some(n_files) = plans.map(|it| it.files).max() else {
            for case in [COMMITS, RACE] {
                let why = "no table was made by the part `planning`".to_owned();
                self.put(part, peer, case, Value::Failed(why))?;
            }
            return Ok(());
        };
        eprintln!("{peer}, commits to {n_files} files");
        let folder = self.peer_table(peer, n_files);
        if !folder.exists() {
            self.peers()?.make(peer, &folder, n_files)?;
        }
        let [large, small] = self.scale.peer_commits;
        let rows = [(large, made::PARTITIONS), (small, 1)].map(|(n_commits, n_new)| {
            (self.peers()?).append(peer, &folder, n_files, n_commits, n_new)
        });
        let rows: Result<Vec<_>> = rows.into_iter().collect();
        self.put_found(part, peer, COMMITS, rows.map(Value::Commits))?;
        let race = self.peers()?.race(peer, &folder, n_files);
        self.put_found(part, peer, RACE, race.map(Value::Race))
    }

    fn branches(&mut self) -> Result<()> {
        let folder = self.largest()?;
        for n_new in BRANCH_FILES {
            let case = branches_case(n_new);
            eprintln!("tarsia, branches with {case}");
            let found = Value::Branches(branches::measure(&folder, n_new)?);
            self.put(Part::Branches, Format::Tarsia, &case, found)?;
        }
        Ok(())
    }

    /// Rows in a folder of this name, made by `make` unless an earlier run did.
    fn data(&self, name: &str, make: impl FnOnce(&Peers, &Path) -> Result<()>) -> Result<Data> {
        let kept = self.arguments.kept.as_deref().unwrap_or(&self.scratch);
        let folder = kept.join(format!("data-{name}"));
        let mark = folder.join("done");
        if !mark.exists() {
            eprintln!("rows of {name}");
            std::fs::create_dir_all(&folder)?;
            make(self.peers()?, &folder)?;
            std::fs::write(&mark, b"")?;
        }
        Ok(Data {
            name: name.to_owned(),
            folder,
        })
    }

    fn updated_data(&self, table: &str) -> Result<Data> {
        let (paper, factor) = (self.scale.paper, self.scale.lineitem);
        self.data(table, |peers, folder| {
            let text = folder.to_str().context("a folder that is no text")?;
            let mut arguments = vec![table.to_owned(), text.to_owned()];
            match table {
                "paper" => arguments.extend(paper.map(|it| it.to_string())),
                _ => lineitem::write(&folder.join("source.arrow"), factor)?,
            }
            peers.data(&arguments)
        })
    }

    fn updates(&mut self, format: Format) -> Result<()> {
        let is_asked = |asked: &[String], name: &str| {
            asked.is_empty() || asked.iter().any(|it| it.as_str() == name)
        };
        for table in UPDATED {
            if !is_asked(&self.arguments.table, table) {
                continue;
            }
            let data = self.updated_data(table)?;
            for which in WHICH {
                if !is_asked(&self.arguments.rows, which) {
                    continue;
                }
                let case = updates_case(table, which);
                eprintln!("{format}, updates of {case}");
                let found = match format {
                    Format::Tarsia => updates::tarsia(&self.scratch, &data, which),
                    peer => updates::of_peer(self.peers()?, peer, &self.scratch, &data, which),
                };
                self.put_found(Part::Updates, format, &case, found.map(Value::Update))?;
            }
        }
        Ok(())
    }

    fn wide_data(&self, n_columns: usize) -> Result<Data> {
        let Scale {
            wide_rows,
            wide_files,
            wide_columns: [_, widest],
            ..
        } = self.scale;
        // A narrow table has the first columns of the wide one, so that both read the same.
        self.data(&format!("wide-{n_columns}"), |peers, folder| {
            let maker = shared_data()?.join("make_ml.py");
            ensure!(maker.exists(), "there is no {}", maker.display());
            let [maker, folder] = [&maker, folder].map(|it| it.to_str());
            let folder = folder.context("a folder that is no text")?;
            let maker = maker.context("a folder that is no text")?;
            let mut arguments = vec!["wide".to_owned(), folder.to_owned(), maker.to_owned()];
            let numbers = [wide_rows, wide_files, widest, n_columns];
            arguments.extend(numbers.map(|it| it.to_string()));
            peers.data(&arguments)
        })
    }

    fn new_columns(&mut self, format: Format) -> Result<()> {
        for n_columns in self.scale.wide_columns {
            let asked = &self.arguments.columns;
            if !asked.is_empty() && !asked.contains(&n_columns) {
                continue;
            }
            let data = self.wide_data(n_columns)?;
            let case = columns_case(n_columns);
            eprintln!("{format}, a new column of {case}");
            let found = match format {
                Format::Tarsia => columns::tarsia(&self.scratch, &data, n_columns),
                peer => columns::of_peer(self.peers()?, peer, &self.scratch, &data, n_columns),
            };
            self.put_found(Part::NewColumn, format, &case, found.map(Value::NewColumn))?;
        }
        Ok(())
    }

    /// Lists what the section needs and nobody measured yet.
    fn missing(&self) -> Vec<String> {
        let mut wanted: Vec<(Part, Format, String)> = Vec::new();
        for format in Format::ALL {
            let mut want = |part: Part, case: String| wanted.push((part, format, case));
            for n_files in &self.scale.files {
                want(Part::Planning, files_case(*n_files));
            }
            for case in [COMMITS, RACE] {
                want(Part::Commits, case.to_owned());
            }
            for n_columns in self.scale.wide_columns {
                want(Part::NewColumn, columns_case(n_columns));
            }
            for (table, which) in UPDATED
                .into_iter()
                .flat_map(|it| WHICH.map(|which| (it, which)))
            {
                want(Part::Updates, updates_case(table, which));
            }
            if format == Format::Tarsia {
                want(Part::Planning, COMPACTED.to_owned());
                want(Part::Commits, REMOTE.to_owned());
                for n_new in BRANCH_FILES {
                    want(Part::Branches, branches_case(n_new));
                }
            }
        }
        let missing = wanted
            .iter()
            .filter(|(part, format, case)| !self.report.has(*part, *format, case));
        missing
            .map(|(part, format, case)| format!("{part:?}: {format}, {case}"))
            .collect()
    }

    fn finish(&self) -> Result<()> {
        let limit = self.arguments.limit;
        let section = crate::section::markdown(&self.report, limit);
        println!("{section}");
        let missing = self.missing();
        for it in &missing {
            eprintln!("not measured: {it}");
        }
        if self.arguments.section && !missing.is_empty() {
            bail!(
                "{} has no results of {} cases",
                self.file.display(),
                missing.len()
            );
        }
        let is_whole = missing.is_empty() && !self.arguments.tiny;
        if is_whole && !self.arguments.no_docs {
            publish("table", "Tables", &self.report, &section)?;
        }
        eprintln!("results are in {}", self.file.display());
        Ok(())
    }
}

/// The folder with public tables: that of the variable TARSIA_DATA, else `shared/data` beside the repository.
fn shared_data() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("TARSIA_DATA") {
        return Ok(folder.into());
    }
    let beside = crate::machine::repository()?.parent();
    Ok(beside.context("no parent folder")?.join("shared/data"))
}
