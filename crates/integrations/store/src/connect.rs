//! Clients of object_store, made of a place and options.

use std::sync::Arc;

use object_store::list::PaginatedListStore;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{ObjectStore, RetryConfig};
use tarsia_io::{StoreError, StoreErrorKind, redact};

use crate::http::Connector;
use crate::options::StoreOptions;
use crate::url::{Place, StoreUrl};

/// A client, and what it can do.
pub(crate) enum Client {
    /// A bucket or container. Keys are paths.
    #[cfg_attr(
        not(any(feature = "aws", feature = "gcp", feature = "azure")),
        expect(dead_code, reason = "this build has servers alone")
    )]
    Bucket {
        objects: Arc<dyn ObjectStore>,
        parts: Arc<dyn MultipartStore>,
        lists: Arc<dyn PaginatedListStore>,
        /// Whether the end of an object can be asked for before its size is known. Azure cannot.
        has_suffixes: bool,
    },
    /// A server. An object's client is made for each request, since a path of object_store would spell the URL anew
    /// and has no query. It costs little: connections are shared.
    Server {
        origin: String,
        connector: Connector,
        options: Box<object_store::ClientOptions>,
    },
}

/// An object, and the client that reads and writes it.
pub(crate) struct Object {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
}

/// An object, and the client that writes it in parts.
pub(crate) struct ObjectOfParts {
    pub(crate) store: Arc<dyn MultipartStore>,
    pub(crate) path: Path,
}

impl Client {
    pub(crate) fn new(
        place: &Place,
        options: &StoreOptions,
        connector: Connector,
    ) -> Result<Self, StoreError> {
        match place {
            #[cfg(feature = "aws")]
            Place::S3 { bucket } => s3(bucket, options, connector),
            #[cfg(feature = "gcp")]
            Place::Google { bucket } => google(bucket, options, connector),
            #[cfg(feature = "azure")]
            Place::Azure { container, account } => {
                azure(container, account.as_deref(), options, connector)
            }
            Place::Http { origin } => server(origin, options, connector),
            Place::Local { .. } => Err(StoreError::new(
                StoreErrorKind::Unsupported,
                StoreUrl::show(place, ""),
                "a local file is no object of a store",
            )),
            #[cfg(not(all(feature = "aws", feature = "gcp", feature = "azure")))]
            _ => Err(StoreError::new(
                StoreErrorKind::Unsupported,
                StoreUrl::show(place, ""),
                "this program was built without this kind of store",
            )),
        }
    }

    /// Returns an object. The error is in words, for the caller to add the URL.
    pub(crate) fn object(&self, key: &str) -> Result<Object, String> {
        match self {
            Self::Bucket { objects, .. } => Ok(Object {
                store: Arc::clone(objects),
                path: path(key)?,
            }),
            Self::Server {
                origin,
                connector,
                options,
            } => {
                let builder = object_store::http::HttpBuilder::new()
                    .with_url(format!("{origin}/{key}"))
                    .with_client_options(options.as_ref().clone())
                    .with_retry(no_retries())
                    .with_http_connector(connector.clone());
                let store = builder.build().map_err(|error| words(&error))?;
                Ok(Object {
                    store: Arc::new(store),
                    path: Path::default(),
                })
            }
        }
    }

    /// Returns an object that can be written in parts; `None` if the store has none.
    pub(crate) fn parts(&self, key: &str) -> Result<Option<ObjectOfParts>, String> {
        match self {
            Self::Bucket { parts, .. } => Ok(Some(ObjectOfParts {
                store: Arc::clone(parts),
                path: path(key)?,
            })),
            Self::Server { .. } => Ok(None),
        }
    }

    /// Returns whether it is a bucket or container, which can do all that a store can.
    pub(crate) fn is_bucket(&self) -> bool {
        matches!(self, Self::Bucket { .. })
    }

    /// Returns what lists objects; `None` if the store has no lists.
    pub(crate) fn lists(&self) -> Option<Arc<dyn PaginatedListStore>> {
        match self {
            Self::Bucket { lists, .. } => Some(Arc::clone(lists)),
            Self::Server { .. } => None,
        }
    }

    /// Returns whether the end of an object can be asked for before its size is known.
    pub(crate) fn has_suffixes(&self) -> bool {
        match self {
            Self::Bucket { has_suffixes, .. } => *has_suffixes,
            Self::Server { .. } => true,
        }
    }
}

fn path(key: &str) -> Result<Path, String> {
    let path = Path::parse(key).map_err(|error| words(&error))?;
    // It may leave out slashes, and would then name another object.
    match path.as_ref() == key {
        true => Ok(path),
        false => Err("no key that this store can have".to_owned()),
    }
}

/// Retries of object_store are off: here a whole range is tried again, also if the connection breaks off in the middle
/// of an answer, and nothing that is not to be repeated is.
fn no_retries() -> RetryConfig {
    RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    }
}

fn words(error: &dyn std::error::Error) -> String {
    redact(&error.to_string()).replace('\n', " ")
}

fn is_plain_http(url: &str) -> bool {
    url.get(..7)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"))
}

/// Makes a client of a builder: what a name of an option means is the builder's, so this is a macro.
#[cfg(any(feature = "aws", feature = "gcp", feature = "azure"))]
macro_rules! configured {
    ($builder:ident, $place:expr, $options:expr, $skip_signature:expr, $allow_http:expr) => {{
        let invalid =
            |what: String| StoreError::new(StoreErrorKind::Invalid, $place.as_str(), what);
        for (name, value) in &$options.others {
            let key = name
                .to_ascii_lowercase()
                .parse()
                .map_err(|_| invalid(format!("the store has no option `{name}`")))?;
            $builder = $builder.with_config(key, value);
        }
        if $options.anonymous {
            $builder = $builder.with_config($skip_signature, "true");
        }
        // Whoever says an http:// server means it.
        if $options.endpoint.as_deref().is_some_and(is_plain_http) {
            $builder = $builder.with_config($allow_http, "true");
        }
        let objects = $builder.build().map_err(|error| invalid(words(&error)))?;
        Arc::new(objects)
    }};
}

#[cfg(feature = "aws")]
fn s3(bucket: &str, options: &StoreOptions, connector: Connector) -> Result<Client, StoreError> {
    use object_store::ClientConfigKey;
    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

    let place = format!("s3://{bucket}");
    let mut builder = match options.environment {
        true => AmazonS3Builder::from_env(),
        false => AmazonS3Builder::new(),
    };
    builder = builder
        .with_bucket_name(bucket)
        .with_retry(no_retries())
        .with_http_connector(connector);
    if let Some(region) = &options.region {
        builder = builder.with_region(region);
    }
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_config(AmazonS3ConfigKey::S3Endpoint, endpoint);
    }
    // The environment may name the server, too.
    let endpoints = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
    let mut endpoints = endpoints
        .iter()
        .filter_map(|key| builder.get_config_value(key));
    if endpoints
        .next()
        .is_some_and(|endpoint| is_plain_http(&endpoint))
    {
        builder = builder.with_allow_http(true);
    }
    let objects = configured!(
        builder,
        place,
        options,
        AmazonS3ConfigKey::SkipSignature,
        AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp)
    );
    Ok(Client::Bucket {
        objects: Arc::clone(&objects) as _,
        lists: Arc::clone(&objects) as _,
        parts: objects,
        has_suffixes: true,
    })
}

#[cfg(feature = "gcp")]
fn google(
    bucket: &str,
    options: &StoreOptions,
    connector: Connector,
) -> Result<Client, StoreError> {
    use object_store::ClientConfigKey;
    use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};

    let place = format!("gs://{bucket}");
    let mut builder = match options.environment {
        true => GoogleCloudStorageBuilder::from_env(),
        false => GoogleCloudStorageBuilder::new(),
    };
    builder = builder
        .with_bucket_name(bucket)
        .with_retry(no_retries())
        .with_http_connector(connector);
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_base_url(endpoint);
    }
    let objects = configured!(
        builder,
        place,
        options,
        GoogleConfigKey::SkipSignature,
        GoogleConfigKey::Client(ClientConfigKey::AllowHttp)
    );
    Ok(Client::Bucket {
        objects: Arc::clone(&objects) as _,
        lists: Arc::clone(&objects) as _,
        parts: objects,
        has_suffixes: true,
    })
}

#[cfg(feature = "azure")]
fn azure(
    container: &str,
    account: Option<&str>,
    options: &StoreOptions,
    connector: Connector,
) -> Result<Client, StoreError> {
    use object_store::ClientConfigKey;
    use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};

    let place = format!("az://{container}");
    let mut builder = match options.environment {
        true => MicrosoftAzureBuilder::from_env(),
        false => MicrosoftAzureBuilder::new(),
    };
    builder = builder
        .with_container_name(container)
        .with_retry(no_retries())
        .with_http_connector(connector);
    if let Some(account) = account {
        builder = builder.with_account(account);
    }
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_endpoint(endpoint.clone());
    }
    let objects = configured!(
        builder,
        place,
        options,
        AzureConfigKey::SkipSignature,
        AzureConfigKey::Client(ClientConfigKey::AllowHttp)
    );
    Ok(Client::Bucket {
        objects: Arc::clone(&objects) as _,
        lists: Arc::clone(&objects) as _,
        parts: objects,
        has_suffixes: false,
    })
}

fn server(
    origin: &str,
    options: &StoreOptions,
    connector: Connector,
) -> Result<Client, StoreError> {
    use object_store::{ClientConfigKey, ClientOptions};

    let invalid = |what: String| StoreError::new(StoreErrorKind::Invalid, origin, what);
    let mut client = ClientOptions::new().with_allow_http(is_plain_http(origin));
    for (name, value) in &options.others {
        let key = name.to_ascii_lowercase().parse::<ClientConfigKey>();
        let key = key.map_err(|_| invalid(format!("a server has no option `{name}`")))?;
        client = client.with_config(key, value);
    }
    Ok(Client::Server {
        origin: origin.to_owned(),
        connector,
        options: Box::new(client),
    })
}
