//! All interleavings of state machines over a store, with faults.
//!
//! An [`Actor`] says what it needs next, and is given the answers. The [`Explorer`] lets requests of all actors happen
//! in every order, each at once, and has up to a number of them go wrong ([`Mishap`]). A state that was reached before
//! is not explored again. States are known by 128 bits of hash, so a state is passed over by mistake with a chance of
//! less than one in 10^24 for a million states.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tarsia_io::{List, ListPage, ObjectMeta, StoreErrorKind};

/// A state machine that does no I/O.
pub trait Actor: Clone + Eq + Hash + fmt::Debug {
    /// Says what it needs next. It says the same until it is answered.
    fn step(&self) -> Step;

    /// Takes the answers to all requests of its step, in their order.
    fn take(&mut self, answers: Vec<Answer>);
}

/// Next step of an [`Actor`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Requests that may happen in any order; there is at least one.
    Ask(Vec<Request>),
    /// Nothing more.
    Done,
}

/// A request of an actor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    /// Reads a whole object.
    Get(String),
    /// Writes an object.
    Put(String, Arc<Vec<u8>>),
    /// Writes an object if there is none of that name.
    PutIfAbsent(String, Arc<Vec<u8>>),
    /// Returns a page of a list.
    List(Query),
    /// Removes an object.
    Delete(String),
}

/// A request for a page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Query {
    /// Beginning of the keys.
    pub prefix: String,
    /// Key behind which the page begins.
    pub start_after: Option<String>,
    /// True for one level.
    pub folders: bool,
    /// Most entries.
    pub page_max: usize,
}

impl From<&List> for Query {
    fn from(list: &List) -> Self {
        Self {
            prefix: list.prefix.clone(),
            start_after: list.start_after.clone(),
            folders: list.folders,
            page_max: list.page_max,
        }
    }
}

impl From<&Query> for List {
    fn from(query: &Query) -> Self {
        let mut list = Self::new(query.prefix.as_str()).page_max(query.page_max);
        list.start_after.clone_from(&query.start_after);
        list.folders = query.folders;
        list
    }
}

/// An answer to a [`Request`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The object's bytes.
    Got(Arc<Vec<u8>>),
    /// There is no such object.
    Absent,
    /// A page. Objects in it have a size, and neither ETag nor time.
    Listed(ListPage),
    /// The object was written or removed.
    Done,
    /// The object was created.
    Created,
    /// There was one.
    Exists,
    /// An error.
    Failed(StoreErrorKind),
}

/// A request that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mishap {
    /// It is done, and the answer is lost.
    LostAnswer,
    /// It is never done, and there is no answer.
    Dropped,
    /// There is no answer, and it is done at any later time.
    Late,
    /// It is refused: not done, and the error says so.
    Refused,
}

impl Mishap {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::LostAnswer, Self::Dropped, Self::Late, Self::Refused];
}

/// Objects of a store that does one request after the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Objects(BTreeMap<String, Arc<Vec<u8>>>);

impl Objects {
    /// Returns the bytes of an object.
    pub fn get(&self, key: &str) -> Option<&Arc<Vec<u8>>> {
        self.0.get(key)
    }

    /// Returns all objects, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0
            .iter()
            .map(|(key, bytes)| (key.as_str(), bytes.as_slice()))
    }

    /// Does a request.
    pub fn apply(&mut self, request: &Request) -> Answer {
        match request {
            Request::Get(key) => match self.0.get(key) {
                Some(bytes) => Answer::Got(Arc::clone(bytes)),
                None => Answer::Absent,
            },
            Request::Put(key, bytes) => {
                self.0.insert(key.clone(), Arc::clone(bytes));
                Answer::Done
            }
            Request::PutIfAbsent(key, _) if self.0.contains_key(key) => Answer::Exists,
            Request::PutIfAbsent(key, bytes) => {
                self.0.insert(key.clone(), Arc::clone(bytes));
                Answer::Created
            }
            Request::List(query) => Answer::Listed(ListPage::collect(
                &List::from(query),
                self.0.keys(),
                |key| ObjectMeta {
                    size: self.0.get(*key).map_or(0, |bytes| bytes.len() as u64),
                    etag: None,
                    last_modified: None,
                },
            )),
            Request::Delete(key) => {
                self.0.remove(key);
                Answer::Done
            }
        }
    }
}

/// Notes what happens to the store, as a part of the state. `()` notes nothing.
pub trait Observer: Clone + Eq + Hash {
    /// Sees a request that was done, late ones too, and the objects after it.
    fn see(&mut self, request: &Request, answer: &Answer, objects: &Objects);
}

impl Observer for () {
    fn see(&mut self, _: &Request, _: &Answer, _: &Objects) {}
}

/// A state: the objects, what is still on its way, and the actors.
#[derive(Debug, Clone)]
pub struct World<A, O> {
    /// The store.
    pub objects: Objects,
    /// Requests whose senders were told of an error, and that will be done.
    pub late: Vec<Request>,
    /// The actors.
    pub actors: Vec<A>,
    /// Notes of what happened.
    pub observer: O,
    faults_left: usize,
    /// Answers to a part of an actor's requests.
    answers: Vec<BTreeMap<usize, Answer>>,
}

/// One event. Numbers are those of the actor and of its request, or of a late request.
#[derive(Debug, Clone, Copy)]
enum Event {
    Happens {
        actor: usize,
        request: usize,
        mishap: Option<Mishap>,
    },
    Lands {
        late: usize,
    },
}

/// Explores all states that actors can reach.
#[derive(Debug, Clone)]
pub struct Explorer<A, O = ()> {
    start: World<A, O>,
    mishaps: Vec<Mishap>,
    states_max: usize,
}

/// Outcome of an exploration without a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explored {
    /// States that were reached.
    pub n_states: usize,
    /// How many of them are at rest: all actors are done, and nothing is on its way.
    pub n_ends: usize,
}

/// A violation, with a shortest schedule that leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Description of the fault in the last state.
    pub what: String,
    /// The events, one a line.
    pub schedule: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        for (index, event) in self.schedule.iter().enumerate() {
            writeln!(f, "{:3}. {event}", index + 1)?;
        }
        Ok(())
    }
}

/// A state that was reached, by the event that led to it.
struct Reached {
    from: usize,
    event: Event,
}

/// A state that is to be explored.
struct Open<A, O> {
    world: World<A, O>,
    /// Its place among the reached ones; the start has none.
    at: Option<usize>,
}

/// Order of exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    DepthFirst,
    BreadthFirst,
}

impl<A: Actor, O: Observer> Explorer<A, O> {
    /// Actors that begin with these objects, with up to `faults` mishaps of all kinds.
    pub fn new(actors: Vec<A>, objects: Objects, observer: O, faults: usize) -> Self {
        let answers = vec![BTreeMap::new(); actors.len()];
        Self {
            start: World {
                objects,
                late: Vec::new(),
                actors,
                observer,
                faults_left: faults,
                answers,
            },
            mishaps: Mishap::ALL.to_vec(),
            states_max: 10_000_000,
        }
    }

    /// Has only these mishaps happen.
    #[must_use]
    pub fn mishaps(mut self, mishaps: &[Mishap]) -> Self {
        self.mishaps = mishaps.to_vec();
        self
    }

    /// Gives up with a panic after so many states, by default 10 million.
    #[must_use]
    pub fn states_max(mut self, n_states: usize) -> Self {
        self.states_max = n_states;
        self
    }

    /// Explores all states, and checks each of them. The check is also told whether the state is at rest.
    ///
    /// # Errors
    /// The violation that the fewest events lead to.
    pub fn run(
        &self,
        check: impl Fn(&World<A, O>, bool) -> Result<(), String>,
    ) -> Result<Explored, Violation> {
        // Depth first holds few states at a time. If something is wrong, breadth first finds it with the fewest events.
        match self.search(Order::DepthFirst, &check) {
            Ok(explored) => Ok(explored),
            Err(_) => self.search(Order::BreadthFirst, &check),
        }
    }

    fn search(
        &self,
        order: Order,
        check: &impl Fn(&World<A, O>, bool) -> Result<(), String>,
    ) -> Result<Explored, Violation> {
        let mut seen = HashSet::from([self.start.fingerprint()]);
        let mut reached: Vec<Reached> = Vec::new();
        let mut open = VecDeque::from([Open {
            world: self.start.clone(),
            at: None,
        }]);
        let mut n_ends = 0;
        while let Some(Open { world, at }) = match order {
            Order::DepthFirst => open.pop_back(),
            Order::BreadthFirst => open.pop_front(),
        } {
            let events = world.events(&self.mishaps);
            n_ends += usize::from(events.is_empty());
            check(&world, events.is_empty()).map_err(|what| Violation {
                what,
                schedule: self.schedule(&reached, at),
            })?;
            for event in events {
                let mut next = world.clone();
                next.happen(event);
                if seen.insert(next.fingerprint()) {
                    assert!(
                        seen.len() <= self.states_max,
                        "more than {} states",
                        self.states_max
                    );
                    let from = at.map_or(usize::MAX, |at| at);
                    reached.push(Reached { from, event });
                    open.push_back(Open {
                        world: next,
                        at: Some(reached.len() - 1),
                    });
                }
            }
        }
        let n_states = seen.len();
        Ok(Explored { n_states, n_ends })
    }

    /// The events that lead to a state, in words.
    fn schedule(&self, reached: &[Reached], at: Option<usize>) -> Vec<String> {
        let mut events = Vec::new();
        let mut at = at;
        while let Some(step) = at.and_then(|at| reached.get(at)) {
            events.push(step.event);
            at = Some(step.from);
        }
        let mut world = self.start.clone();
        let mut words = Vec::new();
        for event in events.into_iter().rev() {
            words.push(world.happen(event));
        }
        words
    }
}

impl<A: Actor, O: Observer> World<A, O> {
    fn fingerprint(&self) -> u128 {
        let half = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            salt.hash(&mut hasher);
            self.objects.hash(&mut hasher);
            self.late.hash(&mut hasher);
            self.actors.hash(&mut hasher);
            self.observer.hash(&mut hasher);
            self.faults_left.hash(&mut hasher);
            for answers in &self.answers {
                // Answers have no hash of their own; their texts are all that they are.
                format!("{answers:?}").hash(&mut hasher);
            }
            u128::from(hasher.finish())
        };
        half(0) << 64 | half(1)
    }

    /// Returns all that can happen next.
    fn events(&self, mishaps: &[Mishap]) -> Vec<Event> {
        let mut events: Vec<Event> = (0..self.late.len())
            // Equal requests are one event.
            .filter(|late| !self.late[..*late].contains(&self.late[*late]))
            .map(|late| Event::Lands { late })
            .collect();
        for (actor, state) in self.actors.iter().enumerate() {
            let Step::Ask(requests) = state.step() else {
                continue;
            };
            for (request, asked) in requests.iter().enumerate() {
                if self.answers[actor].contains_key(&request) {
                    continue;
                }
                events.push(Event::Happens {
                    actor,
                    request,
                    mishap: None,
                });
                if self.faults_left == 0 {
                    continue;
                }
                let is_read = matches!(asked, Request::Get(_) | Request::List(_));
                // Nobody can tell why a read failed.
                let possible = mishaps
                    .iter()
                    .filter(|it| !is_read || **it == Mishap::Dropped);
                events.extend(possible.map(|mishap| Event::Happens {
                    actor,
                    request,
                    mishap: Some(*mishap),
                }));
            }
        }
        events
    }

    fn do_now(&mut self, request: &Request) -> Answer {
        let answer = self.objects.apply(request);
        self.observer.see(request, &answer, &self.objects);
        answer
    }

    /// Has an event happen. Returns it in words.
    fn happen(&mut self, event: Event) -> String {
        let (actor, index, mishap) = match event {
            Event::Lands { late } => {
                let request = self.late.remove(late);
                let answer = self.do_now(&request);
                return format!("late: {request} -> {answer}");
            }
            Event::Happens {
                actor,
                request,
                mishap,
            } => (actor, request, mishap),
        };
        let Step::Ask(requests) = self.actors[actor].step() else {
            panic!("actor {actor} asks for nothing");
        };
        let request = requests[index].clone();
        let is_read = matches!(request, Request::Get(_) | Request::List(_));
        let unknown = match is_read {
            true => Answer::Failed(StoreErrorKind::Transient),
            false => Answer::Failed(StoreErrorKind::Unknown),
        };
        let (answer, why) = match mishap {
            None => (self.do_now(&request), ""),
            Some(Mishap::LostAnswer) => {
                self.do_now(&request);
                (unknown, ", done, its answer is lost")
            }
            Some(Mishap::Dropped) => (unknown, ", dropped"),
            Some(Mishap::Late) => {
                self.late.push(request.clone());
                // Their order says nothing.
                self.late.sort_by_key(|request| format!("{request:?}"));
                (unknown, ", late")
            }
            Some(Mishap::Refused) => (Answer::Failed(StoreErrorKind::Transient), ", refused"),
        };
        self.faults_left -= usize::from(mishap.is_some());
        let words = format!("actor {actor}: {request} -> {answer}{why}");
        let answers = &mut self.answers[actor];
        answers.insert(index, answer);
        if answers.len() == requests.len() {
            let answers = std::mem::take(answers).into_values().collect();
            self.actors[actor].take(answers);
        }
        words
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Get(key) => write!(f, "get {key}"),
            Self::Put(key, bytes) => write!(f, "put {key} {}", shown(bytes)),
            Self::PutIfAbsent(key, bytes) => write!(f, "put if absent {key} {}", shown(bytes)),
            Self::Delete(key) => write!(f, "delete {key}"),
            Self::List(query) => {
                write!(f, "list {}", query.prefix)?;
                match &query.start_after {
                    Some(start) => write!(f, " behind {start}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Got(bytes) => f.write_str(&shown(bytes)),
            Self::Absent => f.write_str("absent"),
            Self::Listed(page) => {
                let objects = page.objects.iter().map(|listed| listed.key.as_str());
                let names: Vec<&str> = objects
                    .chain(page.folders.iter().map(String::as_str))
                    .collect();
                write!(f, "[{}]", names.join(" "))
            }
            Self::Done => f.write_str("done"),
            Self::Created => f.write_str("created"),
            Self::Exists => f.write_str("exists"),
            Self::Failed(kind) => write!(f, "{kind:?}"),
        }
    }
}

/// Bytes as they are read best: short text as it is, others by their number.
fn shown(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= 60 && !text.chars().any(char::is_control) => format!("{text:?}"),
        _ => format!("({} bytes)", bytes.len()),
    }
}
