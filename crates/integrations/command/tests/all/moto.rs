//! Files on S3, as `moto_server` understands its dialect.

use tarsia_store_testing::Moto;

use crate::run::{Folder, csv, csv_of_parts};

#[test]
fn files_are_written_in_parts_and_read() {
    let Some(moto) = Moto::start() else { return };
    let folder = Folder::new().of_endpoint(moto.endpoint());
    std::fs::write(folder.path("t.csv"), csv_of_parts()).unwrap();
    let import = |to: &str| {
        folder
            .run(&["import", "t.csv", to, "--preset", "fast"])
            .ok()
    };
    import("t.tarsia");
    assert!(folder.bytes("t.tarsia").len() > 17 << 20);
    let url = "s3://bucket/day=1/t ü%.tarsia";
    import(url);
    assert!(!moto.ask("GET /bucket?uploads").contains("<UploadId>"));
    for args in [
        &["schema", "FILE"][..],
        &["head", "FILE"],
        &["take", "FILE", "--rows", "559999,3"],
        &["scan", "FILE", "--count"],
        &["scan", "FILE", "--rows", "300000..300100", "--json"],
        &["verify", "FILE"],
        &["export", "FILE", "-", "--format", "csv"],
    ] {
        let on = |file: &str| {
            let args: Vec<_> = args
                .iter()
                .map(|it| if *it == "FILE" { file } else { it })
                .collect();
            folder.run(&args).done()
        };
        assert!(on("t.tarsia") == on(url), "{args:?}");
    }
    let done = folder.run(&["inspect", url, "--json"]).ok();
    let document: serde_json::Value = serde_json::from_str(&done).unwrap();
    assert_eq!(document["file"]["rows"], 560_000);
    let line = folder.run(&["head", "s3://bucket/none"]).fails(1);
    assert_eq!(line, "error: s3://bucket/none: not found\n");
    let line = folder.run(&["head", "s3://none/none"]).fails(1);
    assert!(
        line.starts_with("error: s3://none/none: not found"),
        "{line}"
    );
}

#[test]
fn an_import_that_fails_leaves_no_parts() {
    let Some(moto) = Moto::start() else { return };
    let folder = Folder::new().of_endpoint(moto.endpoint());
    std::fs::write(folder.path("t.csv"), csv(1_200_000) + "x,y,z\n").unwrap();
    let import = [
        "import",
        "t.csv",
        "s3://bucket/t.tarsia",
        "--preset",
        "fast",
    ];
    folder.run(&import).fails(1);
    assert!(!moto.ask("GET /bucket?uploads").contains("<UploadId>"));
    let line = folder.run(&["head", "s3://bucket/t.tarsia"]).fails(1);
    assert_eq!(line, "error: s3://bucket/t.tarsia: not found\n");
}
