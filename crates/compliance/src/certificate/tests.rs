use serde_json::Value;

use super::*;

/// The key of RFC 8032, section 7.1, test 1.
const SECRET: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

fn certificate() -> Certificate {
    let block = ChangedBlock {
        page: 3,
        shared: false,
        block: 17,
        place: 4096,
        bytes: 8192,
        before: Hex([7; 32]),
        after: Hex([8; 32]),
        moved: true,
    };
    let rows = |text: &str| text.parse::<RowRanges>().unwrap();
    Certificate {
        kind: CertificateKind::Erasure,
        version: CERTIFICATE_VERSION,
        file: "users \"ü\".tarsia".into(),
        file_id: Hex([1; 16]),
        time: "2026-01-31T12:00:00.25Z".into(),
        note: Some("request 4711\u{1b}[31m\u{202e}".into()),
        level: 2,
        rows: CertifiedRows {
            asked: rows("10..13,42"),
            newly_deleted: rows("10..12"),
            erased_now: rows("10..13"),
            erased_before: rows("42"),
        },
        deleted_after: RowCount {
            count: u64::MAX,
            digest: Hex([2; 32]),
        },
        erased_after: RowCount {
            count: 4,
            digest: Hex([3; 32]),
        },
        old_root: Some(Hex([4; 32])),
        new_root: Hex([5; 32]),
        old_epoch: 1,
        new_epoch: 3,
        format_version: "0.1".into(),
        library: "tarsia 0.1.0".into(),
        columns: vec![
            CertificateColumn {
                leaf: 0,
                name: "email".into(),
                level: 2,
                holds_values: false,
                blocks: vec![
                    block,
                    ChangedBlock {
                        shared: true,
                        moved: false,
                        ..block
                    },
                ],
            },
            CertificateColumn {
                leaf: 1,
                name: "address.\u{2066}city".into(),
                level: 1,
                holds_values: true,
                blocks: vec![],
            },
        ],
        dropped_sections: vec![DroppedSection { id: 9, bytes: 128 }],
        signature: None,
    }
}

fn secret() -> SecretKey {
    SecretKey::parse(SECRET.as_bytes()).unwrap()
}

fn signed() -> Certificate {
    let mut certificate = certificate();
    certificate.sign(&secret()).unwrap();
    certificate
}

#[test]
fn a_signed_certificate_survives_a_round_trip() {
    assert_eq!(certificate().verify_signature(), Ok(Signed::No));
    for certificate in [certificate(), signed()] {
        let text = certificate.to_json().unwrap();
        let again = Certificate::parse(text.as_bytes()).unwrap();
        assert_eq!(again, certificate);
        assert_eq!(again.to_json().unwrap(), text);
    }
    let public = secret().public_key();
    assert_eq!(public.to_string(), PUBLIC);
    assert_eq!(signed().verify_signature(), Ok(Signed::By(public)));
    // A second signature is over the same bytes, and replaces the first one.
    let mut twice = signed();
    let other = SecretKey::parse(&[9; 32]).unwrap();
    twice.sign(&other).unwrap();
    assert_eq!(twice.verify_signature(), Ok(Signed::By(other.public_key())));
    twice.sign(&secret()).unwrap();
    assert_eq!(twice, signed());
}

#[test]
fn the_signature_is_over_compact_json_in_the_order_of_fields() {
    let mut short = certificate();
    short.columns.clear();
    short.note = None;
    let text = String::from_utf8(short.signed_bytes().unwrap()).unwrap();
    let [one, two, three, four, five] = [1, 2, 3, 4, 5].map(|n: u8| Hex([n; 32]));
    let id = Hex([1; 16]);
    assert_eq!(one.to_string(), id.to_string().repeat(2));
    assert_eq!(
        text,
        format!(
            "{{\"kind\":\"tarsia erasure certificate\",\"version\":2,\"file\":\"users \\\"ü\\\".tarsia\",\
             \"file_id\":\"{id}\",\"time\":\"2026-01-31T12:00:00.25Z\",\"level\":2,\
             \"rows\":{{\"asked\":{{\"count\":4,\"rows\":\"10..13,42\"}},\
             \"newly_deleted\":{{\"count\":2,\"rows\":\"10..12\"}},\
             \"erased_now\":{{\"count\":3,\"rows\":\"10..13\"}},\
             \"erased_before\":{{\"count\":1,\"rows\":\"42\"}}}},\
             \"deleted_after\":{{\"count\":18446744073709551615,\"digest\":\"{two}\"}},\
             \"erased_after\":{{\"count\":4,\"digest\":\"{three}\"}},\
             \"old_root\":\"{four}\",\"new_root\":\"{five}\",\
             \"old_epoch\":1,\"new_epoch\":3,\"format_version\":\"0.1\",\"library\":\"tarsia 0.1.0\",\
             \"columns\":[],\"dropped_sections\":[{{\"id\":9,\"bytes\":128}}]}}"
        )
    );
    short.sign(&secret()).unwrap();
    assert_eq!(short.signed_bytes().unwrap(), text.into_bytes());
}

/// Every document that differs from this one in one leaf, one item of a list or one optional field.
fn changed(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| {
                let name = name.clone();
                let with = move |value| {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), value);
                    Value::Object(fields)
                };
                changed(value).into_iter().map(with)
            })
            .chain(fields.keys().map(|name| {
                let mut fields = fields.clone();
                fields.remove(name);
                Value::Object(fields)
            }))
            .collect(),
        Value::Array(items) => {
            let mut all: Vec<Vec<Value>> = Vec::new();
            for (i, item) in items.iter().enumerate() {
                let with = |value| {
                    let mut items = items.clone();
                    items[i] = value;
                    items
                };
                all.extend(changed(item).into_iter().map(with));
                let mut without = items.clone();
                without.remove(i);
                all.push(without);
                let mut repeated = items.clone();
                repeated.insert(i, item.clone());
                all.push(repeated);
            }
            all.into_iter().map(Value::Array).collect()
        }
        Value::Bool(value) => vec![(!value).into()],
        Value::Number(n) => vec![(n.as_u64().unwrap() ^ 1).into()],
        Value::String(text) => (0..text.chars().count())
            .map(|at| {
                let other = |(i, c): (usize, char)| match c {
                    _ if i != at => c,
                    '0' => '1',
                    _ => '0',
                };
                text.chars()
                    .enumerate()
                    .map(other)
                    .collect::<String>()
                    .into()
            })
            .collect(),
        Value::Null => vec![],
    }
}

#[test]
fn every_change_breaks_the_signature() {
    let document = serde_json::to_value(signed()).unwrap();
    let (mut read, mut refused) = (0, 0);
    for other in changed(&document) {
        assert_ne!(other, document);
        let Ok(certificate) = Certificate::parse(other.to_string().as_bytes()) else {
            refused += 1;
            continue;
        };
        read += 1;
        if certificate.signature.is_some() {
            let found = certificate.verify_signature();
            assert_eq!(found, Err(CertificateError::Signature), "{other}");
        }
    }
    assert!(read > 800 && refused > 50, "{read} {refused}");
}

#[test]
fn a_certificate_of_another_key_is_refused() {
    let mut mixed = signed();
    let other = SecretKey::parse(&[9; 32]).unwrap();
    if let Some(signature) = &mut mixed.signature {
        signature.public_key = other.public_key().bytes();
    }
    assert_eq!(mixed.verify_signature(), Err(CertificateError::Signature));
    // A key of small order, for which all-zero signatures suit many messages.
    if let Some(signature) = &mut mixed.signature {
        signature.public_key = Hex([0; 32]);
        signature.public_key.0[0] = 1;
        signature.value = Hex([0; 64]);
        signature.value.0[0] = 1;
    }
    assert_eq!(mixed.verify_signature(), Err(CertificateError::Signature));
}

#[test]
fn what_is_no_certificate_is_refused() {
    let text = signed().to_json().unwrap();
    let refused = |from: &str, to: &str| {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        Certificate::parse(changed.as_bytes()).unwrap_err()
    };
    for (from, to, what) in [
        (
            "\"level\": 2",
            "\"level\": 2, \"size\": 1",
            "unknown field `size`",
        ),
        (
            "\"level\": 2",
            "\"level\": 2, \"level\": 2",
            "duplicate field `level`",
        ),
        (
            "\"level\": 2",
            "\"level\": 3",
            "field `level`: neither 1 nor 2",
        ),
        (
            "\"level\": 2",
            "\"level\": 0",
            "field `level`: neither 1 nor 2",
        ),
        ("\"level\": 2", "\"level\": 256", "invalid value"),
        ("\"level\": 1", "\"level\": 7", "field `columns`"),
        ("\"count\": 4", "\"count\": -4", "invalid value"),
        ("\"count\": 4", "\"count\": 4.5", "invalid type"),
        ("\"count\": 4", "\"count\": 5", "4 rows, and not 5"),
        ("10..13,42", "10..13,42..43", "`42..43` is no row"),
        ("10..13,42", "11..14,42", "some that were not asked for"),
        ("\"level\": 2", "\"level\": 1", "erased at level 1"),
        (
            "\"version\": 2",
            "\"version\": 1, \"old\": []",
            "a certificate of version 1",
        ),
        (
            "\"version\": 2",
            "\"version\": 3, \"new\": []",
            "a certificate of version 3",
        ),
        ("\"new_epoch\": 3", "\"new_epoch\": 0", "field `new_epoch`"),
        ("\"new_epoch\": 3", "\"new_epoch\": 1", "field `new_root`"),
        ("tarsia erasure", "other erasure", "unknown variant"),
        ("ed25519", "rsa", "unknown variant"),
        ("0101", "010", "not 32 lower-case hexadecimal digits"),
        ("0707", "07AA", "not 64 lower-case hexadecimal digits"),
        (".25Z", "+02:00", "field `time`"),
        (".25Z", ".Z", "field `time`"),
        ("2026-01", "2026/01", "field `time`"),
    ] {
        let found = refused(from, to).to_string();
        assert!(found.contains(what), "{from} {to}: {found}");
    }
    let longer = Certificate::parse(format!("{text}x").as_bytes());
    let longer = longer.unwrap_err().to_string();
    assert!(longer.contains("trailing characters"), "{longer}");
    for bytes in [&b""[..], b"null", b"[]", b"\xff", &b"[".repeat(1 << 20)] {
        let found = Certificate::parse(bytes).unwrap_err();
        assert!(matches!(found, CertificateError::Json { .. }), "{found}");
    }
    for end in 0..text.trim_end().len() {
        assert!(Certificate::parse(&text.as_bytes()[..end]).is_err());
    }
    let mut wrong = certificate();
    wrong.time = "yesterday".into();
    assert!(wrong.to_json().is_err() && wrong.sign(&secret()).is_err());
}

#[test]
fn sets_of_rows_that_contradict_each_other_are_refused() {
    type Change = fn(&mut CertifiedRows);
    let changes: [(&str, Change); 4] = [
        ("none were asked for", |rows| {
            *rows = CertifiedRows {
                asked: RowRanges::default(),
                newly_deleted: RowRanges::default(),
                erased_now: RowRanges::default(),
                erased_before: RowRanges::default(),
            };
        }),
        ("some that were not asked for", |rows| {
            rows.newly_deleted = "9..11".parse().unwrap();
        }),
        ("erased now and before", |rows| {
            rows.erased_before = "11,42".parse().unwrap();
        }),
        ("not erased at level 2", |rows| {
            rows.erased_before = RowRanges::default();
        }),
    ];
    for (what, change) in changes {
        let mut wrong = certificate();
        change(&mut wrong.rows);
        let error = wrong.to_json().unwrap_err().to_string();
        assert!(error.contains(what), "{what}: {error}");
    }
    let mut same = certificate();
    (same.new_epoch, same.new_root) = (same.old_epoch, same.old_root.unwrap());
    let error = same.to_json().unwrap_err().to_string();
    assert!(error.contains("a file that did not change"), "{error}");
    same.rows.newly_deleted = RowRanges::default();
    same.rows.erased_now = RowRanges::default();
    same.rows.erased_before = same.rows.asked.clone();
    same.to_json().unwrap();
}

#[test]
fn people_read_what_happened() {
    let text = signed().to_text();
    assert!(text.contains("request 4711\\u{1b}[31m\\u{202e}"), "{text}");
    assert!(!text.chars().any(|c| is_unprintable(c) && c != '\n'));
    for line in [
        "level            2: rows were deleted, and erased from some of the columns",
        "asked for        4 rows: 10..13,42",
        "newly deleted    2 rows: 10..12",
        "erased now       3 rows: 10..13",
        "erased before    1 row: 42",
        "holds values     column `address.\\u{2066}city` (level 1) still holds the values of these rows",
        "column           email: level 2, 1 blocks of data and 1 of shared pages changed, 1 moved",
        "deleted after    18446744073709551615 rows of the file",
        "section dropped  9, 128 bytes",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
    assert!(text.contains(PUBLIC));
    assert!(certificate().to_text().ends_with("signature        none\n"));
    let mut hidden = certificate();
    hidden.level = 1;
    hidden.rows.erased_now = RowRanges::default();
    let text = hidden.to_text();
    assert!(
        text.contains("their values are still in the file"),
        "{text}"
    );
    for claim in ["rows erased", "erased in all"] {
        assert!(!text.contains(claim), "{text}");
    }
}

/// The example of `docs/spec/certificate.md`; with `TARSIA_BLESS` it is written.
#[test]
fn the_example_of_the_specification_is_a_signed_certificate() {
    const START: &str = "<!-- generated: certificate -->\n";
    const END: &str = "<!-- end -->\n";
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/spec/certificate.md"
    );
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(START).unwrap();
    let (example, after) = rest.split_once(END).unwrap();
    let mut made = certificate();
    made.file = "users.tarsia".into();
    made.note = Some("request 4711".into());
    made.columns[1].name = "address.city".into();
    made.deleted_after.count = 60;
    made.sign(&secret()).unwrap();
    let text = made.to_json().unwrap();
    let expect = format!("```json\n{text}```\n");
    if std::env::var_os("TARSIA_BLESS").is_some() {
        let page = [before, START, &expect, END, after].concat();
        std::fs::write(path, page).unwrap();
        return;
    }
    assert_eq!(example, expect);
    assert_eq!(Certificate::parse(text.as_bytes()), Ok(made));
}
