//! Stores of URLs that statements name.

use std::sync::Arc;

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use object_store::{ObjectStore, parse_url_opts};
use url::Url;

/// Makes a store when a URL first names it. Servers, regions and credentials are those of the environment.
#[derive(Debug, Default)]
pub struct Stores {
    known: DefaultObjectStoreRegistry,
}

impl ObjectStoreRegistry for Stores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.known.register_store(url, store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        if let Ok(store) = self.known.get_store(url) {
            return Ok(store);
        }
        let options = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?.to_ascii_lowercase();
            Some((name, value.into_string().ok()?))
        });
        let (store, _) = parse_url_opts(url, options)
            .map_err(|error| DataFusionError::ObjectStore(Box::new(error)))?;
        let store: Arc<dyn ObjectStore> = Arc::from(store);
        self.known.register_store(url, Arc::clone(&store));
        Ok(store)
    }
}
