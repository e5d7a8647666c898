//! Keys of a table's objects, and the names of branches and tags in them.

use crate::error::{Error, Result};
use crate::ids::{FileId, ObjectId, TxnId};
use crate::limits::NAME_BYTES_MAX;

/// Key of the object that makes a folder a table.
pub const TABLE_KEY: &str = "TABLE";

/// Prefix of the ref entries of all branches.
pub const HEADS_PREFIX: &str = "refs/heads/";

/// Prefix of tags.
pub const TAGS_PREFIX: &str = "refs/tags/";

/// Prefix of pins.
pub const PINS_PREFIX: &str = "refs/pins/";

/// Prefix of the entries of the policy.
pub const POLICY_PREFIX: &str = "refs/policy/";

/// Kinds of objects that are named by their digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectKind {
    /// A commit.
    Commit,
    /// A manifest.
    Manifest,
    /// A schema.
    Schema,
}

impl ObjectKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Commit, Self::Manifest, Self::Schema];

    /// The name of the kind, for errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Manifest => "manifest",
            Self::Schema => "schema",
        }
    }

    /// Prefix of the keys of the kind.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Commit => "meta/c/",
            Self::Manifest => "meta/m/",
            Self::Schema => "meta/s/",
        }
    }

    /// Key of an object: `meta/c/3f/3f…`.
    pub fn key(self, id: &ObjectId) -> String {
        let name = id.to_string();
        let folder = name.get(..2).unwrap_or_default();
        format!("{}{folder}/{name}", self.prefix())
    }
}

/// Prefix of the files that hold rows, updates and sets of deleted rows.
pub const DATA_PREFIX: &str = "data/";

/// Key of such a file: `data/3f/3f…`.
pub fn data_key(id: &FileId) -> String {
    let name = id.to_string();
    let folder = name.get(..2).unwrap_or_default();
    format!("{DATA_PREFIX}{folder}/{name}")
}

/// The file whose key this is; `None` for other keys.
pub fn file_of_key(key: &str) -> Option<FileId> {
    let (_, name) = key.strip_prefix(DATA_PREFIX)?.split_once('/')?;
    let id = FileId::parse(name).ok()?;
    (data_key(&id) == key).then_some(id)
}

/// The object whose key this is; `None` for other keys.
pub fn object_of_key(key: &str) -> Option<(ObjectKind, ObjectId)> {
    ObjectKind::ALL.into_iter().find_map(|kind| {
        let (_, name) = key.strip_prefix(kind.prefix())?.split_once('/')?;
        let id = ObjectId::parse(name).ok()?;
        (kind.key(&id) == key).then_some((kind, id))
    })
}

/// Fewest digits of a commit's digest that name a state.
pub const DIGITS_MIN: usize = 8;

/// Digits of a whole digest.
pub const DIGITS_MAX: usize = 64;

/// Names of devices, which some file systems refuse as names of files, whatever follows a dot.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// Refuses what cannot be the name of a branch or a tag, with the reason.
///
/// # Errors
/// [`Error::InvalidInput`] for a name that is empty, longer than 200 bytes when it is encoded, or has control
/// characters; that begins or ends with a dot, a slash or a space; that has two slashes or two dots behind each other;
/// that has one of `~`, `^`, `@`, `:` or `\`, which have a meaning where a state is named; or that is a device's name.
pub fn check_name(name: &str) -> Result<()> {
    let bad = |why: &str| {
        let shown: String = name.chars().take(60).collect();
        let what = format!("the name `{}` is refused: {why}", shown.escape_debug());
        Err(Error::invalid(what))
    };
    if name.is_empty() {
        return bad("it is empty");
    }
    if name.chars().any(char::is_control) {
        return bad("it has control characters");
    }
    if let Some(found) = name.chars().find(|found| "~^@:\\".contains(*found)) {
        return bad(&format!("`{found}` has a meaning where a state is named"));
    }
    let is_edge = |found: char| matches!(found, '.' | '/' | ' ');
    if name.starts_with(is_edge) || name.ends_with(is_edge) {
        return bad("it begins or ends with a dot, a slash or a space");
    }
    if name.contains("..") || name.contains("//") {
        return bad("it has two dots or two slashes behind each other");
    }
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let stem = stem.trim_end_matches(|digit: char| digit.is_ascii_digit());
    if DEVICES.contains(&stem) {
        return bad("it is the name of a device on some systems");
    }
    let n_bytes = encoded(name).len();
    if n_bytes > NAME_BYTES_MAX {
        return bad(&format!(
            "it takes {n_bytes} bytes, more than {NAME_BYTES_MAX}"
        ));
    }
    Ok(())
}

/// Refuses what cannot be the name of a new branch, with the reason. Older tables may have such branches.
///
/// # Errors
/// As [`check_name`]; [`Error::InvalidInput`] for a name that may be the digest of a commit, or its first digits.
pub fn check_new_branch(name: &str) -> Result<()> {
    check_name(name)?;
    let is_digits = name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_digits && (DIGITS_MIN..=DIGITS_MAX).contains(&name.len()) {
        let what = format!(
            "the name `{name}` is refused: a state of {DIGITS_MIN} to {DIGITS_MAX} hexadecimal digits is named by the \
             digest of its commit; put a word before them"
        );
        return Err(Error::invalid(what));
    }
    Ok(())
}

/// The name as a part of a key: bytes other than `a-z`, `0-9`, `.`, `_` and `-` are percent-encoded, capitals too, so
/// that names differ on file systems that ignore case.
///
/// # Errors
/// As [`check_name`].
pub fn encode_name(name: &str) -> Result<String> {
    check_name(name)?;
    Ok(encoded(name))
}

fn encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02x}")),
        }
    }
    out
}

/// The name that [`encode_name`] encodes so.
///
/// # Errors
/// [`Error::InvalidInput`] for what it never returns.
pub fn decode_name(encoded_name: &str) -> Result<String> {
    let bad = || {
        let shown: String = encoded_name.chars().take(60).collect();
        Error::invalid(format!("`{}` is no encoded name", shown.escape_debug()))
    };
    let mut bytes = Vec::with_capacity(encoded_name.len());
    let mut rest = encoded_name.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next().ok_or_else(bad)?, rest.next().ok_or_else(bad)?];
                let mut decoded = [0];
                hex::decode_to_slice(digits, &mut decoded).map_err(|_| bad())?;
                bytes.extend_from_slice(&decoded);
            }
            other => bytes.push(other),
        }
    }
    let name = String::from_utf8(bytes).map_err(|_| bad())?;
    match encode_name(&name) {
        Ok(again) if again == encoded_name => Ok(name),
        _ => Err(bad()),
    }
}

/// Prefix of the ref entries of a branch.
///
/// # Errors
/// As [`check_name`].
pub fn branch_prefix(branch: &str) -> Result<String> {
    Ok(format!("{HEADS_PREFIX}{}/", encode_name(branch)?))
}

/// Key of ref entry `n` of a branch. Numbers count down in it, so a list shows the newest entry first.
///
/// # Errors
/// As [`check_name`].
pub fn ref_key(branch: &str, n: u64) -> Result<String> {
    Ok(format!("{}{}", branch_prefix(branch)?, counted_down(n)))
}

/// The number as a part of a key: the largest comes first in a list.
fn counted_down(n: u64) -> String {
    let digits = format!("{:016x}", u64::MAX - n);
    let (first, last) = digits.split_at_checked(13).unwrap_or((&digits, ""));
    format!("{first}/{last}")
}

fn counted_up(key: &str) -> Option<u64> {
    let (first, last) = key.split_once('/')?;
    Some(u64::MAX - u64::from_str_radix(&format!("{first}{last}"), 16).ok()?)
}

/// The branch and the number of the ref entry whose key this is; `None` for other keys.
pub fn ref_of_key(key: &str) -> Option<(String, u64)> {
    let (branch, digits) = key.strip_prefix(HEADS_PREFIX)?.split_once('/')?;
    let branch = decode_name(branch).ok()?;
    let n = counted_up(digits)?;
    (ref_key(&branch, n).ok()? == key).then_some((branch, n))
}

/// Key of a tag.
///
/// # Errors
/// As [`check_name`].
pub fn tag_key(tag: &str) -> Result<String> {
    Ok(format!("{TAGS_PREFIX}{}", encode_name(tag)?))
}

/// The tag whose key this is; `None` for other keys.
pub fn tag_of_key(key: &str) -> Option<String> {
    decode_name(key.strip_prefix(TAGS_PREFIX)?).ok()
}

/// Key of a pin.
pub fn pin_key(id: &TxnId) -> String {
    format!("{PINS_PREFIX}{id}")
}

/// The pin whose key this is; `None` for other keys.
pub fn pin_of_key(key: &str) -> Option<TxnId> {
    let id = TxnId::parse(key.strip_prefix(PINS_PREFIX)?).ok()?;
    (pin_key(&id) == key).then_some(id)
}

/// Key of entry `n` of the policy. As those of ref entries, a list shows the newest one first.
pub fn policy_key(n: u64) -> String {
    format!("{POLICY_PREFIX}{}", counted_down(n))
}

/// The number of the entry of the policy whose key this is; `None` for other keys.
pub fn policy_of_key(key: &str) -> Option<u64> {
    let n = counted_up(key.strip_prefix(POLICY_PREFIX)?)?;
    (policy_key(n) == key).then_some(n)
}

/// Key of the number of a recent ref entry of a branch. It decides nothing.
///
/// # Errors
/// As [`check_name`].
pub fn hint_key(branch: &str) -> Result<String> {
    Ok(format!("hint/{}", encode_name(branch)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_would_clash_or_mislead_are_refused() {
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        let capitals = "X".repeat(NAME_BYTES_MAX / 3 + 1);
        for name in [
            "", ".", "..", "a..b", "/a", "a/", "a//b", " a", "a ", "a.", ".a", "a~1", "a@b",
            "tag:x", "a\\b", "a\nb", "a\0", "con", "NUL.txt", "com1", &long, &capitals,
        ] {
            let error = check_name(name).unwrap_err().to_string();
            assert!(error.contains("is refused: "), "{error}");
        }
        for name in [
            "main",
            "Feature/x",
            "käse",
            "a b",
            "v1.2",
            "console",
            "%41",
            &long[1..],
        ] {
            check_name(name).unwrap();
        }
    }

    #[test]
    fn a_new_branch_has_no_name_that_may_be_a_digest() {
        for name in ["deadbeef", "20260501", "DEADBEEF", &"0".repeat(64)] {
            check_name(name).unwrap();
            let error = check_new_branch(name).unwrap_err().to_string();
            assert!(error.contains("digest of its commit"), "{error}");
        }
        for name in ["main", "beef", "day-20260501", &"0".repeat(65)] {
            check_new_branch(name).unwrap();
        }
        assert!(check_new_branch("a~1").is_err());
    }

    #[test]
    fn capitals_have_keys_of_their_own() {
        assert_eq!(encode_name("Main/x y").unwrap(), "%4dain%2fx%20y");
        assert_ne!(encode_name("Main").unwrap(), encode_name("main").unwrap());
        // Encoded names have one form.
        for other in ["Main", "%6dain", "%4Dain", "%4", "%zz", "%ff", "a%2f"] {
            assert!(decode_name(other).is_err(), "{other}");
        }
    }

    #[test]
    fn newer_ref_entries_come_first_in_a_list() {
        assert_eq!(
            ref_key("main", 0).unwrap(),
            "refs/heads/main/fffffffffffff/fff"
        );
        let mut keys: Vec<_> = [0, 1, 4095, 4096, 70_000, u64::MAX]
            .map(|n| ref_key("main", n).unwrap())
            .into();
        keys.reverse();
        assert!(keys.is_sorted());
        assert_eq!(ref_of_key(&keys[0]), Some(("main".to_owned(), u64::MAX)));
        for other in [
            "refs/heads/main/fffffffffffff/ff",
            "refs/heads/main/fffffffffffff/FFF",
            "refs/heads/main/fffffffffffff/fff/x",
            "refs/heads/main/+ffffffffffff/fff",
            "refs/tags/main",
        ] {
            assert_eq!(ref_of_key(other), None, "{other}");
        }
    }

    #[test]
    fn keys_of_objects_are_read_back() {
        let id = ObjectId::of(b"x");
        for kind in ObjectKind::ALL {
            assert_eq!(object_of_key(&kind.key(&id)), Some((kind, id)));
        }
        let file = FileId([9; 16]);
        assert_eq!(data_key(&file), format!("data/09/{}", "09".repeat(16)));
        assert_eq!(file_of_key(&data_key(&file)), Some(file));
        assert_eq!(file_of_key(&format!("data/08/{file}")), None);
        let pin = TxnId([0x1f; 16]);
        assert_eq!(pin_key(&pin), format!("refs/pins/{}", "1f".repeat(16)));
        assert_eq!(pin_of_key(&pin_key(&pin)), Some(pin));
        assert_eq!(pin_of_key("refs/pins/1F"), None);
        assert_eq!(policy_key(1), "refs/policy/fffffffffffff/ffe");
        for n in [0, 1, 5_000, u64::MAX] {
            assert_eq!(policy_of_key(&policy_key(n)), Some(n));
        }
        for other in [
            "refs/policy/+ffffffffffff/fff",
            "refs/policy/fff",
            "refs/policy/é/fff",
        ] {
            assert_eq!(policy_of_key(other), None);
        }
        assert_eq!(tag_of_key(&tag_key("V 1").unwrap()).as_deref(), Some("V 1"));
    }

    proptest! {
        #[test]
        fn names_are_decoded_to_themselves(name in "\\PC{1,40}") {
            if let Ok(encoded) = encode_name(&name) {
                prop_assert!(encoded.bytes().all(|byte| !byte.is_ascii_uppercase() && byte != b'/'));
                prop_assert_eq!(decode_name(&encoded).unwrap(), name);
            }
        }

        #[test]
        fn what_decodes_encodes_to_itself(text in "[a-z0-9%._A-F-]{0,20}") {
            if let Ok(name) = decode_name(&text) {
                prop_assert_eq!(encode_name(&name).unwrap(), text);
            }
        }

        #[test]
        fn keys_of_ref_entries_are_read_back(n: u64) {
            prop_assert_eq!(ref_of_key(&ref_key("a/B", n).unwrap()), Some(("a/B".to_owned(), n)));
        }
    }
}
