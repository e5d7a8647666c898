//! Files that are not what their names say: compressed ones, and text that is not UTF-8.

use std::fs::File;
use std::io::{Read, Seek};

use crate::{Error, Format};

/// The bytes that are looked at.
const START_BYTES: u64 = 10;

/// Refuses a file that is recognised by its first bytes, and leaves it at its start.
///
/// # Errors
/// Says what the file is, and what to do about it.
pub(super) fn check(file: &mut File, format: Format) -> Result<(), Error> {
    let mut start = Vec::new();
    let text = |error: std::io::Error| error.to_string();
    Read::take(&mut *file, START_BYTES)
        .read_to_end(&mut start)
        .map_err(text)?;
    file.rewind().map_err(text)?;
    what_to_do(&start, format).map_or(Ok(()), |what| Err(what.into()))
}

fn what_to_do(start: &[u8], format: Format) -> Option<String> {
    if let Some(name) = compression(start) {
        return Some(format!(
            "the file is compressed with {name}: decompress it first"
        ));
    }
    if let [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] = start {
        return Some("the file is a ZIP archive: take the table out of it first".to_owned());
    }
    let encoding = match start {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => "UTF-32",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16",
        _ => return None,
    };
    let is_text = matches!(format, Format::Csv | Format::JsonLines);
    is_text.then(|| format!("the file is {encoding} text: convert it to UTF-8 first"))
}

/// The program whose files begin so. No file of a known format does.
fn compression(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x1f, 0x8b, ..] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some("LZ4"),
        // Behind the size comes the mark of a block, or of the end.
        [b'B', b'Z', b'h', b'1'..=b'9', mark @ ..]
            if mark.starts_with(b"1AY&SY") || mark.starts_with(b"\x17\x72\x45\x38\x50\x90") =>
        {
            Some("bzip2")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_of_files() {
        let all = |start: &[u8]| {
            let formats = [
                Format::Csv,
                Format::JsonLines,
                Format::Parquet,
                Format::Arrow,
            ];
            let found = formats.map(|format| what_to_do(start, format));
            assert!(found.iter().all(|what| *what == found[0]), "{found:?}");
            found[0].clone()
        };
        let compressed = |name: &str| {
            Some(format!(
                "the file is compressed with {name}: decompress it first"
            ))
        };
        assert_eq!(all(b"\x1f\x8b\x08\x00"), compressed("gzip"));
        assert_eq!(all(b"\x28\xb5\x2f\xfd\x04"), compressed("zstd"));
        assert_eq!(all(b"\xfd7zXZ\0\0\x04"), compressed("xz"));
        assert_eq!(all(b"\x04\x22\x4d\x18\x60"), compressed("LZ4"));
        assert_eq!(all(b"BZh91AY&SY\x01"), compressed("bzip2"));
        assert_eq!(all(b"BZh1\x17\x72\x45\x38\x50\x90"), compressed("bzip2"));
        let archive = "the file is a ZIP archive: take the table out of it first";
        assert_eq!(all(b"PK\x03\x04\x14").as_deref(), Some(archive));
        for fine in [
            &b""[..],
            b"\x1f",
            b"BZh",
            b"BZh9",
            b"BZhx1AY&SY",
            b"PK,a\n1,2\n",
            b"PAR1\x15\x04",
            b"ARROW1\0\0",
            b"\xff\xff\xff\xff\x78",
            b"{\"a\":1}",
            b"\xef\xbb\xbfa",
        ] {
            assert_eq!(all(fine), None, "{fine:?}");
        }
        let text = |start: &[u8]| what_to_do(start, Format::Csv);
        let convert = |name: &str| {
            Some(format!(
                "the file is {name} text: convert it to UTF-8 first"
            ))
        };
        assert_eq!(text(b"\xff\xfea\0"), convert("UTF-16"));
        assert_eq!(text(b"\xfe\xff\0a"), convert("UTF-16"));
        assert_eq!(text(b"\xff\xfe\0\0a\0\0\0"), convert("UTF-32"));
        assert_eq!(what_to_do(b"\xff\xfea\0", Format::Arrow), None);
    }
}
