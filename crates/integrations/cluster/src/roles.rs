//! The client, the scheduler and the executor.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballista_core::error::{BallistaError, Result as BallistaResult};
use ballista_core::extension::{SessionConfigExt, SessionStateExt};
use ballista_core::utils::default_session_builder;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::common::{Result, plan_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use tarsia_sql::{Stores, caches};

use crate::logical::LogicalCodec;
use crate::physical::PhysicalCodec;
use crate::planner::ClientPlanner;

/// Seconds between two signs of life of an executor.
const HEARTBEAT_SECONDS: u64 = 5;

/// A session whose statements run in the cluster of a scheduler: `host:port`. Nothing is sent before the first one.
///
/// # Errors
/// An address without a port, and settings of the environment that make no sense.
pub fn connect(scheduler: &str) -> Result<SessionContext> {
    let Some((host, port)) = scheduler.rsplit_once(':') else {
        return plan_err!("`{scheduler}` is no HOST:PORT");
    };
    if host.is_empty() || port.parse::<u16>().is_err() {
        return plan_err!("`{scheduler}` is no HOST:PORT");
    }
    let url = format!("http://{scheduler}");
    let config = with_codecs(SessionConfig::from_env()?).with_information_schema(true);
    let planner = ClientPlanner::new(url.clone(), config.ballista_config());
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(config.with_ballista_query_planner(Arc::new(planner)))
        .with_runtime_env(runtime(None)?)
        .build();
    let state = state.upgrade_for_ballista(url)?;
    Ok(SessionContext::new_with_state(state))
}

fn with_codecs(config: SessionConfig) -> SessionConfig {
    config
        .upgrade_for_ballista()
        .with_ballista_logical_extension_codec(Arc::new(LogicalCodec::default()))
        .with_ballista_physical_extension_codec(Arc::new(PhysicalCodec::default()))
}

/// Stores by URL, with credentials of the environment of each machine; what does not fit in memory goes to `folder`.
fn runtime(folder: Option<&Path>) -> Result<Arc<RuntimeEnv>> {
    let mut builder = RuntimeEnvBuilder::new()
        .with_cache_manager(caches())
        .with_object_store_registry(Arc::new(Stores::default()));
    if let Some(folder) = folder {
        builder = builder.with_temp_file_path(folder);
    }
    builder.build_arc()
}

/// A scheduler: it plans statements, and gives their tasks to executors.
#[derive(Debug, Clone)]
pub struct Scheduler {
    /// The address that clients and executors reach it at. There is no authentication.
    pub address: SocketAddr,
    /// Seconds without a sign of life after which an executor counts as lost, and its tasks run elsewhere.
    pub executor_timeout_seconds: u64,
}

impl Scheduler {
    /// Runs until the process ends.
    ///
    /// # Errors
    /// An address that is taken.
    pub async fn run(self) -> BallistaResult<()> {
        let address = self.address;
        let config = SchedulerConfig {
            bind_host: address.ip().to_string(),
            external_host: address.ip().to_string(),
            bind_port: address.port(),
            executor_timeout_seconds: self.executor_timeout_seconds,
            expire_dead_executor_interval_seconds: (self.executor_timeout_seconds / 3).max(1),
            no_executors_grace_period_seconds: self.executor_timeout_seconds.max(60),
            override_config_producer: Some(Arc::new(|| {
                with_codecs(SessionConfig::new_with_ballista())
            })),
            override_session_builder: Some(Arc::new(|config| {
                let state = default_session_builder(config)?;
                let state = SessionStateBuilder::new_from_existing(state);
                Ok(state.with_runtime_env(runtime(None)?).build())
            })),
            override_logical_codec: Some(Arc::new(LogicalCodec::default())),
            override_physical_codec: Some(Arc::new(PhysicalCodec::default())),
            ..SchedulerConfig::default()
        };
        let cluster = BallistaCluster::new_from_config(&config).await?;
        start_server(cluster, address, Arc::new(config)).await
    }
}

/// An executor: it runs tasks.
#[derive(Debug, Clone)]
pub struct Executor {
    /// Where it finds the scheduler.
    pub scheduler_host: String,
    /// The port of the scheduler.
    pub scheduler_port: u16,
    /// The address at which the scheduler and other executors reach it.
    pub host: IpAddr,
    /// The port at which others fetch rows.
    pub port: u16,
    /// The port at which the scheduler gives it tasks.
    pub grpc_port: u16,
    /// Partitions that it works on at the same time.
    pub vcores: NonZeroUsize,
    /// A folder for rows on their way to others, and for what does not fit in memory.
    pub work_dir: PathBuf,
}

impl Executor {
    /// Runs until the process ends.
    ///
    /// # Errors
    /// A scheduler that does not answer, and ports that are taken.
    pub async fn run(self) -> BallistaResult<()> {
        let Some(work_dir) = self.work_dir.to_str().map(str::to_owned) else {
            let what = format!("{}: not UTF-8", self.work_dir.display());
            return Err(BallistaError::Configuration(what));
        };
        let folder = self.work_dir;
        let config = ExecutorProcessConfig {
            bind_host: self.host.to_string(),
            external_host: Some(self.host.to_string()),
            port: self.port,
            grpc_port: self.grpc_port,
            scheduler_host: self.scheduler_host,
            scheduler_port: self.scheduler_port,
            scheduler_connect_timeout_seconds: 10,
            vcores: self.vcores.get(),
            work_dir: Some(work_dir),
            executor_heartbeat_interval_seconds: HEARTBEAT_SECONDS,
            override_config_producer: Some(Arc::new(|| {
                with_codecs(SessionConfig::new_with_ballista())
            })),
            override_runtime_producer: Some(Arc::new(move |_| runtime(Some(&folder)))),
            override_logical_codec: Some(Arc::new(LogicalCodec::default())),
            override_physical_codec: Some(Arc::new(PhysicalCodec::default())),
            ..ExecutorProcessConfig::default()
        };
        start_executor_process(Arc::new(config)).await
    }
}
