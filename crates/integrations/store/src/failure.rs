//! Failures of tries: one line about each, and whether another try may help.

use std::error::Error;
use std::time::Duration;

use object_store::Error as ObjectError;
use object_store::client::{HttpError, HttpErrorKind};
use tarsia_io::{StoreError, StoreErrorKind, redact};

use crate::http::Refusal;

/// Characters of a cause that are shown.
const CAUSE_CHARS_MAX: usize = 200;

/// A try that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) error: StoreError,
    pub(crate) again: Again,
    /// Whether a change that was asked for was not made, and never will be.
    pub(crate) is_certain: bool,
}

/// Whether to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// It would fail again.
    No,
    /// No connection was made.
    Connect,
    /// It may pass; the store may say after how long.
    Soon { after: Option<Duration> },
}

impl Failure {
    /// A failure that stays, of a request that was not sent or was refused.
    pub(crate) fn new(kind: StoreErrorKind, object: &str, what: impl Into<String>) -> Self {
        Self::fixed(StoreError::new(kind, object, what))
    }

    /// As [`Failure::new`], of an error.
    pub(crate) fn fixed(error: StoreError) -> Self {
        Self {
            error,
            again: Again::No,
            is_certain: true,
        }
    }

    /// A failure that may pass.
    pub(crate) fn transient(object: &str, what: impl Into<String>) -> Self {
        Self {
            error: StoreError::new(StoreErrorKind::Transient, object, what),
            again: Again::Soon { after: None },
            is_certain: false,
        }
    }

    /// The failure of a change that must not be made twice: tried again only if it was certainly not made, and of the
    /// kind [`StoreErrorKind::Unknown`] if it may have been.
    pub(crate) fn of_create(self, object: &str) -> Self {
        if self.is_certain {
            return self;
        }
        let what = format!(
            "it may be there or not, now or later: {}",
            self.error.what()
        );
        Self {
            error: StoreError::new(StoreErrorKind::Unknown, object, what),
            again: Again::No,
            is_certain: false,
        }
    }

    /// Reads an error of object_store. Its own texts are not used where they could hold URLs or bodies.
    pub(crate) fn of(object: &str, error: &ObjectError) -> Self {
        if let Some(refusal) = find::<Refusal>(error) {
            return Self::refused(object, refusal);
        }
        let fixed = |kind, what: &str| Self::new(kind, object, what);
        match error {
            ObjectError::NotFound { .. } => fixed(StoreErrorKind::NotFound, "not found"),
            ObjectError::Precondition { .. } | ObjectError::NotModified { .. } => {
                Self::fixed(StoreError::changed(object, "ETag"))
            }
            ObjectError::PermissionDenied { .. } | ObjectError::Unauthenticated { .. } => {
                fixed(StoreErrorKind::Permission, "no permission")
            }
            ObjectError::NotSupported { .. } | ObjectError::NotImplemented { .. } => {
                fixed(StoreErrorKind::Unsupported, "the store cannot do this")
            }
            ObjectError::InvalidPath { .. } => {
                fixed(StoreErrorKind::Invalid, "no key that this store can have")
            }
            ObjectError::AlreadyExists { .. } => {
                Self::transient(object, "the store reports a conflict (status 409)")
            }
            _ => Self::other(object, error),
        }
    }

    fn refused(object: &str, refusal: &Refusal) -> Self {
        let Refusal::Status {
            status,
            code,
            retry_after,
        } = refusal
        else {
            return match refusal {
                Refusal::TooLong => Self::new(StoreErrorKind::Other, object, refusal.to_string()),
                _ => {
                    let what = "the server ignores ranges and would send the whole object";
                    Self::new(StoreErrorKind::NoRanges, object, what)
                }
            };
        };
        let code = code.as_deref().unwrap_or_default();
        let kind = match (status, code) {
            (501, _) => StoreErrorKind::Unsupported,
            (408 | 409 | 429 | 500..=599, _) | (_, "RequestTimeout" | "SlowDown") => {
                StoreErrorKind::Transient
            }
            (401 | 403, _) | (_, "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired") => {
                StoreErrorKind::Permission
            }
            (416, _) => StoreErrorKind::Outside,
            (300..=499, _) => StoreErrorKind::Invalid,
            _ => StoreErrorKind::Other,
        };
        let why = match (kind, status) {
            (StoreErrorKind::Permission, _) => "no permission: ",
            (StoreErrorKind::Outside, _) => "nothing of it is in the range: ",
            (StoreErrorKind::Unsupported, _) => "the store cannot do this: ",
            (_, 301 | 302 | 307 | 308) => "it is elsewhere; for S3, say the bucket's region: ",
            _ => "",
        };
        Self {
            error: StoreError::new(kind, object, format!("{why}{refusal}")),
            again: match kind {
                StoreErrorKind::Transient => Again::Soon {
                    after: *retry_after,
                },
                _ => Again::No,
            },
            // A gateway's 503 says nothing of the server behind it; `SlowDown` is said by the one that would have done
            // it.
            is_certain: match (status, code) {
                (503, code) => code == "SlowDown",
                (408 | 500 | 502 | 504..=599, _) => false,
                (400, "RequestTimeout") => false,
                _ => true,
            },
        }
    }

    fn other(object: &str, error: &ObjectError) -> Self {
        let Some(http) = find::<HttpError>(error) else {
            let error = StoreError::new(StoreErrorKind::Other, object, cause(error));
            // It may be an answer to a change that nobody understands.
            let is_certain = false;
            return Self {
                is_certain,
                ..Self::fixed(error)
            };
        };
        let (what, again) = match http.kind() {
            HttpErrorKind::Connect => ("no connection", Again::Connect),
            HttpErrorKind::Timeout => ("no answer in time", Again::Soon { after: None }),
            _ => (
                "the connection broke off or its answer makes no sense",
                Again::Soon { after: None },
            ),
        };
        Self {
            error: StoreError::new(
                StoreErrorKind::Transient,
                object,
                format!("{what} ({})", cause(http)),
            ),
            again,
            // What was never connected was never sent.
            is_certain: again == Again::Connect,
        }
    }
}

/// The first error of a type in the chain of causes.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        at = error.source();
    }
    None
}

/// The first cause of an error in one line. The errors around it repeat it, or hold URLs and bodies of answers.
fn cause(error: &(dyn Error + 'static)) -> String {
    let mut first = error;
    while let Some(source) = first.source() {
        first = source;
    }
    let text = redact(&first.to_string());
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(CAUSE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(source: impl Error + Send + Sync + 'static) -> ObjectError {
        ObjectError::Generic {
            store: "S3",
            source: Box::new(source),
        }
    }

    fn refused(status: u16, code: &str) -> Failure {
        let refusal = Refusal::Status {
            status,
            code: (!code.is_empty()).then(|| code.to_owned()),
            retry_after: Some(Duration::from_secs(3)),
        };
        Failure::of("s3://b/k", &generic(HttpError::from(refusal)))
    }

    #[test]
    fn statuses_say_whether_to_try_again() {
        for (status, code) in [
            (500, ""),
            (503, "SlowDown"),
            (429, ""),
            (400, "RequestTimeout"),
        ] {
            let failure = refused(status, code);
            let after = Some(Duration::from_secs(3));
            assert_eq!(failure.again, Again::Soon { after }, "{status}");
            assert_eq!(failure.error.kind(), StoreErrorKind::Transient);
        }
        for (status, code, kind) in [
            (403, "SignatureDoesNotMatch", StoreErrorKind::Permission),
            (401, "", StoreErrorKind::Permission),
            (400, "ExpiredToken", StoreErrorKind::Permission),
            (400, "InvalidArgument", StoreErrorKind::Invalid),
            (301, "PermanentRedirect", StoreErrorKind::Invalid),
            (416, "InvalidRange", StoreErrorKind::Outside),
        ] {
            let failure = refused(status, code);
            assert_eq!((failure.error.kind(), failure.again), (kind, Again::No));
            let text = failure.error.to_string();
            assert!(
                text.contains(&format!("status {status}")) && text.contains(code),
                "{text}"
            );
        }
    }

    #[test]
    fn texts_of_others_are_cut_and_hold_no_secrets() {
        let text = format!("bad https://me:pw@h/k?pw\n{}", "x".repeat(500));
        let failure = Failure::of("s3://b/k", &generic(std::io::Error::other(text)));
        assert_eq!(failure.error.to_string(), "s3://b/k: bad https://…@h/k?…");
        let broken = HttpError::new(HttpErrorKind::Connect, std::io::Error::other("refused"));
        let failure = Failure::of("s3://b/k", &generic(broken));
        assert_eq!(failure.again, Again::Connect);
        assert_eq!(
            failure.error.to_string(),
            "s3://b/k: no connection (refused)"
        );
    }
    #[test]
    fn a_create_is_repeated_only_if_it_was_certainly_not_made() {
        for (status, code, kind) in [
            (429, "", StoreErrorKind::Transient),
            (409, "ConditionalRequestConflict", StoreErrorKind::Transient),
            (503, "SlowDown", StoreErrorKind::Transient),
            (403, "", StoreErrorKind::Permission),
            (501, "NotImplemented", StoreErrorKind::Unsupported),
            (400, "InvalidArgument", StoreErrorKind::Invalid),
            (500, "InternalError", StoreErrorKind::Unknown),
            (502, "", StoreErrorKind::Unknown),
            (503, "", StoreErrorKind::Unknown),
            (504, "", StoreErrorKind::Unknown),
            (408, "", StoreErrorKind::Unknown),
            (400, "RequestTimeout", StoreErrorKind::Unknown),
        ] {
            let failure = refused(status, code).of_create("s3://b/k");
            assert_eq!(failure.error.kind(), kind, "{status} {code}");
            let is_repeated = failure.again != Again::No;
            assert_eq!(
                is_repeated,
                kind == StoreErrorKind::Transient,
                "{status} {code}"
            );
            let text = failure.error.to_string();
            assert!(text.contains(&format!("status {status}")), "{text}");
        }
        let http = |kind| {
            let error = HttpError::new(kind, std::io::Error::other("gone"));
            Failure::of("s3://b/k", &generic(error)).of_create("s3://b/k")
        };
        assert_eq!(http(HttpErrorKind::Connect).again, Again::Connect);
        for kind in [
            HttpErrorKind::Request,
            HttpErrorKind::Timeout,
            HttpErrorKind::Interrupted,
            HttpErrorKind::Decode,
            HttpErrorKind::Unknown,
        ] {
            assert_eq!(http(kind).error.kind(), StoreErrorKind::Unknown);
            assert_eq!(http(kind).again, Again::No);
        }
        let silent = Failure::transient("s3://b/k", "the store was silent").of_create("s3://b/k");
        assert_eq!(silent.error.kind(), StoreErrorKind::Unknown);
    }
}
