//! The crates that have to build without an operating system.
//!
//! `wasm32v1-none` has no `std`: it proves that decoders are `no_std`, as kernels need them. `wasm32-unknown-unknown`
//! takes the default features (encoders too), but no Arrow.

use std::fs;
use std::path::Path;

use crate::outcome::Outcome;
use crate::process::{self, cargo, show};
use crate::toolchain::need_target;

/// One build per target: all crates, with the features picked for it.
pub(crate) fn run(root: &Path) -> Outcome {
    for (target, with_features) in [("wasm32v1-none", false), ("wasm32-unknown-unknown", true)] {
        let crates = wasm_crates(root, with_features)?;
        need_target(root, target)?;
        let mut build = cargo(root);
        build.args([
            "build",
            "--quiet",
            "--lib",
            "--no-default-features",
            "--target",
            target,
        ]);
        for known in &crates {
            build.args(["-p", &known.package]);
        }
        let features: Vec<String> = crates
            .iter()
            .flat_map(|known| {
                known
                    .default_features
                    .iter()
                    .map(move |feature| (known, feature))
            })
            .filter(|(_, feature)| with_features && feature.as_str() != "arrow")
            .map(|(known, feature)| format!("{}/{feature}", known.package))
            .collect();
        if !features.is_empty() {
            build.args(["--features", &features.join(",")]);
        }
        println!("$ {}", show(&build));
        process::run(&mut build)?;
    }
    Ok(())
}

struct WasmCrate {
    package: String,
    default_features: Vec<String>,
}

/// codec, bits, standalone, structure and every encoding, as far as they exist; with encoders also page-writer.
fn wasm_crates(root: &Path, with_encoders: bool) -> Result<Vec<WasmCrate>, String> {
    let encodings = root.join("crates/encodings");
    let mut folders: Vec<_> = fs::read_dir(&encodings)
        .map_err(|error| format!("{}: {error}", encodings.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    let named = ["codec", "bits", "standalone", "structure"].into_iter();
    let named = named.chain(with_encoders.then_some("page-writer"));
    folders.extend(named.map(|name| root.join("crates").join(name)));
    folders.sort();
    let manifests = folders
        .iter()
        .filter_map(|folder| fs::read_to_string(folder.join("Cargo.toml")).ok());
    manifests
        .map(|manifest| {
            let package = package_name(&manifest).ok_or("a Cargo.toml without a package name")?;
            Ok(WasmCrate {
                package,
                default_features: default_features(&manifest),
            })
        })
        .collect()
}

/// `name` of `[package]`.
fn package_name(manifest: &str) -> Option<String> {
    let name = value_of(manifest, "package", "name")?;
    Some(name.trim_matches('"').to_owned())
}

/// The list `default` of `[features]`.
fn default_features(manifest: &str) -> Vec<String> {
    let list = value_of(manifest, "features", "default").unwrap_or_default();
    list.split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// The value of a key, lists over several lines included: as much TOML as our own manifests use.
fn value_of(manifest: &str, table: &str, key: &str) -> Option<String> {
    let header = format!("[{table}]");
    let mut lines = manifest
        .lines()
        .skip_while(|line| line.trim() != header)
        .skip(1)
        .take_while(|line| !line.starts_with('['));
    let start = lines.find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })?;
    let mut value = start;
    if value.starts_with('[') {
        while !value.contains(']') {
            value.push_str(lines.next()?);
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
[package]
name = "tarsia-x"
version.workspace = true

[features]
default = [
    "arrow",
    "encode",
]
encode = ["other"]

[dependencies]
default = ["not", "this"]
"#;

    #[test]
    fn manifests_are_read() {
        assert_eq!(package_name(MANIFEST).as_deref(), Some("tarsia-x"));
        assert_eq!(default_features(MANIFEST), ["arrow", "encode"]);
        assert!(default_features("[package]\nname = \"x\"\n").is_empty());
        let one_line = "[features]\ndefault = [\"std\"]\nstd = []\n";
        assert_eq!(default_features(one_line), ["std"]);
    }

    #[test]
    fn the_contract_is_among_the_crates() {
        let crates = wasm_crates(&crate::root(), true).unwrap();
        let codec = crates
            .iter()
            .find(|known| known.package == "tarsia-codec")
            .unwrap();
        assert_eq!(codec.default_features, ["std"]);
    }
}
