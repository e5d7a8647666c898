//! The connections below object_store, and what they make of answers.
//!
//! object_store's errors say the status of an answer only in words, together with the URL and the answer's body, which
//! may hold secrets. So answers that it has no error of its own for are made errors here, as a [`Refusal`] that
//! `failure.rs` finds in the chain of causes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use object_store::{ClientOptions, HeaderValue};

use crate::runtime::Transfers;

/// Bytes of an error's body that are looked at.
const ERROR_BODY_BYTES_MAX: usize = 64 << 10;

/// Bytes of the longest page of a list: 1,000 keys of 1 KiB, each byte written as an entity, and what is around them.
const LIST_BODY_BYTES_MAX: usize = 16 << 20;

/// Bytes of the longest code of an error that is shown.
const CODE_BYTES_MAX: usize = 64;

/// Hosts that give credentials to machines. object_store looks at the statuses of their answers itself.
const CREDENTIAL_HOSTS: [&str; 5] = [
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "metadata.google.internal",
    "metadata",
];

/// Makes connections that all stores of the process share.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    pub(crate) transfers: Arc<Transfers>,
    /// Sent with each request. It is sensitive, so redirections to other hosts leave it out.
    pub(crate) authorization: Option<HeaderValue>,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Watched {
            client: self.transfers.client(options)?,
            authorization: self.authorization.clone(),
        }))
    }
}

#[derive(Debug)]
struct Watched {
    client: HttpClient,
    authorization: Option<HeaderValue>,
}

#[async_trait]
impl HttpService for Watched {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let host = request.uri().host().unwrap_or_default();
        if CREDENTIAL_HOSTS.contains(&host) {
            return self.client.execute(request).await;
        }
        if let Some(header) = &self.authorization {
            request
                .headers_mut()
                .insert("authorization", header.clone());
        }
        let has_range = request.headers().contains_key("range");
        let completes = request.method() == "POST"
            && request
                .uri()
                .query()
                .is_some_and(|query| query.contains("uploadId="));
        let creates = ["if-none-match", "x-goog-if-generation-match"]
            .iter()
            .any(|name| request.headers().contains_key(*name));
        let lists = request.method() == "GET"
            && (request.uri().query())
                .is_some_and(|query| query.contains("list-type=2") || query.contains("comp=list"));
        let response = self.client.execute(request).await?;
        match response.status().as_u16() {
            200 if has_range => Err(Refusal::NoRanges.into()),
            200 if completes => check_completed(response).await,
            200 if lists => bounded(response).await,
            304 if creates => Ok(response),
            409 if creates => conflict(response).await,
            // What object_store tells apart by itself.
            404 | 405 | 409 | 412 => Ok(response),
            status if status < 300 => Ok(response),
            status => {
                let after = response.headers().get("retry-after");
                let after = after.and_then(|after| after.to_str().ok()?.trim().parse().ok());
                let body = beginning(response.into_body()).await;
                let refusal = Refusal::Status {
                    status,
                    code: code_in(&body),
                    retry_after: after.map(Duration::from_secs),
                };
                Err(refusal.into())
            }
        }
    }
}

/// S3 begins to answer before it has made an object of its parts, so the body may say that it failed.
async fn check_completed(response: HttpResponse) -> Result<HttpResponse, HttpError> {
    let (head, body) = response.into_parts();
    let body = body.bytes().await?;
    if body.windows(6).any(|window| window == b"<Error") {
        let refusal = Refusal::Status {
            status: 500,
            code: code_in(&body),
            retry_after: None,
        };
        return Err(refusal.into());
    }
    Ok(HttpResponse::from_parts(head, body.into()))
}

/// A page of a list is parsed as a whole, so it has to fit into memory.
async fn bounded(response: HttpResponse) -> Result<HttpResponse, HttpError> {
    let (head, body) = response.into_parts();
    let mut stream = body.bytes_stream();
    let mut bytes = Vec::new();
    while let Some(more) = stream.next().await {
        let more = more?;
        if more.len() > LIST_BODY_BYTES_MAX - bytes.len() {
            return Err(Refusal::TooLong.into());
        }
        bytes.extend_from_slice(&more);
    }
    Ok(HttpResponse::from_parts(head, bytes.into()))
}

/// Tells the two conflicts of a create apart. There is an object: Azure's answer, which object_store understands. Or
/// somebody else is changing it at the moment: S3's, after which there may be none, so it is asked for again.
async fn conflict(response: HttpResponse) -> Result<HttpResponse, HttpError> {
    let (head, body) = response.into_parts();
    let in_header = head.headers.get("x-ms-error-code").cloned();
    let body = beginning(body).await;
    let in_header = in_header.as_ref().and_then(|code| code.to_str().ok());
    let code = in_header.map(str::to_owned).or_else(|| code_in(&body));
    if code.as_deref() == Some("BlobAlreadyExists") {
        return Ok(HttpResponse::from_parts(head, body.into()));
    }
    let refusal = Refusal::Status {
        status: 409,
        code: code.filter(|code| is_code(code)),
        retry_after: None,
    };
    Err(refusal.into())
}

/// The beginning of a body, as much as arrives of it.
async fn beginning(body: HttpResponseBody) -> Vec<u8> {
    let mut stream = body.bytes_stream();
    let mut bytes = Vec::new();
    while let Some(Ok(more)) = stream.next().await {
        let n = more.len().min(ERROR_BODY_BYTES_MAX - bytes.len());
        bytes.extend_from_slice(&more[..n]);
        if bytes.len() == ERROR_BODY_BYTES_MAX {
            break;
        }
    }
    bytes
}

/// The code in an error of S3, Google or Azure, such as `SlowDown`. The rest of the body is never shown: it may repeat
/// what was signed.
fn code_in(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let (_, after) = text.split_once("<Code>")?;
    let (code, _) = after.split_once("</Code>")?;
    is_code(code).then(|| code.to_owned())
}

fn is_code(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= CODE_BYTES_MAX
        && text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// An answer that is none of those asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The whole object instead of a range.
    NoRanges,
    /// A page of a list that does not fit into memory.
    TooLong,
    /// A status of an error.
    Status {
        status: u16,
        code: Option<String>,
        retry_after: Option<Duration>,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRanges => f.write_str("the server ignores ranges"),
            Self::TooLong => f.write_str("the page of the list has more than 16 MiB"),
            Self::Status {
                status,
                code: Some(code),
                ..
            } => write!(f, "status {status} {code}"),
            Self::Status { status, .. } => write!(f, "status {status}"),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<Refusal> for HttpError {
    fn from(refusal: Refusal) -> Self {
        // A kind that object_store never retries by itself.
        Self::new(HttpErrorKind::Unknown, refusal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_errors_are_shown_and_nothing_else() {
        let body = b"<Error><Code>SlowDown</Code><StringToSign>secret</StringToSign></Error>";
        assert_eq!(code_in(body).as_deref(), Some("SlowDown"));
        assert_eq!(code_in(b"<Code>a b</Code>"), None);
        assert_eq!(code_in(b"<Code></Code>"), None);
        assert_eq!(code_in(b"<Code>SlowDown"), None);
        assert_eq!(code_in(b"\xff"), None);
        let long = format!("<Code>{}</Code>", "x".repeat(CODE_BYTES_MAX + 1));
        assert_eq!(code_in(long.as_bytes()), None);
    }
}
