//! Data files: read from a store and written to it.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use tarsia::{File, OpenOptions};
use tarsia_io::{
    Access, Get, GetRange, Priority, ReadAt, ReadBytes, ReadOptions, Store, block_on, check_inside,
    coalesce,
};
use tarsia_table_meta::{Entry, names};

use crate::drive::all;
use crate::error::{Error, Result};

/// An object that is read as a file. Nobody changes it while it is read, but an erasure, which the file notices.
struct StoreFile {
    store: Arc<dyn Store>,
    key: Arc<str>,
    len: u64,
}

impl ReadAt for StoreFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        let n_bytes = buf.len() as u64;
        check_inside(place, n_bytes, self.len)?;
        if buf.is_empty() {
            return Ok(());
        }
        let range = GetRange::Bytes(place..place + n_bytes);
        let got = block_on(self.store.get(Get::new(self.key.clone(), range)))?;
        match got.bytes.len() == buf.len() {
            true => buf.copy_from_slice(&got.bytes),
            false => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(())
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &[Range<u64>],
        options: ReadOptions,
    ) -> io::Result<Vec<ReadBytes<'a>>> {
        for range in ranges {
            let n_bytes = range.end.checked_sub(range.start);
            let n_bytes = n_bytes.ok_or(io::ErrorKind::InvalidInput)?;
            check_inside(range.start, n_bytes, self.len)?;
        }
        let own = self.store.read_options(Access::Take);
        let gap = options.gap_bytes.max(own.gap_bytes);
        let joined = coalesce(ranges, gap, options.request_bytes_max);
        let priority = Priority::next();
        let gets = joined.iter().map(|read| {
            let mut get = Get::new(self.key.clone(), GetRange::Bytes(read.range.clone()));
            get.priority = priority.at(read.range.start);
            self.store.get(get)
        });
        let got = block_on(all(gets.collect()));
        let mut parts: Vec<ReadBytes<'a>> =
            ranges.iter().map(|_| ReadBytes::borrowed(&[])).collect();
        for (read, got) in joined.iter().zip(got) {
            let bytes = Arc::new(got?.bytes);
            for member in &read.members {
                let (Some(range), Some(part)) = (ranges.get(*member), parts.get_mut(*member))
                else {
                    continue;
                };
                let start = range.start.saturating_sub(read.range.start) as usize;
                let end = range.end.saturating_sub(read.range.start) as usize;
                *part = ReadBytes::shared(bytes.clone(), start..end)?;
            }
        }
        Ok(parts)
    }

    fn read_options(&self, access: Access) -> ReadOptions {
        self.store.read_options(access)
    }

    fn is_one_version(&self) -> bool {
        true
    }

    fn version(&self) -> Option<String> {
        None
    }
}

/// Opens the file of an entry, and compares its id and its rows.
pub(crate) fn open(store: &Arc<dyn Store>, entry: &Entry) -> Result<File> {
    let key = names::data_key(&entry.file);
    let named = |error: Error| error.of_object(&key);
    let reader = StoreFile {
        store: store.clone(),
        key: key.as_str().into(),
        len: entry.bytes,
    };
    let opened = File::open_named(Arc::new(reader), key.clone(), OpenOptions::new());
    // The error of a file names it already.
    let file = opened.map_err(Error::from)?;
    let metadata = file.metadata().map_err(Error::from)?;
    if metadata.file_id != entry.file.0 {
        let found = tarsia_table_meta::FileId(metadata.file_id);
        return Err(named(Error::corrupt(format!(
            "its header has the id {found}"
        ))));
    }
    match file.num_rows() == entry.rows {
        true => Ok(file),
        false => {
            let what = format!("{} rows, its entry says {}", file.num_rows(), entry.rows);
            Err(named(Error::corrupt(what)))
        }
    }
}
