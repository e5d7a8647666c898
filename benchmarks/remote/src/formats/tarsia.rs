//! Tarsia over a store of `tarsia-store`, with all options as they are by default.

use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_schema::SchemaRef;
use tarsia::{File, OpenOptions, WriteOptions, Writer};
use tarsia_store::{RemoteFile, RemoteStore, StoreOptions, StoreUrl};

use super::{BUCKET, Batches, Consumer, Format, KEY_ID, SECRET};
use crate::operation::Read;

/// The format.
#[derive(Default)]
pub(crate) struct Tarsia {
    store: Option<(Arc<RemoteStore>, String)>,
    opened: Option<(RemoteFile, File)>,
}

impl Format for Tarsia {
    fn store(&self, schema: SchemaRef, batches: Batches, file: &str) -> Result<String> {
        let mut writer = Writer::create(file, schema, WriteOptions::default())?;
        for batch in batches {
            writer.write(&batch?)?;
        }
        writer.finish()?;
        Ok("all options as by default".to_owned())
    }

    fn connect(&mut self, endpoint: &str, key: &str, _file_bytes: u64) -> Result<()> {
        let url: StoreUrl = format!("s3://{BUCKET}/{key}").parse()?;
        let options = StoreOptions::new()
            .without_environment()
            .endpoint(endpoint)
            .with("aws_access_key_id", KEY_ID)
            .with("aws_secret_access_key", SECRET);
        let store = RemoteStore::new(&url, &options)?;
        self.store = Some((Arc::new(store), url.key().to_owned()));
        Ok(())
    }

    fn open(&mut self) -> Result<()> {
        self.opened = None;
        let (store, key) = self.store.as_ref().context("no store")?;
        let remote = RemoteFile::open(store.clone(), key)?;
        let file = File::open_reader(Arc::new(remote.clone()), OpenOptions::default())?;
        self.opened = Some((remote, file));
        Ok(())
    }

    fn read(&mut self, read: &Read, consumer: Consumer<'_>) -> Result<()> {
        let (_, file) = self.opened.as_ref().context("no file is open")?;
        if let Some(rows) = &read.rows {
            let take = file.take(rows);
            let take = match &read.columns {
                Some(names) => take.columns(names),
                None => take,
            };
            return consumer(take.read()?);
        }
        let scan = file.scan();
        let scan = match &read.columns {
            Some(names) => scan.columns(names),
            None => scan,
        };
        for batch in scan.build()? {
            consumer(batch?)?;
        }
        Ok(())
    }

    fn waves(&self) -> Option<u64> {
        let (remote, _) = self.opened.as_ref()?;
        Some(remote.counts().waves)
    }
}
