//! Options of a store.

use std::fmt;

use crate::policy::Policy;

/// How a store is reached. By default all is taken from the environment, by the names that the stores' own tools have:
///
/// | store | variables |
/// |---|---|
/// | S3 | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL`, …; else the role of the machine |
/// | Google | `GOOGLE_APPLICATION_CREDENTIALS`, `GOOGLE_SERVICE_ACCOUNT`, …; else the login of `gcloud`, or the machine's |
/// | Azure | `AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY`, `AZURE_STORAGE_SAS_TOKEN`, …; else the machine's identity |
///
/// Profiles of `~/.aws` are not read.
///
/// ```
/// use tarsia_store::StoreOptions;
///
/// let options = StoreOptions::new()
///     .endpoint("https://minio.example")
///     .with("aws_secret_access_key", "secret");
/// assert!(!format!("{options:?}").contains("\"secret\""));
/// ```
#[derive(Clone)]
#[must_use]
pub struct StoreOptions {
    pub(crate) environment: bool,
    pub(crate) endpoint: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) anonymous: bool,
    pub(crate) authorization: Option<String>,
    pub(crate) others: Vec<(String, String)>,
    pub(crate) policy: Policy,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl StoreOptions {
    /// Takes all from the environment.
    pub fn new() -> Self {
        Self {
            environment: true,
            endpoint: None,
            region: None,
            anonymous: false,
            authorization: None,
            others: Vec::new(),
            policy: Policy::default(),
        }
    }

    /// Ignores the environment.
    pub fn without_environment(mut self) -> Self {
        self.environment = false;
        self
    }

    /// Names the server of a store that is not the provider's, such as `http://127.0.0.1:9000`. Its buckets are paths
    /// (path style), unless the option `virtual_hosted_style_request` of S3 is `true`.
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = Some(url.into());
        self
    }

    /// Names the region of S3; `us-east-1` by default.
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Signs nothing: for buckets that everybody may read.
    pub fn anonymous(mut self) -> Self {
        self.anonymous = true;
        self
    }

    /// Sends the header `Authorization`, such as `Bearer TOKEN`, to an HTTP server.
    pub fn authorization(mut self, header: impl Into<String>) -> Self {
        self.authorization = Some(header.into());
        self
    }

    /// Says an option by the name that object_store has for it, in lower case, with or without the prefix of its
    /// variable: `aws_access_key_id`, `google_service_account`, `azure_storage_account_name`, `proxy_url`. It counts
    /// more than the environment. A name that the store does not know is an error when the store is made. Timeouts are
    /// those of the [`Policy`] alone.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.others.push((name.into(), value.into()));
        self
    }

    /// Sets limits, retries and timeouts.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}

/// Shows no values: they may be secret.
impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.others.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("StoreOptions")
            .field("environment", &self.environment)
            .field("has_endpoint", &self.endpoint.is_some())
            .field("region", &self.region)
            .field("anonymous", &self.anonymous)
            .field("has_authorization", &self.authorization.is_some())
            .field("others", &names)
            .field("policy", &self.policy)
            .finish()
    }
}
