//! Certificates altered, forged, and held against files that are not the one that was erased.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tarsia::compliance::certificate::{Certificate, SecretKey};
use tarsia_testkit::rng::Rng;

use super::context::Context;
use crate::outcome::Outcome;
use crate::tool::{Done, Tool};
use crate::users::Users;

/// Alterations of a case that the command is asked about.
const ALTERED_MAX: usize = 24;

/// Exit code of `verify-certificate` where all is right but for whose signature it is.
const CODE_UNTRUSTED: i32 = 3;

/// Writes a secret key and its public half; returns the names.
pub(super) fn keys(folder: &Path, name: &str, rng: &mut Rng) -> Result<(String, String), String> {
    let secret = hex::encode(rng.bytes(32));
    let key = SecretKey::parse(secret.as_bytes()).map_err(|error| error.to_string())?;
    let names = (format!("{name}.key"), format!("{name}.pub"));
    let put = |name: &str, text: &str| {
        fs::write(folder.join(name), text).map_err(|error| error.to_string())
    };
    put(&names.0, &secret)?;
    put(&names.1, &key.public_key().to_string())?;
    Ok(names)
}

fn verify(
    tool: &Tool<'_>,
    certificate: &str,
    file: &str,
    key: Option<&str>,
) -> Result<Done, String> {
    let mut args = vec!["verify-certificate", certificate, file];
    if let Some(key) = key {
        args.extend(["--signed-by", key]);
    }
    tool.run(&args)
}

/// Runs a case.
pub(super) fn run(seed: u64, context: &Context<'_>, outcome: &mut Outcome) -> Result<(), String> {
    let mut rng = Rng::new(seed ^ 0x6365_7274);
    let users = Users::any(&mut rng);
    let table = users.table(&mut rng)?;
    let tool = Tool {
        command: context.command,
        folder: context.folder,
    };
    users.write(&table, &tool.path("t.tarsia"))?;
    let (secret, public) = keys(tool.folder, "own", &mut rng)?;
    let (stranger, _) = keys(tool.folder, "other", &mut rng)?;
    // Perhaps it was erased before.
    let rows = users.rows;
    let range = |first: usize, n: usize| format!("{first}..{}", (first + n).min(rows));
    if rng.percent(30) {
        tool.must(&["erase", "t.tarsia", "--rows", &range(0, 2)])?;
    }
    let copy = |from: &str, to: &str| {
        let copied = fs::copy(tool.path(from), tool.path(to)).map(drop);
        copied.map_err(|error| error.to_string())
    };
    copy("t.tarsia", "before.tarsia")?;
    let first = rng.between(3, rows / 2);
    let n_rows = rng.between(1, 5);
    let asked = range(first, n_rows);
    outcome.note(format!("{users:?}, rows {asked}"));
    let level = *rng.pick(&["1", "2", "2", "2"]);
    tool.must(&[
        "erase",
        "t.tarsia",
        "--rows",
        &asked,
        "--level",
        level,
        "--certificate",
        "c.json",
        "--key",
        &secret,
        "--note",
        "request 4711",
    ])?;
    let said = verify(&tool, "c.json", "t.tarsia", Some(&public))?;
    outcome.count("sound certificates verified", 1);
    if said.code != Some(0) {
        outcome.find(format!("a sound certificate is refused: {}", said.said()));
    }
    let text = fs::read_to_string(tool.path("c.json")).map_err(|error| error.to_string())?;
    let sound: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    trust(&tool, &sound, (&public, &stranger), outcome)?;
    altered(&tool, &sound, &public, &mut rng, outcome)?;
    forked(&tool, rows, first + n_rows, &public, &mut rng, outcome)?;
    overwritten(&tool, &secret, rows, outcome)?;
    later(&tool, rows, first + n_rows, &public, outcome)
}

fn put(tool: &Tool<'_>, name: &str, value: &Value) -> Result<(), String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| error.to_string())?;
    fs::write(tool.path(name), text).map_err(|error| error.to_string())
}

/// Exit 0 and `ok` are for a signature by a key that the caller names, and for nothing else.
fn trust(
    tool: &Tool<'_>,
    sound: &Value,
    (public, stranger): (&str, &str),
    outcome: &mut Outcome,
) -> Result<(), String> {
    let mut unsigned = sound.clone();
    if let Some(fields) = unsigned.as_object_mut() {
        fields.remove("signature");
    }
    put(tool, "unsigned.json", &unsigned)?;
    let text = unsigned.to_string();
    let mut resigned = Certificate::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    let key = fs::read(tool.path(stranger)).map_err(|error| error.to_string())?;
    let key = SecretKey::parse(&key).map_err(|error| error.to_string())?;
    resigned.sign(&key).map_err(|error| error.to_string())?;
    let resigned = resigned.to_json().map_err(|error| error.to_string())?;
    fs::write(tool.path("stranger.json"), resigned).map_err(|error| error.to_string())?;
    let cases = [
        (
            "a certificate without a signature, no key named",
            "unsigned.json",
            None,
            CODE_UNTRUSTED,
            "unsigned",
        ),
        (
            "a certificate without a signature, a key named",
            "unsigned.json",
            Some(public),
            1,
            "",
        ),
        (
            "a stranger's certificate, no key named",
            "stranger.json",
            None,
            CODE_UNTRUSTED,
            "signed by an unknown key",
        ),
        (
            "a stranger's certificate, a key named",
            "stranger.json",
            Some(public),
            1,
            "",
        ),
        (
            "a sound certificate, no key named",
            "c.json",
            None,
            CODE_UNTRUSTED,
            "signed by an unknown key",
        ),
    ];
    for (what, name, key, code, words) in cases {
        outcome.count("signatures of nobody who is trusted", 1);
        let said = verify(tool, name, "t.tarsia", key)?;
        let first = said.first_line();
        // Without a key named, a certificate without signature that is refused for lack of it is refused, too.
        let is_right =
            said.code == Some(code) || key.is_some() && said.code == Some(CODE_UNTRUSTED);
        if !is_right || first.starts_with("ok") || !first.contains(words) {
            outcome.find(format!(
                "{what}: {}, not exit {code} and `{words}`",
                said.said()
            ));
        }
    }
    Ok(())
}

/// The paths to all values of a document.
fn paths(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let at = format!("{at}/{name}");
                out.push(at.clone());
                paths(value, &at, out);
            }
        }
        Value::Array(items) => {
            for (number, value) in items.iter().enumerate() {
                let at = format!("{at}/{number}");
                out.push(at.clone());
                paths(value, &at, out);
            }
        }
        _ => {}
    }
}

/// Another value of the same kind; `None` for what has none.
fn other(value: &Value, rng: &mut Rng) -> Option<Value> {
    Some(match value {
        Value::Bool(bit) => Value::from(!bit),
        Value::Number(number) => Value::from(number.as_u64()?.wrapping_add(1)),
        Value::String(text) => {
            let mut bytes = text.clone().into_bytes();
            let at = rng.below(bytes.len());
            let byte = bytes.get_mut(at)?;
            *byte = match *byte {
                b'0'..=b'8' | b'a'..=b'e' | b'g'..=b'y' => *byte + 1,
                b'9' => b'0',
                b'f' => b'a',
                _ => b'x',
            };
            Value::from(String::from_utf8(bytes).ok()?)
        }
        Value::Array(items) => {
            let mut items = items.clone();
            items.pop()?;
            Value::from(items)
        }
        _ => return None,
    })
}

/// A document with one thing changed, and what.
fn alteration(sound: &Value, path: &str, rng: &mut Rng) -> Option<(String, Value)> {
    let mut altered = sound.clone();
    let (parent, name) = path.rsplit_once('/')?;
    match rng.below(4) {
        0 => {
            altered.pointer_mut(parent)?.as_object_mut()?.remove(name)?;
            Some((format!("{path} removed"), altered))
        }
        1 => {
            let fields = altered.pointer_mut(path)?.as_object_mut()?;
            fields.insert("more".to_owned(), Value::from(1));
            Some((format!("{path}/more added"), altered))
        }
        _ => {
            let value = altered.pointer_mut(path)?;
            *value = other(value, rng)?;
            Some((format!("{path} altered"), altered))
        }
    }
}

/// Any change of a signed certificate is found.
fn altered(
    tool: &Tool<'_>,
    sound: &Value,
    public: &str,
    rng: &mut Rng,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let mut all = Vec::new();
    paths(sound, "", &mut all);
    // The fields of the certificate itself, and some of those below.
    let (top, below): (Vec<String>, Vec<String>) = all
        .into_iter()
        .partition(|path| path.matches('/').count() == 1);
    let mut picked = top;
    while picked.len() < ALTERED_MAX && !below.is_empty() {
        picked.push(rng.pick(&below).clone());
    }
    for path in picked {
        let Some((what, document)) = alteration(sound, &path, rng) else {
            continue;
        };
        if document == *sound {
            continue;
        }
        outcome.count("altered certificates", 1);
        put(tool, "altered.json", &document)?;
        let said = verify(tool, "altered.json", "t.tarsia", Some(public))?;
        // Without its signature it is another certificate, which nobody vouches for.
        let expected = match path.as_str() == "/signature" && what.ends_with("removed") {
            true => Some(3),
            false => Some(1),
        };
        if said.code != expected {
            outcome.find(format!("certificate with {what}: {}", said.said()));
        }
    }
    Ok(())
}

/// Copies from before the erasure, of which other rows were erased or hidden since.
fn forked(
    tool: &Tool<'_>,
    rows: usize,
    behind: usize,
    public: &str,
    rng: &mut Rng,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let others = behind..rows;
    for n_rounds in 0..4 {
        let name = "fork.tarsia";
        let copied = fs::copy(tool.path("before.tarsia"), tool.path(name));
        copied.map_err(|error| error.to_string())?;
        let mut levels = Vec::new();
        for _ in 0..n_rounds {
            let first = others.start + rng.below(others.len());
            let range = format!("{first}..{}", (first + rng.between(1, 30)).min(rows));
            let level = *rng.pick(&["1", "2"]);
            levels.push(level);
            tool.must(&["erase", name, "--rows", &range, "--level", level])?;
        }
        outcome.count("forks and older copies", 1);
        let said = verify(tool, "c.json", name, Some(public))?;
        if said.code != Some(1) || said.first_line().starts_with("ok") {
            let what = match n_rounds {
                0 => "a copy from before the erasure".to_owned(),
                _ => format!(
                    "a copy from before, of which other rows were erased in {n_rounds} rounds (levels {levels:?})"
                ),
            };
            let last = said.stdout.trim().lines().rev().nth(1).unwrap_or_default();
            outcome.find(format!("{what} is accepted: {} … {last}", said.said()));
        }
    }
    Ok(())
}

/// A certificate is not written over the table, a link to it, or the key.
fn overwritten(
    tool: &Tool<'_>,
    secret: &str,
    rows: usize,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let read = |name: &str| fs::read(tool.path(name)).map_err(|error| error.to_string());
    fs::copy(tool.path("t.tarsia"), tool.path("o.tarsia")).map_err(|error| error.to_string())?;
    let row = (rows - 1).to_string();
    let mut names = vec!["o.tarsia", secret];
    #[cfg(unix)]
    {
        let linked = std::os::unix::fs::symlink("o.tarsia", tool.path("link.tarsia"));
        linked.map_err(|error| error.to_string())?;
        fs::hard_link(tool.path("o.tarsia"), tool.path("hard.tarsia"))
            .map_err(|error| error.to_string())?;
        names.extend(["link.tarsia", "hard.tarsia"]);
    }
    let (table, key) = (read("o.tarsia")?, read(secret)?);
    for name in names {
        outcome.count("certificates that would replace an input", 1);
        let said = tool.run(&[
            "erase",
            "o.tarsia",
            "--rows",
            &row,
            "--certificate",
            name,
            "--key",
            secret,
        ])?;
        let is_same = read("o.tarsia")? == table && read(secret)? == key;
        if said.code == Some(0) || !is_same {
            let changed = if is_same {
                "nothing changed"
            } else {
                "an input changed"
            };
            outcome.find(format!(
                "a certificate may be named `{name}`: {}, {changed}",
                said.said()
            ));
        }
        for (name, bytes) in [("o.tarsia", &table), (secret, &key)] {
            fs::write(tool.path(name), bytes).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// The file itself, erased further.
fn later(
    tool: &Tool<'_>,
    rows: usize,
    behind: usize,
    public: &str,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let range = format!("{}..{}", behind, (behind + 3).min(rows));
    tool.must(&["erase", "t.tarsia", "--rows", &range])?;
    outcome.count("files that were erased further", 1);
    let said = verify(tool, "c.json", "t.tarsia", Some(public))?;
    let all = format!("{}{}", said.stdout, said.stderr);
    let is_right = match said.code {
        Some(0) => true,
        Some(1) => all.contains("cannot be checked"),
        _ => false,
    };
    if !is_right {
        outcome.find(format!("the file itself, erased further: {}", said.said()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alteration_changes_something() {
        let sound: Value = serde_json::from_str(
            r#"{"rows": 3, "note": "a", "moved": true, "columns": [{"name": "x", "blocks": [1, 2]}]}"#,
        )
        .unwrap();
        let mut all = Vec::new();
        paths(&sound, "", &mut all);
        assert_eq!(all.len(), 9);
        let mut rng = Rng::new(5);
        let mut n_altered = 0;
        for _ in 0..50 {
            for path in &all {
                if let Some((what, altered)) = alteration(&sound, path, &mut rng) {
                    n_altered += 1;
                    assert_ne!(altered, sound, "{what}");
                }
            }
        }
        assert!(n_altered > 150, "{n_altered}");
    }
}
