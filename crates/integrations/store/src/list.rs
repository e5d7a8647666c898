//! Lists of objects.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use tarsia_io::{LIST_PAGE_MAX, List, ListPage, Listed, Priority, StoreError, StoreErrorKind};

use crate::failure::Failure;
use crate::live::{Live, in_time};
use crate::meta::meta_of;

/// Bytes of a page, for how long it may take. Nearly all are smaller.
const PAGE_BYTES: u64 = 1 << 20;

/// Asks for a page.
pub(crate) async fn page(live: Arc<Live>, list: List) -> Result<ListPage, StoreError> {
    let url = live.url(&list.prefix);
    let Some(lists) = live.client.lists() else {
        let what = "a server has no lists";
        return Err(StoreError::new(StoreErrorKind::Unsupported, url, what));
    };
    let start = match &list.start_after {
        Some(start) if start.starts_with(&list.prefix) => Some(start.clone()),
        // All keys with the prefix lie before it, or all behind it.
        Some(start) if *start > list.prefix => return Ok(ListPage::default()),
        _ => None,
    };
    let load = live.tries.load(0, Priority::next());
    let request = || -> BoxFuture<'static, _> {
        let (live, lists, list, url) = (
            Arc::clone(&live),
            Arc::clone(&lists),
            list.clone(),
            url.clone(),
        );
        let start = start.clone();
        Box::pin(async move { page_once(&live, &*lists, &list, start, &url).await })
    };
    live.run(load, request).await.0
}

async fn page_once(
    live: &Live,
    lists: &dyn PaginatedListStore,
    list: &List,
    start: Option<String>,
    url: &str,
) -> Result<ListPage, Failure> {
    let options = PaginatedListOptions {
        offset: start,
        delimiter: list.folders.then(|| "/".into()),
        max_keys: Some(list.page_max.clamp(1, LIST_PAGE_MAX)),
        page_token: list.token.clone(),
        ..PaginatedListOptions::default()
    };
    let prefix = Some(list.prefix.as_str()).filter(|prefix| !prefix.is_empty());
    let policy = &live.tries.policy;
    let time = policy.answer_timeout + policy.transfer_time(PAGE_BYTES);
    let answer = in_time(time, url, lists.list_paginated(prefix, options)).await?;
    let answer = answer.map_err(|error| Failure::of(url, &error))?;
    let page = read(list, answer);
    let names = page.objects.iter().map(|listed| &listed.key);
    match names.is_sorted() && page.folders.is_sorted() {
        true => Ok(page),
        false => {
            let what = "the lists of this store are not in the order of the keys";
            Err(Failure::new(StoreErrorKind::Unsupported, url, what))
        }
    }
}

/// Reads an answer. Entries that the list cannot have are left out: a store may show the folder of the key behind which
/// the list begins, or an object that stands for a folder.
fn read(list: &List, answer: PaginatedListResult) -> ListPage {
    let is_listed = |name: &str| {
        let start = list.start_after.as_deref();
        name.starts_with(&list.prefix) && start.is_none_or(|start| name > start)
    };
    let objects = answer.result.objects.into_iter().map(|object| Listed {
        meta: meta_of(&object),
        key: object.location.into(),
    });
    let folders = answer.result.common_prefixes.into_iter();
    ListPage {
        objects: objects.filter(|listed| is_listed(&listed.key)).collect(),
        folders: folders
            .map(|folder| format!("{folder}/"))
            .filter(|folder| is_listed(folder))
            .collect(),
        next: answer.page_token.map(|token| list.clone().continued(token)),
    }
}
