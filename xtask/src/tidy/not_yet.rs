//! Files that do not follow a rule yet.

use std::collections::BTreeSet;

use super::Violation;

/// A rule, and the paths that do not follow it. Lists only get shorter: a path that needs to be listed no longer is a
/// violation itself.
type Lists<'a> = [(&'a str, &'a [&'a str])];

/// By the names in [`super::RULES`].
pub(super) const NOT_YET: &Lists = &[];

/// Keeps account of the paths in [`NOT_YET`] that were needed, by rule.
#[derive(Default)]
pub(super) struct Postponed {
    needed: BTreeSet<(String, String)>,
}

impl Postponed {
    /// The violations of `rule` in files that are not listed for it.
    pub(super) fn without(&mut self, rule: &str, found: Vec<Violation>) -> Vec<Violation> {
        self.without_listed(NOT_YET, rule, found)
    }

    fn without_listed(
        &mut self,
        lists: &Lists,
        rule: &str,
        mut found: Vec<Violation>,
    ) -> Vec<Violation> {
        found.retain(|violation| {
            let mut paths = lists
                .iter()
                .filter(|(listed, _)| *listed == rule)
                .flat_map(|(_, paths)| *paths);
            let is_listed = paths.any(|path| *path == violation.path);
            if is_listed {
                self.needed
                    .insert((rule.to_owned(), violation.path.clone()));
            }
            !is_listed
        });
        found
    }

    /// Paths that no violation needed.
    pub(super) fn stale(&self) -> Vec<Violation> {
        self.stale_of(NOT_YET)
    }

    fn stale_of(&self, lists: &Lists) -> Vec<Violation> {
        let entries = lists
            .iter()
            .flat_map(|(rule, paths)| paths.iter().map(move |path| (*rule, *path)));
        let stale =
            entries.filter(|(rule, path)| !self.needed.contains(&((*rule).into(), (*path).into())));
        stale
            .map(|(rule, path)| Violation {
                path: path.to_owned(),
                line: 0,
                what: format!("follows the rule {rule:?} now, but is listed as not doing so"),
                repair: "remove its path from NOT_YET in xtask/src/tidy/not_yet.rs".to_owned(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::RULES;
    use super::*;

    #[test]
    fn listed_files_are_left_out_and_unneeded_entries_are_found() {
        let list: &Lists = &[("length", &["a.rs", "b.rs"]), ("tuple", &["a.rs"])];
        let violation = |path: &str| Violation {
            path: path.to_owned(),
            line: 1,
            what: String::new(),
            repair: String::new(),
        };
        let mut postponed = Postponed::default();
        let found = vec![violation("a.rs"), violation("a.rs"), violation("c.rs")];
        let left = postponed.without_listed(list, "length", found);
        assert_eq!(left, [violation("c.rs")]);
        let stale = postponed.stale_of(list);
        let paths: Vec<&str> = stale.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["b.rs", "a.rs"]);
        assert!(stale[1].to_string().contains("\"tuple\""));
        assert!(stale[1].to_string().contains("repair: remove its path"));
    }

    #[test]
    fn lists_are_of_rules_and_sorted() {
        for (rule, paths) in NOT_YET {
            assert!(RULES.iter().any(|it| it.name == *rule), "{rule}");
            assert!(!paths.is_empty() && paths.is_sorted(), "{rule}");
        }
    }
}
