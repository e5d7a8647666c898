//! The tables on a store that answers late: a server on loopback that speaks S3.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use object_store::aws::AmazonS3Builder;
use serde::Serialize;
use tarsia_store_testing::Server;
use url::Url;

use crate::engines::{Engine, Source};
use crate::{answer, report, tables};

/// Time before the server answers a request.
pub(crate) const LATENCY: Duration = Duration::from_millis(20);
/// Bytes per second of all answers together.
pub(crate) const BYTES_PER_SECOND: u64 = 200_000_000;

/// Queries of one table or two, most of whose time is reading.
pub(crate) const QUERIES: [usize; 3] = [1, 6, 14];

const BUCKET: &str = "tables";

/// One query over one source.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Far {
    pub(crate) query: usize,
    pub(crate) source: &'static str,
    pub(crate) seconds: f64,
    pub(crate) requests: usize,
    pub(crate) bytes: u64,
}

/// A server with the tables of a folder, and the engines that read them from there.
pub(crate) struct Store {
    server: Server,
    engines: Vec<(Source, Engine)>,
}

impl Store {
    /// Puts the tables on a server.
    pub(crate) async fn new(folder: &Path, n_partitions: usize) -> Result<Self> {
        let server = Server::new();
        server.keep_no_bodies();
        for extension in ["tarsia", "parquet", "vortex"] {
            for name in tables::NAMES {
                let bytes = std::fs::read(tables::path(folder, name, extension))?;
                let etag = format!("\"{extension}\"");
                server.put(&format!("/{BUCKET}/{name}.{extension}"), bytes, Some(&etag));
            }
        }
        let mut engines = Vec::new();
        for source in Source::ALL {
            let store = AmazonS3Builder::new()
                .with_endpoint(server.url(""))
                .with_allow_http(true)
                .with_bucket_name(BUCKET)
                .with_region("us-east-1")
                .with_access_key_id("key")
                .with_secret_access_key("secret")
                .build()?;
            let place = format!("s3://{BUCKET}");
            let url = Url::parse(&place)?;
            let engine = Engine::at(source, &place, n_partitions, |ctx| {
                ctx.register_object_store(&url, Arc::new(store));
            });
            let engine = engine.await.with_context(|| format!("{source:?}"))?;
            engines.push((source, engine));
        }
        server.slow(LATENCY, Some(BYTES_PER_SECOND));
        Ok(Self { server, engines })
    }

    /// Runs one query from each source by turns.
    pub(crate) async fn run(&self, n_runs: usize, number: usize, query: &str) -> Result<Vec<Far>> {
        let mut seconds = vec![Vec::new(); self.engines.len()];
        let mut counts = vec![(0, 0); self.engines.len()];
        let mut expected = None;
        for run in 0..=n_runs {
            for (at, (source, engine)) in self.engines.iter().enumerate() {
                let before = self.server.n_requests();
                let found = engine.run(query).await;
                let (rows, took) = found.with_context(|| format!("query {number}: {source:?}"))?;
                let requests = self.server.requests_from(before);
                let got = requests.iter().filter(|request| request.method == "GET");
                let bytes = got.filter_map(|request| {
                    let size = self.server.content(&request.target)?.len() as u64;
                    request.range(size).map(|range| range.end - range.start)
                });
                // Of the last run, when what is kept of a file is kept.
                counts[at] = (requests.len(), bytes.sum());
                match &expected {
                    None => expected = Some(rows),
                    Some(expected) => answer::compare(&rows, expected)
                        .with_context(|| format!("query {number}: the answer of {source:?}"))?,
                }
                if run > 0 {
                    seconds[at].push(took);
                }
            }
        }
        let found = self.engines.iter().zip(seconds).zip(counts);
        found
            .map(|(((source, _), seconds), (requests, bytes))| {
                Ok(Far {
                    query: number,
                    source: source.name(),
                    seconds: report::median(seconds.into_iter()).context("no run")?,
                    requests,
                    bytes,
                })
            })
            .collect()
    }
}
