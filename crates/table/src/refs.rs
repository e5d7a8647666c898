//! Ref entries: which commit a branch is at, and how it got there.

use tarsia_io::List;
use tarsia_table_meta::{Pin, Policy, RefEntry, Tag, TxnId, limits, names};

use crate::error::{Error, ErrorKind, Result};
use crate::objects::unexpected;
use crate::steps::{Answer, Desk, Need};

/// The branch that a new table has.
pub const MAIN: &str = "main";

/// Ref entries that are read at the same time.
const ENTRIES_AT_A_TIME: u64 = 64;

pub(crate) async fn get_json(desk: &Desk, key: String) -> Result<Option<Vec<u8>>> {
    let bytes_max = limits::JSON_BYTES_MAX as u64;
    match desk.ask_one(Need::Get { key, bytes_max }).await {
        Answer::Got(bytes) => Ok(bytes),
        other => Err(unexpected(other)),
    }
}

/// Ref entry `n`; `None` if it is not there.
pub(crate) async fn entry(desk: &Desk, branch: &str, n: u64) -> Result<Option<RefEntry>> {
    let key = names::ref_key(branch, n)?;
    let bytes = get_json(desk, key.clone()).await?;
    let parsed = bytes
        .map(|bytes| RefEntry::parse(&bytes, branch, n))
        .transpose();
    parsed.map_err(|error| Error::from(error).of_object(&key))
}

/// Ref entries of these numbers, read at the same time; an error for one that is damaged or not there.
pub(crate) async fn entries(
    desk: &Desk,
    branch: &str,
    numbers: &[u64],
) -> Result<Vec<Result<RefEntry>>> {
    let mut entries = Vec::with_capacity(numbers.len());
    for numbers in numbers.chunks(ENTRIES_AT_A_TIME as usize) {
        let keys = numbers.iter().map(|n| names::ref_key(branch, *n));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let needs = keys.iter().map(|key| Need::Get {
            key: key.clone(),
            bytes_max: limits::JSON_BYTES_MAX as u64,
        });
        let answers = desk.ask(needs.collect()).await;
        for ((answer, key), n) in answers.into_iter().zip(&keys).zip(numbers) {
            entries.push(match answer {
                Answer::Got(Some(bytes)) => {
                    let entry = RefEntry::parse(&bytes, branch, *n);
                    entry.map_err(|error| Error::from(error).of_object(key))
                }
                Answer::Got(None) => {
                    Err(Error::corrupt("it is listed, and is not there").of_object(key))
                }
                other => return Err(unexpected(other)),
            });
        }
    }
    Ok(entries)
}

/// The newest ref entry of a branch, also one that deletes it; `None` if there never was such a branch. Entries are
/// never deleted, so the search goes on from one that is `known`. A list that lags costs time alone.
pub(crate) async fn newest(
    desk: &Desk,
    branch: &str,
    known: Option<RefEntry>,
) -> Result<Option<RefEntry>> {
    match known {
        Some(known) => newer(desk, branch, known).await.map(Some),
        None => {
            let list = List::new(names::branch_prefix(branch)?).page_max(1);
            let page = match desk.ask_one(Need::List(list)).await {
                Answer::Listed(page) => page,
                other => return Err(unexpected(other)),
            };
            let listed = page
                .objects
                .first()
                .and_then(|it| names::ref_of_key(&it.key));
            let n = match (page.objects.first(), listed) {
                (_, Some((_, n))) => n,
                (Some(object), None) => {
                    let what = "no name of a ref entry";
                    return Err(Error::corrupt(what).of_object(&object.key));
                }
                // A list that lags may show nothing yet.
                (None, None) => 0,
            };
            newest_from(desk, branch, n).await
        }
    }
}

/// The newest ref entry of a branch, searched from number `n` on; `None` if that is not there.
pub(crate) async fn newest_from(desk: &Desk, branch: &str, n: u64) -> Result<Option<RefEntry>> {
    let numbers = [n, n.saturating_add(1)];
    let keys = numbers.map(|n| names::ref_key(branch, n));
    let keys = keys.into_iter().collect::<Result<Vec<_>, _>>()?;
    let needs = keys.iter().map(|key| Need::Get {
        key: key.clone(),
        bytes_max: limits::JSON_BYTES_MAX as u64,
    });
    let mut newest = None;
    let answers = desk.ask(needs.collect()).await;
    for ((answer, key), n) in answers.into_iter().zip(keys).zip(numbers) {
        match answer {
            Answer::Got(Some(bytes)) => {
                let entry = RefEntry::parse(&bytes, branch, n);
                newest = Some(entry.map_err(|error| Error::from(error).of_object(&key))?);
            }
            Answer::Got(None) => return Ok(newest),
            other => return Err(unexpected(other)),
        }
    }
    match newest {
        Some(newest) => newer(desk, branch, newest).await.map(Some),
        None => Ok(None),
    }
}

/// The object `TABLE`, and the number of the newest ref entry of a branch that a list shows, asked for at the same
/// time. A store without lists says no number.
pub(crate) async fn opened(desk: Desk, branch: &str) -> Result<(Option<Vec<u8>>, Option<u64>)> {
    let list = List::new(names::branch_prefix(branch)?).page_max(1);
    let needs = vec![
        Need::Get {
            key: names::TABLE_KEY.to_owned(),
            bytes_max: limits::JSON_BYTES_MAX as u64,
        },
        Need::List(list),
    ];
    let mut answers = desk.ask(needs).await.into_iter();
    let bytes = match answers.next() {
        Some(Answer::Got(bytes)) => bytes,
        other => return Err(unexpected(other.unwrap_or(Answer::Done))),
    };
    let first = match answers.next() {
        Some(Answer::Listed(page)) => page.objects.into_iter().next(),
        _ => None,
    };
    let listed = first.and_then(|it| names::ref_of_key(&it.key));
    Ok((bytes, listed.map(|(_, n)| n)))
}

/// The newest ref entry behind one that is known, searched entry by entry.
async fn newer(desk: &Desk, branch: &str, mut newest: RefEntry) -> Result<RefEntry> {
    while let Some(next) = newest.n.checked_add(1) {
        match entry(desk, branch, next).await? {
            Some(entry) => newest = entry,
            None => break,
        }
    }
    Ok(newest)
}

/// The newest ref entry of a branch that exists.
pub(crate) async fn head(desk: &Desk, branch: &str, known: Option<RefEntry>) -> Result<RefEntry> {
    let newest = newest(desk, branch, known).await?;
    let missing = || Error::not_found(format!("there is no branch `{}`", branch.escape_debug()));
    newest.filter(RefEntry::is_live).ok_or_else(missing)
}

/// Ref entries from `newest` down to number `end`, the newest first; `while_wanted` ends it earlier.
pub(crate) async fn back(
    desk: &Desk,
    branch: &str,
    newest: RefEntry,
    mut while_wanted: impl FnMut(&RefEntry) -> bool + Send,
) -> Result<Vec<RefEntry>> {
    let mut n = newest.n;
    let mut entries = Vec::new();
    if !while_wanted(&newest) {
        return Ok(entries);
    }
    entries.push(newest);
    while n > 0 {
        let first = n.saturating_sub(ENTRIES_AT_A_TIME);
        let keys = (first..n).rev().map(|n| names::ref_key(branch, n));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let needs = keys.iter().map(|key| Need::Get {
            key: key.clone(),
            bytes_max: limits::JSON_BYTES_MAX as u64,
        });
        let answers = desk.ask(needs.collect()).await;
        for ((answer, key), n) in answers.into_iter().zip(keys).zip((first..n).rev()) {
            let bytes = match answer {
                Answer::Got(Some(bytes)) => bytes,
                Answer::Got(None) => {
                    let what = "the ref entry is missing, but later ones are there";
                    return Err(Error::corrupt(what).of_object(&key));
                }
                other => return Err(unexpected(other)),
            };
            let entry = RefEntry::parse(&bytes, branch, n);
            let entry = entry.map_err(|error| Error::from(error).of_object(&key))?;
            if !while_wanted(&entry) {
                return Ok(entries);
            }
            entries.push(entry);
        }
        n = first;
    }
    Ok(entries)
}

/// A tag; `None` if there is none of that name.
pub(crate) async fn tag(desk: &Desk, tag: &str) -> Result<Option<Tag>> {
    let key = names::tag_key(tag)?;
    let bytes = get_json(desk, key.clone()).await?;
    let parsed = bytes.map(|bytes| Tag::parse(&bytes, tag)).transpose();
    parsed.map_err(|error| Error::from(error).of_object(&key))
}

/// A pin; `None` if there is none of that id.
pub(crate) async fn pin(desk: &Desk, id: &TxnId) -> Result<Option<Pin>> {
    let key = names::pin_key(id);
    let bytes = get_json(desk, key.clone()).await?;
    let parsed = bytes.map(|bytes| Pin::parse(&bytes, id)).transpose();
    parsed.map_err(|error| Error::from(error).of_object(&key))
}

/// Entry `n` of the policy; `None` if it is not there.
pub(crate) async fn policy_entry(desk: &Desk, n: u64) -> Result<Option<Policy>> {
    let key = names::policy_key(n);
    let bytes = get_json(desk, key.clone()).await?;
    let parsed = bytes.map(|bytes| Policy::parse(&bytes, n)).transpose();
    parsed.map_err(|error| Error::from(error).of_object(&key))
}

/// The newest entry of the policy; `None` for a table that has none.
pub(crate) async fn policy(desk: &Desk) -> Result<Option<Policy>> {
    // Most tables have none, which costs one request.
    let Some(first) = policy_entry(desk, 0).await? else {
        return Ok(None);
    };
    let list = List::new(names::POLICY_PREFIX).page_max(1);
    let page = match desk.ask_one(Need::List(list)).await {
        Answer::Listed(page) => page,
        other => return Err(unexpected(other)),
    };
    let mut newest = first;
    if let Some(object) = page.objects.first() {
        let bad = || Error::corrupt("no name of an entry of the policy").of_object(&object.key);
        let n = names::policy_of_key(&object.key).ok_or_else(bad)?;
        newest = policy_entry(desk, n).await?.unwrap_or(newest);
    }
    // A list may lag.
    while let Some(n) = newest.n.checked_add(1) {
        match policy_entry(desk, n).await? {
            Some(next) => newest = next,
            None => break,
        }
    }
    Ok(Some(newest))
}

/// All objects of a list, and its folders.
pub(crate) async fn list_all(
    desk: &Desk,
    list: List,
) -> Result<(Vec<tarsia_io::Listed>, Vec<String>)> {
    let (mut objects, mut folders) = (Vec::new(), Vec::new());
    let mut next = Some(list);
    while let Some(list) = next.take() {
        let page = match desk.ask_one(Need::List(list.clone())).await {
            Answer::Listed(page) => page,
            other => return Err(unexpected(other)),
        };
        objects.extend(page.objects);
        folders.extend(page.folders);
        if page.next.as_ref() == Some(&list) {
            let what = "the store returned the same page of a list twice";
            return Err(Error::new(ErrorKind::Store, what));
        }
        next = page.next;
    }
    Ok((objects, folders))
}

/// Names of all branches, deleted ones too.
pub(crate) async fn branches(desk: &Desk) -> Result<Vec<String>> {
    let (_, folders) = list_all(desk, List::new(names::HEADS_PREFIX).folders()).await?;
    let name = |folder: &String| {
        let name = folder
            .strip_prefix(names::HEADS_PREFIX)?
            .strip_suffix('/')?;
        names::decode_name(name).ok()
    };
    let mut names: Vec<_> = folders.iter().filter_map(name).collect();
    names.sort();
    Ok(names)
}

/// Names of all tags.
pub(crate) async fn tags(desk: &Desk) -> Result<Vec<String>> {
    let (objects, _) = list_all(desk, List::new(names::TAGS_PREFIX)).await?;
    let mut names: Vec<_> = objects
        .iter()
        .filter_map(|it| names::tag_of_key(&it.key))
        .collect();
    names.sort();
    Ok(names)
}
