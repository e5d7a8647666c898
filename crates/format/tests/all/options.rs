//! Options of writers and readers for encodings, trees and kernels.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema};
use tarsia::codec::{LogicalType, Statistics};
use tarsia::{
    ColumnOptions, EmbedKernels, ErrorKind, Kernel, KernelEncoding, OpenOptions, PageChooser,
    Preset, Registry, Tree, WriteOptions, Writer,
};
use tarsia_page_writer::{Choice, Choose};

fn table() -> RecordBatch {
    let fields = Fields::from(vec![Field::new("at", DataType::Int64, false)]);
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("name", DataType::Utf8, false),
        Field::new("event", DataType::Struct(fields.clone()), false),
    ]);
    let ids = Int64Array::from_iter_values((0..5000).map(|i| i % 7));
    let names = StringArray::from_iter_values((0..5000).map(|i| format!("name {}", i % 11)));
    let times = Arc::new(Int64Array::from_iter_values((0..5000).map(|i| i * 1000)));
    let events = StructArray::new(fields, vec![times], None);
    let columns: Vec<Arc<dyn arrow_array::Array>> =
        vec![Arc::new(ids), Arc::new(names), Arc::new(events)];
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn write(options: WriteOptions) -> tarsia::Result<(tarsia::WriteSummary, tempfile::TempPath)> {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    let batch = table();
    let mut writer = Writer::create(&path, batch.schema(), options)?;
    writer.write(&batch)?;
    Ok((writer.finish()?, path))
}

fn trees(path: &std::path::Path, column: &str) -> Vec<String> {
    let file = tarsia::File::open(path).unwrap();
    assert_eq!(file.take(&[4999, 3]).read().unwrap(), {
        let indices = arrow_array::UInt64Array::from(vec![4999, 3]);
        arrow_select::take::take_record_batch(&table(), &indices).unwrap()
    });
    let inspected = file.inspect_columns(column).unwrap();
    inspected[0]
        .trees
        .iter()
        .map(|(tree, _)| tree.clone())
        .collect()
}

fn plain() -> Tree {
    Tree::leaf("tarsia.plain", tarsia::codec::Version::new(1, 0), &[])
}

#[test]
fn a_column_has_the_tree_or_the_preset_that_its_options_name() {
    let tree = |tree| ColumnOptions::new().with_tree(tree);
    let options = WriteOptions::new()
        .with_column("id", tree(plain()))
        .with_column("event.at", tree(plain()))
        .with_column("name", ColumnOptions::new().with_preset(Preset::Compact));
    let (_, path) = write(options).unwrap();
    assert_eq!(trees(&path, "id"), ["plain"]);
    assert_eq!(trees(&path, "event"), ["plain"]);
    assert!(trees(&path, "name")[0].starts_with("dict"));
    let (_, path) = write(WriteOptions::default()).unwrap();
    assert_eq!(trees(&path, "id"), ["bitpack"]);
    assert_eq!(trees(&path, "event"), ["sequence"]);
}

#[test]
fn options_for_no_column_and_trees_that_cannot_be_are_refused() {
    let with = |name: &str, tree: Tree| {
        WriteOptions::new().with_column(name, ColumnOptions::new().with_tree(tree))
    };
    let error = write(with("idd", plain())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSuchColumn);
    assert!(error.to_string().contains("idd"), "{error}");
    let unknown = Tree::leaf("org.example.nobody", tarsia::codec::Version::new(1, 0), &[]);
    assert_eq!(
        write(with("id", unknown)).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    // Of a type that the encoding does not hold, or without the child it needs.
    let error = write(with("name", plain())).unwrap_err();
    assert!(error.to_string().contains("name"), "{error}");
    let childless = Tree::leaf("tarsia.delta", tarsia::codec::Version::new(1, 0), &[]);
    assert!(write(with("id", childless)).is_err());
}

/// Plain values, whatever they are.
struct Nothing(Registry);

impl Choose for Nothing {
    fn choose(&self, values: &Statistics<'_>) -> tarsia::codec::Result<Choice> {
        let chooser =
            tarsia_cascade::Chooser::new(Arc::new(self.0.clone()), tarsia_cascade::Objective::Fast);
        assert_ne!(values.facts().logical_type, LogicalType::Unknown);
        Ok(Choice {
            trees: vec![chooser.fallback(values.values().value_type())?],
            bytes: values.values().decoded_bytes(),
            uniform: true,
            block_bytes: tarsia_page_writer::BLOCK_PAYLOAD_BYTES_TARGET,
        })
    }
}

#[test]
fn a_policy_of_ones_own_chooses() {
    let nothing = Nothing(Registry::clone(tarsia::registry()));
    let chooser = PageChooser::new(Arc::new(nothing));
    let (_, path) = write(WriteOptions::new().with_chooser(chooser)).unwrap();
    assert_eq!(trees(&path, "id"), ["plain"]);
    assert_eq!(trees(&path, "name"), ["bytes(plain)"]);
}

#[test]
fn pages_that_no_kernel_decodes_are_an_error_unless_kernels_are_left_out() {
    // An encoding that the kernels know under another version only.
    let (summary, _) = write(WriteOptions::default()).unwrap();
    assert_eq!(summary.kernels, ["nested"]);
    assert!(summary.kernel_bytes > 10_000);
    let (summary, path) =
        write(WriteOptions::new().with_embed_kernels(EmbedKernels::Omit)).unwrap();
    assert!(summary.kernels.is_empty() && summary.kernel_bytes == 0);
    let inspection = tarsia::File::open(&path).unwrap().inspect().unwrap();
    assert!(inspection.kernels.is_empty());
}

#[test]
fn a_smaller_kernel_that_decodes_everything_is_the_one_that_is_embedded() {
    // It is not run here: only what it says of itself counts.
    let mut encodings: Vec<KernelEncoding> = tarsia_kernels_encodings();
    encodings.sort();
    let mine = Kernel {
        name: "mine".into(),
        digest: [7; 32],
        raw_bytes: 2000,
        compressed: vec![1; 1000].into(),
        nested: true,
        encodings: encodings.into(),
    };
    let (summary, path) = write(WriteOptions::new().with_kernel(Arc::new(mine))).unwrap();
    assert_eq!(summary.kernels, ["mine"]);
    let file = tarsia::File::open(&path).unwrap();
    let inspected = file.inspect().unwrap().kernels;
    assert_eq!(inspected.len(), 1);
    assert_eq!((inspected[0].digest, &inspected[0].name), ([7; 32], &None));
    assert_eq!(inspected[0].descriptions.0, inspected[0].descriptions.1);
    // A reader without the encodings is told what to pass, if it could run the kernel at all.
    let empty = OpenOptions::new().with_registry(Arc::default());
    let error = tarsia::File::open_with(&path, empty)
        .and_then(|file| file.take(&[0]).read())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let advice = match cfg!(feature = "kernels") {
        true => format!("--trust-kernel {}", "07".repeat(32)),
        false => "runs no kernels".to_owned(),
    };
    assert!(error.to_string().contains(&advice), "{error}");
}

fn tarsia_kernels_encodings() -> Vec<KernelEncoding> {
    let encodings = tarsia::registry().encodings().iter();
    encodings
        .map(|it| KernelEncoding::new(it.id(), it.version().major, it.version().minor))
        .collect()
}

/// The names of options are those of projections: a scan of a name reads just the columns that the options are of.
#[test]
fn options_find_fields_by_the_names_that_scans_take() {
    use tarsia::ErasureLevel;

    let text = |name: &str, nullable| Field::new(name, DataType::Utf8, nullable);
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let numbers = Field::new("ids", DataType::List(item), true);
    let inner: Fields = vec![text("city", true), numbers].into();
    let user = Field::new("user", DataType::Struct(inner), true);
    let entries: Fields = vec![text("key", false), text("value", true)].into();
    let entries = Field::new("entries", DataType::Struct(entries), false);
    let tags = Field::new("tags", DataType::Map(Arc::new(entries), false), true);
    let schema = Arc::new(Schema::new(vec![user, tags]));
    let batch = RecordBatch::new_empty(schema.clone());
    let levels = |names: &[(&str, ErasureLevel)]| {
        let mut options = WriteOptions::new().with_erasure(ErasureLevel::Immutable);
        for (name, level) in names {
            options = options.with_column(*name, ColumnOptions::new().with_erasure(*level));
        }
        let mut writer = tarsia::Writer::new(Vec::new(), schema.clone(), options)?;
        writer.write(&batch)?;
        let file = tarsia::File::from_bytes(writer.finish_into()?.0, OpenOptions::new())?;
        for (name, _) in names {
            file.scan().columns(&[name]).build()?;
        }
        let audit = file.audit()?.columns;
        let erased = audit.iter().filter(|it| it.level == ErasureLevel::Erase);
        Ok::<_, tarsia::Error>(erased.map(|it| it.name.clone()).collect::<Vec<_>>())
    };
    let two = ErasureLevel::Erase;
    for (name, leaves) in [
        ("tags.key", &["tags.entries.key"][..]),
        ("tags.entries.key", &["tags.entries.key"]),
        ("tags.value", &["tags.entries.value"]),
        ("tags.entries", &["tags.entries.key", "tags.entries.value"]),
        ("tags", &["tags.entries.key", "tags.entries.value"]),
        ("user.ids", &["user.ids.item"]),
        ("user.ids.item", &["user.ids.item"]),
        ("user", &["user.city", "user.ids.item"]),
    ] {
        assert_eq!(levels(&[(name, two)]).unwrap(), leaves, "{name}");
    }
    let one = ErasureLevel::Hide;
    for closer in ["tags.key", "tags.entries.key"] {
        let names = [("tags", two), (closer, one)];
        assert_eq!(levels(&names).unwrap(), ["tags.entries.value"], "{closer}");
    }
    for missing in ["tags.keys", "tags.key.x", "user.item", "key", "tags."] {
        assert!(levels(&[(missing, two)]).is_err(), "{missing}");
    }
}
