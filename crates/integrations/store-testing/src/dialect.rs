//! The parts of S3's dialect that the server speaks: objects written whole, in parts and by condition, lists, deletes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};

use crate::state::{Fault, Object, Request, Shared, lock};

/// Status, headers and body.
pub(crate) type Answer = (u16, Vec<(&'static str, String)>, String);

/// Writes or deletes objects, or writes a part of an upload, as S3 does.
pub(crate) fn change(shared: &Shared, request: &Request, body: Vec<u8>, fault: Fault) -> Answer {
    let path = request.path();
    let etag = format!("\"{}-{}\"", body.len(), request.index);
    let id = request.query("uploadId").map(str::to_owned);
    let mut uploads = lock(&shared.uploads);
    match (request.method.as_str(), id) {
        // Under the lock of uploads, so of several creates one wins.
        ("PUT", None)
            if request.header("if-none-match") == Some("*")
                && fault != Fault::NoCondition
                && lock(&shared.objects).contains_key(&path) =>
        {
            let text = "<Error><Code>PreconditionFailed</Code></Error>";
            (412, Vec::new(), text.to_owned())
        }
        ("POST", None) if request.query("delete").is_some() => {
            (200, Vec::new(), delete(shared, &body))
        }
        ("POST", None) => {
            let id = format!("upload{}", request.index);
            uploads.insert(id.clone(), BTreeMap::new());
            let text = format!(
                "<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>k</Key>\
                 <UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
            );
            (200, Vec::new(), text)
        }
        ("PUT", Some(id)) => {
            let number = request.query("partNumber").and_then(|n| n.parse().ok());
            match (uploads.get_mut(&id), number) {
                (Some(parts), Some(number)) => {
                    parts.insert(number, Arc::new(body));
                    (200, vec![("etag", etag)], String::new())
                }
                _ => (404, Vec::new(), String::new()),
            }
        }
        ("POST", Some(id)) => match uploads.remove(&id) {
            Some(parts) => {
                let bytes: Vec<u8> = parts
                    .values()
                    .flat_map(|part| part.iter().copied())
                    .collect();
                let text = format!(
                    "<CompleteMultipartUploadResult><Location>l</Location><Bucket>b</Bucket>\
                     <Key>k</Key><ETag>{etag}</ETag></CompleteMultipartUploadResult>"
                );
                store(shared, path, bytes, etag);
                (200, Vec::new(), text)
            }
            None => (404, Vec::new(), String::new()),
        },
        ("DELETE", Some(id)) => match uploads.remove(&id) {
            Some(_) => (204, Vec::new(), String::new()),
            None => (404, Vec::new(), String::new()),
        },
        ("PUT", None) => {
            store(shared, path, body, etag.clone());
            (200, vec![("etag", etag)], String::new())
        }
        _ => (400, Vec::new(), String::new()),
    }
}

fn store(shared: &Shared, path: String, bytes: Vec<u8>, etag: String) {
    let object = Object {
        bytes: Arc::new(bytes),
        etag: Some(etag),
        // Writers compare the store's clock with theirs.
        last_modified: Some(Utc::now().format("%a, %d %b %Y %H:%M:%S GMT").to_string()),
    };
    lock(&shared.objects).insert(path, object);
}

/// The time of an object as lists have it.
fn listed_time(object: &Object) -> String {
    let time = object.last_modified.as_deref().unwrap_or_default();
    let time = DateTime::parse_from_rfc2822(time).unwrap_or_default();
    time.to_utc().to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Deletes the objects that a body names. Keys with characters that XML writes otherwise are not for this server.
fn delete(shared: &Shared, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let keys: Vec<&str> = between(&text, "<Key>", "</Key>");
    let mut objects = lock(&shared.objects);
    objects.retain(|path, _| !key_of(path).is_some_and(|key| keys.contains(&key.as_str())));
    let deleted: String = (keys.iter())
        .map(|key| format!("<Deleted><Key>{key}</Key></Deleted>"))
        .collect();
    format!("<DeleteResult>{deleted}</DeleteResult>")
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    let parts = text.split(start).skip(1);
    parts
        .filter_map(|part| Some(part.split_once(end)?.0))
        .collect()
}

/// The key of an object of the bucket `bucket`.
fn key_of(path: &str) -> Option<String> {
    Some(decoded(path.strip_prefix("/bucket/")?))
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        (rest, bytes) = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
                bytes.push(digit(*high) * 16 + digit(*low));
                (after, bytes)
            }
            (b'+', after) => {
                bytes.push(b' ');
                (after, bytes)
            }
            (byte, after) => {
                bytes.push(*byte);
                (after, bytes)
            }
        };
    }
    String::from_utf8(bytes).unwrap()
}

/// A page of a list. The token is the entry that was last.
pub(crate) fn page(shared: &Shared, request: &Request, is_backwards: bool) -> String {
    let query = |name| request.query(name).map(decoded).unwrap_or_default();
    let (prefix, delimiter) = (query("prefix"), query("delimiter"));
    let start = query("start-after").max(query("continuation-token"));
    let page_max: usize = query("max-keys").parse().unwrap_or(1_000);
    let objects = lock(&shared.objects);
    let mut keys: Vec<(String, &Object)> = (objects.iter())
        .filter_map(|(path, object)| Some((key_of(path)?, object)))
        .filter(|(key, _)| key.starts_with(&prefix))
        .collect();
    keys.sort_by(|one, other| one.0.cmp(&other.0));
    let mut entries = Vec::new();
    let mut folders = BTreeSet::new();
    for (key, object) in keys {
        let rest = &key[prefix.len()..];
        let folder = rest.find('/').filter(|_| delimiter == "/");
        let folder = folder.map(|at| key[..prefix.len() + at + 1].to_owned());
        let name = folder.clone().unwrap_or_else(|| key.clone());
        if key <= start || name == start || folder.is_some_and(|it| !folders.insert(it)) {
            continue;
        }
        let text = match name.ends_with('/') {
            true => format!("<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>"),
            false => format!(
                "<Contents><Key>{name}</Key><LastModified>{}</LastModified>\
                 <ETag>{}</ETag><Size>{}</Size></Contents>",
                listed_time(object),
                object
                    .etag
                    .as_deref()
                    .unwrap_or_default()
                    .replace('"', "&quot;"),
                object.bytes.len(),
            ),
        };
        entries.push((name, text));
    }
    let token = match entries.get(page_max..) {
        Some([_, ..]) => {
            let last = &entries[page_max - 1].0;
            format!("<NextContinuationToken>{last}</NextContinuationToken>")
        }
        _ => String::new(),
    };
    entries.truncate(page_max);
    if is_backwards {
        entries.reverse();
    }
    let texts: String = entries.into_iter().map(|(_, text)| text).collect();
    format!("<ListBucketResult><Name>bucket</Name>{texts}{token}</ListBucketResult>")
}
