//! The part of a store that belongs to one process, and what its requests share.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use object_store::HeaderValue;
use tarsia_io::{StoreError, StoreErrorKind};

use crate::connect::Client;
use crate::failure::Failure;
use crate::http::Connector;
use crate::options::StoreOptions;
use crate::runtime::Transfers;
use crate::tries::{Counts, Load, Tries};
use crate::url::{Place, StoreUrl};

/// Client, limiter and threads of a store in one process.
pub(crate) struct Live {
    pub(crate) place: Place,
    pub(crate) client: Client,
    pub(crate) transfers: Arc<Transfers>,
    pub(crate) tries: Tries,
}

impl Live {
    pub(crate) fn new(
        place: Place,
        options: &StoreOptions,
        transfers: Arc<Transfers>,
        counts: Arc<Counts>,
    ) -> Result<Self, StoreError> {
        let name = StoreUrl::show(&place, "");
        let authorization = options.authorization.as_deref().map(|header| {
            let mut header = HeaderValue::from_str(header).map_err(|_| {
                let what = "the option `authorization` is no header";
                StoreError::new(StoreErrorKind::Invalid, name.as_str(), what)
            })?;
            header.set_sensitive(true);
            Ok(header)
        });
        let connector = Connector {
            transfers: Arc::clone(&transfers),
            authorization: authorization.transpose()?,
        };
        let client = Client::new(&place, options, connector)?;
        let endpoint = options.endpoint.as_deref().unwrap_or_default();
        let tries = Tries {
            limiter: transfers.limiter(&format!("{name} {endpoint}"), &options.policy),
            policy: options.policy,
            counts,
        };
        Ok(Self {
            place,
            client,
            transfers,
            tries,
        })
    }

    pub(crate) fn url(&self, key: &str) -> String {
        StoreUrl::show(&self.place, key)
    }

    /// Runs requests of one kind until one succeeds.
    pub(crate) async fn run<T>(
        &self,
        load: Load,
        request: impl Fn() -> BoxFuture<'static, Result<T, Failure>> + Send,
    ) -> (Result<T, StoreError>, u32) {
        self.tries.clone().run(load, request).await
    }
}

/// Waits for work, but not for ever.
pub(crate) async fn in_time<T>(
    time: Duration,
    url: &str,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    match tokio::time::timeout(time, work).await {
        Ok(done) => Ok(done),
        Err(_) => {
            let what = format!("the store was silent for {:.1} s", time.as_secs_f64());
            Err(Failure::transient(url, what))
        }
    }
}

/// Bytes to send, without a copy.
pub(crate) fn payload(bytes: Arc<Vec<u8>>) -> object_store::PutPayload {
    struct Shared(Arc<Vec<u8>>);

    impl AsRef<[u8]> for Shared {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    bytes::Bytes::from_owner(Shared(bytes)).into()
}
