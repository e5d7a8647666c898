//! `.ci/passed`: the commits in which groups of checks passed. `scripts/ci` writes it; here it is compared with them.

use std::path::Path;
use std::process::Command;

use crate::outcome::Outcome;

/// Asks `scripts/ci` whether each line names a commit with the digest that the line has.
///
/// # Errors
/// The first line that does not.
pub(crate) fn check(root: &Path) -> Outcome {
    let mut command = Command::new("bash");
    command
        .args(["scripts/ci", "--check-passed"])
        .current_dir(root);
    let output = command
        .output()
        .map_err(|error| format!("scripts/ci --check-passed did not start: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// A repository with `scripts/ci` and stand-ins for what it calls.
    struct Made(PathBuf);

    impl Drop for Made {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    impl Made {
        fn new(name: &str) -> Self {
            let folder = format!("tarsia-ci-{name}-{}", std::process::id());
            let made = Self(std::env::temp_dir().join(folder));
            for (path, content) in [
                (".gitignore", "target\n"),
                ("rust-toolchain.toml", ""),
                ("Cargo.lock", ""),
                ("docs/a.md", ""),
                ("crates/bits/a.rs", ""),
                ("crates/cli/a.rs", ""),
                ("crates/integrations/a.rs", ""),
                ("scripts/setup", "#!/bin/sh\n"),
                ("scripts/example", "#!/bin/sh\n"),
                ("scripts/miri", "#!/bin/sh\n"),
                ("scripts/integrations", "#!/bin/sh\n"),
                ("scripts/test-engines", "#!/bin/sh\n"),
                ("scripts/test-python", "#!/bin/sh\n"),
            ] {
                made.write(path, content);
            }
            let script = fs::read_to_string(crate::root().join("scripts/ci")).unwrap();
            made.write("scripts/ci", &script);
            made.git(&["init", "-q"]);
            made.commit();
            made
        }

        fn write(&self, path: &str, content: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            let mut chmod = Command::new("chmod");
            assert!(chmod.arg("755").arg(path).status().unwrap().success());
        }

        fn git(&self, args: &[&str]) -> String {
            let identity = ["-c", "user.name=a", "-c", "user.email=a"];
            let mut git = Command::new("git");
            git.current_dir(&self.0).args(identity).args(args);
            let output = git.output().unwrap();
            assert!(output.status.success(), "{args:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        }

        fn commit(&self) {
            self.git(&["add", "-A"]);
            self.git(&["commit", "-q", "--allow-empty", "-m", "a"]);
        }

        /// Exit code and output of `scripts/ci`.
        fn ci(&self, args: &[&str]) -> (bool, String) {
            let mut script = Command::new("bash");
            script.arg("scripts/ci").args(args).current_dir(&self.0);
            script.env_remove("CI_ALL").env("TARSIA_CACHE", "none");
            let output = script.output().unwrap();
            (
                output.status.success(),
                String::from_utf8(output.stdout).unwrap(),
            )
        }

        /// The groups that are due.
        fn due(&self) -> Vec<String> {
            let (_, list) = self.ci(&["--list"]);
            let due = list.lines().filter(|line| !line.contains("left out"));
            due.map(|line| line.split(':').next().unwrap_or(line).to_owned())
                .collect()
        }

        /// Runs all groups whose stand-ins need no cargo, and commits what is noted.
        fn pass(&self) {
            let (passed, output) = self.ci(&[
                "engines",
                "example",
                "integrations",
                "miri",
                "python",
                "python-ray",
                "python-torch",
            ]);
            assert!(passed, "{output}");
            self.commit();
        }
    }

    #[test]
    fn a_group_is_due_when_its_inputs_change() {
        let made = Made::new("due");
        let all = [
            "core",
            "engines",
            "example",
            "integrations",
            "kernels",
            "miri",
            "python",
            "python-ray",
            "python-torch",
        ];
        assert_eq!(made.due(), all);
        made.pass();
        assert_eq!(made.due(), ["core", "kernels"]);
        made.write("docs/a.md", "b");
        made.commit();
        assert_eq!(made.due(), ["core", "kernels"]);
        // Not committed yet.
        made.write("crates/integrations/b.rs", "");
        assert_eq!(made.due(), ["core", "integrations", "kernels"]);
        made.git(&["clean", "-qfd"]);
        made.write("docs/python.md", "");
        assert_eq!(made.due(), ["core", "kernels", "python"]);
        made.git(&["clean", "-qfd"]);
        made.write("docs/python-torch.md", "");
        assert_eq!(made.due(), ["core", "kernels", "python-torch"]);
        made.git(&["clean", "-qfd"]);
        made.write("crates/bits/a.rs", "b");
        made.commit();
        assert_eq!(made.due(), ["core", "example", "kernels", "miri"]);
        made.git(&["revert", "--no-edit", "HEAD"]);
        assert_eq!(made.due(), ["core", "kernels"]);
        for _ in 0..28 {
            made.commit();
        }
        // Packages of gigabytes are installed where something has changed alone.
        let due = made.due();
        assert_eq!(due, all.split_at(7).0);
    }

    #[test]
    fn one_group_that_fails_fails_the_run() {
        let made = Made::new("fails");
        made.write("scripts/miri", "#!/bin/sh\necho found; exit 3\n");
        made.commit();
        let (passed, output) = made.ci(&["example", "miri"]);
        assert!(!passed && output.contains("FAILED: miri"), "{output}");
        let noted = fs::read_to_string(made.0.join(".ci/passed")).unwrap();
        assert_eq!(noted.lines().count(), 1);
        assert!(noted.starts_with("example "), "{noted}");
        let (passed, _) = made.ci(&["no-such-group"]);
        assert!(!passed);
    }

    #[test]
    fn a_group_with_changes_that_are_not_committed_is_not_noted() {
        let made = Made::new("changes");
        made.write("crates/bits/a.rs", "b");
        let (passed, output) = made.ci(&["miri"]);
        assert!(passed, "{output}");
        assert!(!made.0.join(".ci/passed").exists());
    }

    #[test]
    fn a_false_line_is_found() {
        let made = Made::new("false");
        check(&made.0).unwrap();
        made.pass();
        check(&made.0).unwrap();
        let path = made.0.join(".ci/passed");
        let noted = fs::read_to_string(&path).unwrap();
        let (head, _) = noted.trim_end().rsplit_once(' ').unwrap();
        let other = format!("{head} {}\n", "0".repeat(40));
        fs::write(&path, other).unwrap();
        let error = check(&made.0).unwrap_err();
        assert!(error.contains("have another digest"), "{error}");
        fs::write(&path, "no-group 1 2\n").unwrap();
        assert!(check(&made.0).unwrap_err().contains("no group"));
    }
}
