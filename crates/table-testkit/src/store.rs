//! A store in memory that fails in every way that stores do.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tarsia_io::{
    Access, Capabilities, Get, Got, List, ListPage, ObjectMeta, PutIfAbsent, ReadOptions, Store,
    StoreError, StoreErrorKind, StoreFuture, StoreOperation, Upload, check_key,
};
use tarsia_testkit::rng::Rng;

/// A mishap of one call. Reads are never done late; what cannot happen to a call does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// A change is done, and its answer is lost. A read gets no answer.
    LostAnswer,
    /// The request is lost: nothing is done, and there is no answer.
    Dropped,
    /// There is no answer, and a change is done after so many further calls.
    Late {
        /// Calls until then.
        n_calls: usize,
    },
    /// Status 409: a change is refused, since another one is being made.
    Conflict,
    /// Status 429: refused, and nothing is done.
    TooMany,
    /// Status 500: nobody knows. A change is done if `is_done`.
    Broken {
        /// Whether it is done.
        is_done: bool,
    },
    /// The connection breaks off. A change is done if `is_done`.
    Reset {
        /// Whether it is done.
        is_done: bool,
    },
    /// A list is as it was so many changes ago. Other calls are as they should be.
    Lagging {
        /// Changes that it does not show.
        n_changes: usize,
    },
    /// The store's clock is set, by so many seconds, before the call.
    Clock {
        /// Seconds.
        seconds: i64,
    },
}

/// A call, as scripts and logs see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Number of the call; the first is 0.
    pub number: usize,
    /// The method.
    pub operation: StoreOperation,
    /// The key, or the prefix of a list.
    pub key: String,
}

/// A call that was answered, for comparison with what the log of a table says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The call.
    pub call: Call,
    /// The mishap that it had.
    pub fault: Fault,
    /// The kind of the error that its caller got.
    pub error: Option<StoreErrorKind>,
}

type Script = Box<dyn FnMut(&Call) -> Fault + Send>;

/// A [`Store`] whose calls go wrong as a script or a seed says. Each call happens at once, or not at all, when it is
/// made. Clones share the objects.
#[derive(Clone)]
pub struct SimulatedStore {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    objects: BTreeMap<String, Object>,
    /// The objects before each of the last changes, the newest last.
    past: VecDeque<Undo>,
    n_changes: u64,
    clock: SystemTime,
    capabilities: Capabilities,
    is_local: bool,
    script: Script,
    late: Vec<Late>,
    calls: Vec<Answered>,
}

#[derive(Debug, Clone)]
struct Object {
    bytes: Arc<Vec<u8>>,
    change: u64,
    written: SystemTime,
}

/// An object as it was before a change.
struct Undo {
    key: String,
    before: Option<Object>,
}

/// A change that is done after calls that follow.
struct Late {
    /// Number of the call before which it is done.
    at: usize,
    change: Change,
}

#[derive(Debug, Clone)]
enum Change {
    Put { key: String, bytes: Arc<Vec<u8>> },
    Create { key: String, bytes: Arc<Vec<u8>> },
    Delete { key: String },
}

/// Changes that a list can lag behind.
const PAST_MAX: usize = 64;

impl Object {
    fn meta(&self) -> ObjectMeta {
        ObjectMeta {
            size: self.bytes.len() as u64,
            etag: Some(format!("\"{:x}\"", self.change)),
            last_modified: Some(self.written),
        }
    }
}

impl Shared {
    fn set(&mut self, key: &str, object: Option<Object>) {
        let before = match object {
            Some(object) => self.objects.insert(key.to_owned(), object),
            None => self.objects.remove(key),
        };
        let key = key.to_owned();
        self.past.push_back(Undo { key, before });
        if self.past.len() > PAST_MAX {
            self.past.pop_front();
        }
    }

    /// Does a change. Returns the object that it made; `None` if it made none.
    fn apply(&mut self, change: &Change) -> Option<ObjectMeta> {
        let (key, bytes) = match change {
            Change::Delete { key } => {
                if self.objects.contains_key(key) {
                    self.set(key, None);
                }
                return None;
            }
            Change::Create { key, .. } if self.objects.contains_key(key) => return None,
            Change::Put { key, bytes } | Change::Create { key, bytes } => (key, bytes),
        };
        self.n_changes += 1;
        let object = Object {
            bytes: Arc::clone(bytes),
            change: self.n_changes,
            written: self.clock,
        };
        let meta = object.meta();
        self.set(key, Some(object));
        Some(meta)
    }

    /// The objects as they were before the last changes.
    fn before(&self, n_changes: usize) -> BTreeMap<String, Object> {
        let mut objects = self.objects.clone();
        for Undo { key, before } in self.past.iter().rev().take(n_changes) {
            match before {
                Some(object) => objects.insert(key.clone(), object.clone()),
                None => objects.remove(key),
            };
        }
        objects
    }

    fn land(&mut self, is_due: impl Fn(&Late) -> bool) {
        let late = std::mem::take(&mut self.late);
        let (due, later): (Vec<Late>, Vec<Late>) = late.into_iter().partition(is_due);
        self.late = later;
        for late in due {
            self.apply(&late.change);
        }
    }
}

impl SimulatedStore {
    /// A store without faults.
    pub fn new() -> Self {
        Self::scripted(|_| Fault::None)
    }

    /// A store with faults where a script says so. The script is asked before each call.
    pub fn scripted(script: impl FnMut(&Call) -> Fault + Send + 'static) -> Self {
        Self {
            shared: Arc::new(Mutex::new(Shared {
                objects: BTreeMap::new(),
                past: VecDeque::new(),
                n_changes: 0,
                clock: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
                capabilities: Capabilities::ALL,
                is_local: false,
                script: Box::new(script),
                late: Vec::new(),
                calls: Vec::new(),
            })),
        }
    }

    /// A store in which `percent` of all calls go wrong, in all ways. Equal seeds make equal faults.
    pub fn seeded(seed: u64, percent: u32) -> Self {
        let mut rng = Rng::new(seed);
        Self::scripted(move |_| match rng.percent(percent) {
            true => Fault::any(&mut rng),
            false => Fault::None,
        })
    }

    /// Goes on with another script.
    pub fn script(&self, script: impl FnMut(&Call) -> Fault + Send + 'static) {
        self.lock().script = Box::new(script);
    }

    /// Reads files as those in memory are read, or as those of a slow server, of which each scan begins a thread that
    /// reads ahead. Unless set, the latter.
    pub fn set_local(&self, is_local: bool) {
        self.lock().is_local = is_local;
    }

    /// Takes abilities away: the methods then answer [`StoreErrorKind::Unsupported`].
    pub fn set_capabilities(&self, capabilities: Capabilities) {
        self.lock().capabilities = capabilities;
    }

    /// Lets time pass.
    pub fn advance(&self, time: Duration) {
        self.lock().clock += time;
    }

    /// Has all changes that are late happen now.
    pub fn land_late(&self) {
        self.lock().land(|_| true);
    }

    /// Number of changes that are late.
    pub fn n_late(&self) -> usize {
        self.lock().late.len()
    }

    /// Returns the calls so far.
    pub fn calls(&self) -> Vec<Answered> {
        self.lock().calls.clone()
    }

    /// Returns all objects, as they are.
    pub fn objects(&self) -> BTreeMap<String, Arc<Vec<u8>>> {
        let shared = self.lock();
        let objects = shared.objects.iter();
        objects
            .map(|(key, object)| (key.clone(), Arc::clone(&object.bytes)))
            .collect()
    }

    /// Changes an object behind the back of all, as damage does.
    pub fn damage(&self, key: &str, change: impl FnOnce(&mut Vec<u8>)) {
        if let Some(object) = self.lock().objects.get_mut(key) {
            change(Arc::make_mut(&mut object.bytes));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call. `work` does it, unless the fault is one of requests.
    fn call<T: Send + 'static>(
        &self,
        operation: StoreOperation,
        key: &str,
        change: Option<Change>,
        work: impl FnOnce(&mut Shared, Fault) -> Result<T, StoreError>,
    ) -> StoreFuture<T> {
        let url = self.url(key);
        let mut shared = self.lock();
        let number = shared.calls.len();
        shared.land(|late| late.at <= number);
        let call = Call {
            number,
            operation,
            key: key.to_owned(),
        };
        let fault = (shared.script)(&call);
        if let Fault::Clock { seconds } = fault {
            let by = Duration::from_secs(seconds.unsigned_abs());
            shared.clock = match seconds < 0 {
                true => shared.clock - by,
                false => shared.clock + by,
            };
        }
        shared.clock += Duration::from_millis(1);
        let done = match fails(fault, change.is_some(), operation) {
            None => work(&mut shared, fault),
            Some(failure) => {
                match (fault, change) {
                    (Fault::Late { n_calls }, Some(change)) => {
                        let at = number + 1 + n_calls;
                        shared.late.push(Late { at, change });
                    }
                    (_, Some(change)) if failure.is_done => drop(shared.apply(&change)),
                    _ => {}
                }
                Err(StoreError::new(failure.kind, url, failure.what))
            }
        };
        let done = done.map_err(|error| error.during(operation));
        let error = done.as_ref().err().map(StoreError::kind);
        shared.calls.push(Answered { call, fault, error });
        Box::pin(ready(done))
    }

    fn lacks(&self, key: &str, operation: StoreOperation) -> StoreError {
        let what = "the store cannot do this";
        StoreError::new(StoreErrorKind::Unsupported, self.url(key), what).during(operation)
    }

    fn not_found(&self, key: &str) -> StoreError {
        StoreError::new(StoreErrorKind::NotFound, self.url(key), "not found")
    }

    fn write<T: Send + 'static>(
        &self,
        operation: StoreOperation,
        change: Change,
        answer: impl FnOnce(Option<ObjectMeta>) -> T,
    ) -> StoreFuture<T> {
        let key = match &change {
            Change::Put { key, .. } | Change::Create { key, .. } | Change::Delete { key } => {
                key.clone()
            }
        };
        if let Err(error) = check_key(&key, &self.url(&key)) {
            return Box::pin(ready(Err(error.during(operation))));
        }
        self.call(operation, &key, Some(change.clone()), |shared, _| {
            Ok(answer(shared.apply(&change)))
        })
    }
}

impl Fault {
    /// Any fault, with equal chances.
    pub fn any(rng: &mut Rng) -> Self {
        let is_done = rng.flip();
        match rng.below(9) {
            0 => Self::LostAnswer,
            1 => Self::Dropped,
            2 => Self::Late {
                n_calls: rng.below(12),
            },
            3 => Self::Conflict,
            4 => Self::TooMany,
            5 => Self::Broken { is_done },
            6 => Self::Reset { is_done },
            7 => Self::Lagging {
                n_changes: rng.between(1, 5),
            },
            _ => Self::Clock {
                seconds: rng.below(7_200) as i64 - 3_600,
            },
        }
    }
}

/// A call that fails.
struct Failure {
    kind: StoreErrorKind,
    what: &'static str,
    is_done: bool,
}

/// How a fault makes a call fail; `None` if it does not.
fn fails(fault: Fault, is_change: bool, operation: StoreOperation) -> Option<Failure> {
    let silent = match operation {
        _ if !is_change => StoreErrorKind::Transient,
        // As the real stores: only these tell "unknown" apart.
        StoreOperation::PutIfAbsent | StoreOperation::Upload => StoreErrorKind::Unknown,
        _ => StoreErrorKind::Transient,
    };
    let (kind, what, is_done) = match fault {
        Fault::None | Fault::Lagging { .. } | Fault::Clock { .. } => return None,
        Fault::Conflict if !is_change => return None,
        Fault::LostAnswer => (silent, "no answer", true),
        Fault::Dropped | Fault::Late { .. } => (silent, "no answer", false),
        Fault::Conflict => (StoreErrorKind::Transient, "status 409", false),
        Fault::TooMany => (
            StoreErrorKind::Transient,
            "status 429 TooManyRequests",
            false,
        ),
        Fault::Broken { is_done } => (silent, "status 500 InternalError", is_done),
        Fault::Reset { is_done } => (silent, "the connection broke off", is_done),
    };
    Some(Failure {
        kind,
        what,
        is_done,
    })
}

impl Default for SimulatedStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for SimulatedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = self.lock();
        f.debug_struct("SimulatedStore")
            .field("n_objects", &shared.objects.len())
            .field("n_calls", &shared.calls.len())
            .field("n_late", &shared.late.len())
            .finish_non_exhaustive()
    }
}

impl Store for SimulatedStore {
    fn url(&self, key: &str) -> String {
        format!("simulated:///{key}")
    }

    fn capabilities(&self) -> Capabilities {
        self.lock().capabilities
    }

    fn read_options(&self, access: Access) -> ReadOptions {
        match (self.lock().is_local, access) {
            (true, _) => ReadOptions::LOCAL,
            (false, Access::Take) => ReadOptions::REMOTE_TAKE,
            (false, Access::Scan) => ReadOptions::REMOTE_SCAN,
        }
    }

    fn get(&self, get: Get) -> StoreFuture<Got> {
        let key = Arc::clone(&get.key);
        self.call(StoreOperation::Get, &key, None, |shared, _| {
            let object = shared.objects.get(&*get.key);
            let object = object.ok_or_else(|| self.not_found(&get.key))?;
            let meta = object.meta();
            let url = self.url(&get.key);
            if get.if_match.is_some() && get.if_match != meta.etag {
                return Err(StoreError::changed(url, "ETag"));
            }
            let range = get.range.inside(meta.size, &url)?;
            Ok(Got {
                bytes: object.bytes[range.start as usize..range.end as usize].to_vec(),
                start: range.start,
                meta,
            })
        })
    }

    fn head(&self, key: &str) -> StoreFuture<ObjectMeta> {
        self.call(StoreOperation::Head, key, None, |shared, _| {
            let object = shared.objects.get(key).map(Object::meta);
            object.ok_or_else(|| self.not_found(key))
        })
    }

    fn put(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<Option<String>> {
        let key = key.to_owned();
        self.write(StoreOperation::Put, Change::Put { key, bytes }, |meta| {
            meta?.etag
        })
    }

    fn put_if_absent(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<PutIfAbsent> {
        let operation = StoreOperation::PutIfAbsent;
        if !self.capabilities().can_put_if_absent {
            return Box::pin(ready(Err(self.lacks(key, operation))));
        }
        let key = key.to_owned();
        self.write(
            operation,
            Change::Create { key, bytes },
            |meta| match meta {
                Some(meta) => PutIfAbsent::Created { etag: meta.etag },
                None => PutIfAbsent::Exists,
            },
        )
    }

    fn upload(&self, key: &str) -> StoreFuture<Box<dyn Upload>> {
        let upload = SimulatedUpload {
            store: self.clone(),
            key: key.to_owned(),
            parts: Mutex::default(),
        };
        if let Err(error) = check_key(key, &self.url(key)) {
            return Box::pin(ready(Err(error.during(StoreOperation::Upload))));
        }
        self.call(StoreOperation::Upload, key, None, |_, _| {
            Ok(Box::new(upload) as Box<dyn Upload>)
        })
    }

    fn list(&self, list: List) -> StoreFuture<ListPage> {
        if !self.capabilities().can_list {
            return Box::pin(ready(Err(self.lacks(&list.prefix, StoreOperation::List))));
        }
        self.call(StoreOperation::List, &list.prefix, None, |shared, fault| {
            let objects = match fault {
                Fault::Lagging { n_changes } => shared.before(n_changes),
                _ => shared.objects.clone(),
            };
            let meta = |key: &&String| match objects.get(*key) {
                Some(object) => object.meta(),
                None => unreachable!("keys are those of objects"),
            };
            Ok(ListPage::collect(&list, objects.keys(), meta))
        })
    }

    fn delete(&self, key: &str) -> StoreFuture<()> {
        if !self.capabilities().can_delete {
            return Box::pin(ready(Err(self.lacks(key, StoreOperation::Delete))));
        }
        let key = key.to_owned();
        self.write(StoreOperation::Delete, Change::Delete { key }, drop)
    }

    fn now(&self, probe: &str) -> StoreFuture<SystemTime> {
        if !self.capabilities().can_say_time {
            return Box::pin(ready(Err(self.lacks(probe, StoreOperation::Now))));
        }
        self.call(StoreOperation::Now, probe, None, |shared, _| {
            Ok(shared.clock)
        })
    }

    fn known_time(&self) -> Option<SystemTime> {
        let can = self.capabilities().can_say_time;
        can.then(|| self.lock().clock)
    }
}

/// An upload. Each part, and the end, is a call that may go wrong: so some parts may be there, and no object.
struct SimulatedUpload {
    store: SimulatedStore,
    key: String,
    parts: Mutex<BTreeMap<u32, Arc<Vec<u8>>>>,
}

impl SimulatedUpload {
    fn parts(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<Vec<u8>>>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SimulatedUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimulatedUpload({})", self.key)
    }
}

impl Upload for SimulatedUpload {
    fn put_part(&self, index: u32, bytes: Arc<Vec<u8>>) -> StoreFuture<()> {
        self.store
            .call(StoreOperation::Upload, &self.key, None, |_, _| {
                self.parts().insert(index, bytes);
                Ok(())
            })
    }

    fn complete(&self, n_parts: u32) -> StoreFuture<Option<String>> {
        let parts = self.parts();
        if parts.keys().copied().ne(0..n_parts) {
            let what = format!("{} of {n_parts} parts were written", parts.len());
            let error = StoreError::new(StoreErrorKind::Invalid, self.store.url(&self.key), what);
            return Box::pin(ready(Err(error.during(StoreOperation::Upload))));
        }
        let bytes = parts
            .values()
            .flat_map(|part| part.iter().copied())
            .collect();
        let change = Change::Put {
            key: self.key.clone(),
            bytes: Arc::new(bytes),
        };
        self.store
            .write(StoreOperation::Upload, change, |meta| meta?.etag)
    }

    fn abort(&self) -> StoreFuture<()> {
        self.parts().clear();
        Box::pin(ready(Ok(())))
    }
}
