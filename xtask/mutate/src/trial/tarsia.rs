//! Commands on a damaged Tarsia file. Where `verify` says that it is sound, all of them must work.

use std::collections::BTreeMap;
use std::io;

use serde_json::Value;
use tarsia_testkit::rng::Rng;

use crate::corpus::Original;
use crate::kind::Kind;

use super::bench::{Bench, Outcome, Ran};

/// So many commands are run on a file that `verify` refuses; they are drawn.
const AFTER_REFUSAL: usize = 2;

/// The command that decodes with the file's kernel.
const FORCED: &str = "scan --force-kernels";

/// Kernels run in so many of 100 runs that can: compiling one takes as long as a hundred other commands.
const KERNEL_PERCENT: u32 = 20;

/// Errors that are about the command's request, not about the file: types and values that another format does not have
/// (a time zone is any text, of which CSV needs the offset), and a kernel that is not one of this program.
const ALLOWED: [&str; 4] = [
    "cannot be written as",
    "has no calendar text",
    "a JSON object holds a name only once",
    "is not one that this reader trusts",
];

/// Results on sound Tarsia files: what each command prints or writes that succeeds on them and prints no times, hashed.
pub(super) type Given = BTreeMap<&'static str, Option<blake3::Hash>>;

/// A command besides `verify`.
struct Probe {
    name: &'static str,
    args: Vec<&'static str>,
    /// The file that it writes.
    output: Option<&'static str>,
    /// Whether the same table gives the same output: no times, no sizes.
    is_of_rows: bool,
}

fn probe(name: &'static str, args: &[&'static str]) -> Probe {
    Probe {
        name,
        args: args.to_vec(),
        output: None,
        is_of_rows: true,
    }
}

/// All commands for a file. The name of the input stands first among the arguments.
fn probes(original: &Original) -> Vec<Probe> {
    let told = |name, args: &[&'static str]| Probe {
        is_of_rows: false,
        ..probe(name, args)
    };
    let export = |name, output| Probe {
        output: Some(output),
        ..probe(name, &["export", output])
    };
    let mut probes = vec![
        probe("schema", &["schema"]),
        probe("schema --json", &["schema", "--json"]),
        told("inspect", &["inspect"]),
        told("inspect --json", &["inspect", "--json"]),
        probe("head", &["head"]),
        probe("scan --json", &["scan", "--json"]),
        told("scan", &["scan"]),
        export("export .parquet", "out.parquet"),
        export("export .arrow", "out.arrow"),
        export("export .csv", "out.csv"),
        export("export .jsonl", "out.jsonl"),
    ];
    if original.rows > 0 {
        probes.push(probe("take", &["take", "--json", "--rows", "0,0"]));
    }
    if original.rows > 10 {
        probes.push(probe("take of a row", &["take", "--rows", "7"]));
        // Each row of short files, so that none is read with its neighbours alone.
        probes.push(probe(
            "take of rows",
            &["take", "--rows", "9,3,10,2,1,8,7,5,4,6,0"],
        ));
    }
    if original
        .tarsia
        .as_ref()
        .is_some_and(|tarsia| tarsia.has_kernel)
    {
        probes.push(probe(FORCED, &["scan", "--json", "--force-kernels"]));
    }
    probes
}

impl Probe {
    fn run(&self, bench: &mut Bench<'_>) -> io::Result<Ran> {
        let input = bench.input.clone();
        let mut args = self.args.clone();
        args.insert(1, &input);
        bench.run(&args, self.output)
    }

    /// A hash of the rows that it printed or wrote.
    fn rows(&self, ran: &Ran) -> Option<blake3::Hash> {
        if !self.is_of_rows {
            return None;
        }
        match (self.output, &ran.written) {
            (Some(_), written) => written.as_deref().map(blake3::hash),
            (None, _) => Some(blake3::hash(&ran.done.stdout)),
        }
    }
}

/// The commands that succeed on a sound file, with what they give.
pub(super) fn given(bench: &mut Bench<'_>, original: &Original) -> io::Result<Given> {
    let mut given = Given::new();
    for probe in probes(original) {
        let ran = probe.run(bench)?;
        if ran.done.is_ok() {
            given.insert(probe.name, probe.rows(&ran));
        }
    }
    Ok(given)
}

/// Runs the commands.
pub(super) fn run(
    bench: &mut Bench<'_>,
    rng: &mut Rng,
    kind: Kind,
    original: &Original,
    given: &Given,
) -> io::Result<Outcome> {
    let input = bench.input.clone();
    let verified = bench.run(&["verify", &input], None)?.done.is_ok();
    let mut probes = probes(original);
    let with_kernel = rng.percent(KERNEL_PERCENT);
    probes.retain(|probe| given.contains_key(probe.name) && (with_kernel || probe.name != FORCED));
    if !verified {
        for _ in 0..AFTER_REFUSAL {
            rng.pick(&probes).run(bench)?;
        }
        return Ok(Outcome::Refused);
    }
    let mut rows = Given::new();
    for probe in &probes {
        let ran = probe.run(bench)?;
        let said = ran.done.said();
        if ran.is_faulty {
            continue;
        }
        if !ran.done.is_ok() {
            if is_of_the_file(&ran, &said) {
                bench.find(&ran.args, "`verify` says ok, this fails".to_owned(), &said);
            }
            continue;
        }
        let hash = probe.rows(&ran);
        if kind == Kind::Plain && given[probe.name] != hash {
            bench.find(
                &ran.args,
                "`verify` says ok, the data are not those of the sound file".to_owned(),
                &said,
            );
        }
        rows.insert(probe.name, hash);
    }
    by_name(bench)?;
    for other in ["export .jsonl", FORCED] {
        // Where they give the same of the sound file.
        let same = |of: &Given| Some(of.get("scan --json")? == of.get(other)?);
        if same(given) == Some(true) && same(&rows) == Some(false) {
            bench.find(
                &[other.to_owned()],
                "`scan --json` gives other rows than this".to_owned(),
                "",
            );
        }
    }
    Ok(Outcome::Accepted)
}

/// Each column that the schema names is found by its name.
fn by_name(bench: &mut Bench<'_>) -> io::Result<()> {
    let input = bench.input.clone();
    let shown = bench.run(&["schema", &input, "--json"], None)?;
    let schema: Value = serde_json::from_slice(&shown.done.stdout).unwrap_or_default();
    let names = column_names(&schema);
    // Nobody can ask for one of two columns of the same name.
    let mut all = std::collections::BTreeSet::new();
    if names.is_empty() || !names.iter().all(|name| all.insert(name)) {
        return Ok(());
    }
    let ran = bench.run(&["scan", &input, "--columns", &names.join(",")], None)?;
    if !ran.is_faulty && !ran.done.is_ok() {
        let what = "`verify` says ok, columns of the schema are not found".to_owned();
        bench.find(&ran.args, what, &ran.done.said());
    }
    Ok(())
}

/// The names of all columns, quoted as the option `--columns` takes them. None where one cannot be an argument.
fn column_names(schema: &Value) -> Vec<String> {
    let fields = schema["fields"].as_array();
    let name = |field: &Value| Some(field["name"].as_str()?.replace('"', "\"\""));
    let quoted = |name: String| (!name.contains('\0')).then(|| format!("\"{name}\""));
    let names = fields
        .into_iter()
        .flatten()
        .map(|field| name(field).and_then(quoted));
    names.collect::<Option<_>>().unwrap_or_default()
}

/// True where the failure is about the file, not about the request.
fn is_of_the_file(ran: &Ran, said: &str) -> bool {
    let is_usage = ran.done.ending == crate::process::Ending::Code(2);
    !is_usage && !ALLOWED.iter().any(|allowed| said.contains(allowed))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_quoted() {
        let names = |names: &[&str]| {
            let fields: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
            column_names(&json!({ "fields": fields }))
        };
        assert_eq!(
            names(&["a,b", "say \"hi\""]),
            ["\"a,b\"", "\"say \"\"hi\"\"\""]
        );
        assert!(names(&["a", "\0"]).is_empty());
        assert!(column_names(&Value::Null).is_empty());
    }
}
