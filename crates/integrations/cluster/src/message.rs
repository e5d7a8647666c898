//! Messages beside Ballista's own. Each begins with a mark, by which they are told apart.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion_proto::protobuf::{ArrowType, FileScanExecConf, PhysicalExprNode};
use prost::Message;
use tarsia_datafusion::TablePlace;

/// The front of each message, and the version of what follows. Ballista's own messages begin with the key of a field,
/// which is never zero.
const MARK: &[u8] = b"\0tarsia\x01";

/// A scan of files or of a table.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ScanNode {
    /// All that scans of every format have.
    #[prost(message, optional, tag = "1")]
    pub(crate) config: Option<FileScanExecConf>,
    /// Conditions that all must be true.
    #[prost(message, repeated, tag = "2")]
    pub(crate) filters: Vec<PhysicalExprNode>,
    #[prost(bool, tag = "3")]
    pub(crate) pushdown: bool,
    #[prost(message, optional, tag = "4")]
    pub(crate) table: Option<TableNode>,
}

/// A commit of a table.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TableNode {
    /// A folder, or a URL.
    #[prost(string, tag = "1")]
    pub(crate) place: String,
    #[prost(string, tag = "2")]
    pub(crate) commit: String,
}

/// A table of files.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FilesNode {
    /// URLs of files and folders.
    #[prost(string, repeated, tag = "1")]
    pub(crate) paths: Vec<String>,
    #[prost(string, tag = "2")]
    pub(crate) file_extension: String,
    #[prost(bool, tag = "3")]
    pub(crate) pushdown: bool,
    #[prost(message, repeated, tag = "4")]
    pub(crate) partition_columns: Vec<PartitionColumn>,
}

/// A column whose values are in the names of folders.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PartitionColumn {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) data_type: Option<ArrowType>,
}

/// A table of a statement.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProviderNode {
    #[prost(oneof = "Provider", tags = "1, 2")]
    pub(crate) provider: Option<Provider>,
}

/// Kinds of tables.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Provider {
    #[prost(message, tag = "1")]
    Files(FilesNode),
    #[prost(message, tag = "2")]
    Table(TableNode),
}

impl From<TablePlace> for TableNode {
    fn from(place: TablePlace) -> Self {
        let TablePlace { place, commit, .. } = place;
        // A folder of the client is named as every machine has to name it.
        let place = match place.contains("://") {
            true => place,
            false => std::path::absolute(&place)
                .map_or(place, |path| path.to_string_lossy().into_owned()),
        };
        Self { place, commit }
    }
}

impl From<TableNode> for TablePlace {
    fn from(node: TableNode) -> Self {
        Self::new(node.place, node.commit)
    }
}

impl PartitionColumn {
    pub(crate) fn new(name: &str, data_type: &DataType) -> Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            data_type: Some(data_type.try_into()?),
        })
    }

    pub(crate) fn field(&self) -> Result<Arc<Field>> {
        let missing = || internal_datafusion_err!("a partition column has no type");
        let data_type = self.data_type.as_ref().ok_or_else(missing)?;
        let data_type = DataType::try_from(data_type)?;
        Ok(Arc::new(Field::new(&self.name, data_type, false)))
    }
}

/// Appends a message with its mark.
pub(crate) fn put(message: &impl Message, to: &mut Vec<u8>) {
    to.extend_from_slice(MARK);
    to.extend_from_slice(&message.encode_to_vec());
}

/// Returns the message behind the mark; `None` for messages of others.
///
/// # Errors
/// Bytes that are no such message.
pub(crate) fn get<M: Message + Default>(bytes: &[u8]) -> Result<Option<M>> {
    let Some(bytes) = bytes.strip_prefix(MARK) else {
        return Ok(None);
    };
    let message = M::decode(bytes);
    let message =
        message.map_err(|error| internal_datafusion_err!("a message of Tarsia: {error}"))?;
    Ok(Some(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_others_are_told_apart() {
        let node = TableNode {
            place: "/data/ads".to_owned(),
            commit: "ab".to_owned(),
        };
        let mut bytes = Vec::new();
        put(&node, &mut bytes);
        assert_eq!(get::<TableNode>(&bytes).unwrap(), Some(node.clone()));
        assert_eq!(get::<TableNode>(&node.encode_to_vec()).unwrap(), None);
        assert_eq!(get::<TableNode>(&[]).unwrap(), None);
        bytes.truncate(bytes.len() - 1);
        assert!(get::<TableNode>(&bytes).is_err());
    }

    #[test]
    fn folders_are_named_as_every_machine_names_them() {
        let of = |place: &str| TableNode::from(TablePlace::new(place, "c")).place;
        assert_eq!(of("s3://bucket/ads"), "s3://bucket/ads");
        assert_eq!(of("/data/ads"), "/data/ads");
        assert!(std::path::Path::new(&of("ads")).is_absolute());
    }
}
