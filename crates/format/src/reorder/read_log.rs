//! An order of columns that is learned from which of them were read together.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use arrow_schema::Schema;

use crate::error::{Error, ErrorKind, Result};
use crate::table::leaf_names;
use crate::write::Fields;

/// Leaf columns of all different reads together, at most.
const COLUMNS_OF_READS_MAX: usize = 1 << 24;

/// Looks from one group of columns at another, at most; reads that would take more are left out of the chain.
const LOOKS_MAX: u64 = 1 << 28;

/// Groups that wait to be placed behind one with which they are read, at most.
const WAITING_MAX: usize = 64;

/// Reads of a table: which columns each of them had. [`ReadLog::order`] learns from them in which order columns lie
/// best.
///
/// ```
/// use tarsia::ReadLog;
/// use tarsia::arrow_schema::{DataType, Field, Schema};
///
/// let fields = ["a", "b", "c", "d"].map(|name| Field::new(name, DataType::Int32, true));
/// let schema = Schema::new(fields.to_vec());
/// let mut log = ReadLog::new(&schema)?;
/// log.add(&["a", "d"], 10)?;
/// log.add(&["c", "d"], 3)?;
/// assert_eq!(log.order(), ["d", "a", "c"]);
/// # Ok::<(), tarsia::Error>(())
/// ```
pub struct ReadLog<'s> {
    fields: Fields<'s>,
    /// Names of leaf columns, each once, in the order of the schema.
    leaves: Vec<String>,
    /// Numbers of the leaf columns, by their names.
    sorted: Vec<u32>,
    /// Numbers of the names that were met.
    names: HashMap<String, u32>,
    /// The leaf columns of each name, as numbers.
    of_name: Vec<Vec<u32>>,
    /// The different reads by the numbers of their names.
    known: HashMap<Vec<u32>, usize>,
    reads: Vec<Read>,
    n_columns: usize,
}

/// A read that happened several times.
struct Read {
    /// Numbers of leaf columns, each once.
    leaves: Vec<u32>,
    count: u64,
}

/// Leaf columns that are always read together.
struct Group {
    leaves: Vec<u32>,
    /// How often they were read.
    count: u64,
    /// The reads that have them, of those in the chain.
    reads: Vec<u32>,
}

impl<'s> ReadLog<'s> {
    /// A log without reads, of a table with this schema.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for types that are not stored.
    pub fn new(schema: &'s Schema) -> Result<Self> {
        let mut seen = HashSet::new();
        let mut leaves = leaf_names(schema)?;
        leaves.retain(|name| seen.insert(name.clone()));
        // A schema has fewer than 2^32 nodes.
        let mut sorted: Vec<u32> = (0..leaves.len() as u32).collect();
        sorted.sort_unstable_by(|one, other| leaves[*one as usize].cmp(&leaves[*other as usize]));
        Ok(Self {
            fields: Fields::of(schema),
            leaves,
            sorted,
            names: HashMap::new(),
            of_name: Vec::new(),
            known: HashMap::new(),
            reads: Vec::new(),
            n_columns: 0,
        })
    }

    /// Adds a read of these columns, which happened `count` times. Names are those of a projection.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchColumn`]; [`ErrorKind::LimitExceeded`] if all different reads have more than 2^24 leaf
    /// columns. Nothing is added then.
    pub fn add(&mut self, columns: &[impl AsRef<str>], count: u64) -> Result<()> {
        let mut names = Vec::with_capacity(columns.len());
        for column in columns {
            names.push(self.number_of(column.as_ref())?);
        }
        names.sort_unstable();
        names.dedup();
        if let Some(read) = self.known.get(&names) {
            let read = &mut self.reads[*read];
            read.count = read.count.saturating_add(count);
            return Ok(());
        }
        let of_names = names.iter().map(|name| self.of_name[*name as usize].len());
        let n_columns = self.n_columns.saturating_add(of_names.sum());
        if n_columns > COLUMNS_OF_READS_MAX {
            let what = format!("different reads of more than {COLUMNS_OF_READS_MAX} columns");
            return Err(Error::new(ErrorKind::LimitExceeded, what));
        }
        self.n_columns = n_columns;
        let leaves = names.iter().flat_map(|name| &self.of_name[*name as usize]);
        let mut leaves: Vec<u32> = leaves.copied().collect();
        leaves.sort_unstable();
        leaves.dedup();
        self.known.insert(names, self.reads.len());
        self.reads.push(Read { leaves, count });
        Ok(())
    }

    /// The number of a name; its leaf columns are looked up when it is met first.
    fn number_of(&mut self, name: &str) -> Result<u32> {
        if let Some(number) = self.names.get(name) {
            return Ok(*number);
        }
        let Some(full) = self.fields.full_name(name)? else {
            let what = format!("no column is named `{}`", name.escape_debug());
            return Err(Error::new(ErrorKind::NoSuchColumn, what));
        };
        let mut leaves = self.sorted[self.starting_with(&format!("{full}."))].to_vec();
        let at = |name: &str| {
            let leaf = |number: &u32| self.leaves[*number as usize].as_str();
            self.sorted
                .binary_search_by(|number| leaf(number).cmp(name))
        };
        // Itself, or a packed struct that it is in.
        let ends = full.rmatch_indices('.').map(|(dot, _)| dot);
        let mut ends = std::iter::once(full.len()).chain(ends);
        if let Ok(own) = at(&full) {
            leaves.push(self.sorted[own]);
        } else if leaves.is_empty()
            && let Some(own) = ends.find_map(|end| at(&full[..end]).ok())
        {
            leaves.push(self.sorted[own]);
        }
        // There are fewer names than bytes of the log.
        let number = self.of_name.len() as u32;
        self.of_name.push(leaves);
        self.names.insert(name.to_owned(), number);
        Ok(number)
    }

    /// The sorted leaf columns whose names start so.
    fn starting_with(&self, prefix: &str) -> Range<usize> {
        let leaf = |number: &u32| self.leaves[*number as usize].as_str();
        let start = self.sorted.partition_point(|number| leaf(number) < prefix);
        let behind = &self.sorted[start..];
        let n = behind.partition_point(|number| leaf(number).starts_with(prefix));
        start..start + n
    }

    /// The leaf columns that were read, in an order in which those that are read together lie together, and those that
    /// are read most come first. A function of the reads and of the order in which they came.
    pub fn order(&self) -> Vec<String> {
        let groups = self.groups();
        let in_order = chain(groups, &self.reads);
        let leaves = in_order.into_iter().flatten();
        leaves
            .map(|leaf| self.leaves[leaf as usize].clone())
            .collect()
    }

    /// Columns that are in the same reads, by partition refinement: each read splits the groups that it has a part of.
    fn groups(&self) -> Vec<Group> {
        let mut class = vec![0u32; self.leaves.len()];
        let mut n_classes = 1u32;
        for read in &self.reads {
            let mut split = HashMap::new();
            for leaf in &read.leaves {
                let class = &mut class[*leaf as usize];
                *class = *split.entry(*class).or_insert_with(|| {
                    n_classes += 1;
                    n_classes - 1
                });
            }
        }
        let mut numbers = HashMap::new();
        let mut groups: Vec<Group> = Vec::new();
        // Class 0 is in no read.
        for (leaf, class) in (0..).zip(class).filter(|(_, class)| *class > 0) {
            let number = *numbers.entry(class).or_insert(groups.len());
            match groups.get_mut(number) {
                Some(group) => group.leaves.push(leaf),
                None => groups.push(Group {
                    leaves: vec![leaf],
                    count: 0,
                    reads: Vec::new(),
                }),
            }
        }
        groups
    }
}

/// The groups one behind the other, each as its columns: after each one that of the rest which is read most often
/// together with it; where there is none, with the one before it, and so on; at last the one that is read most.
fn chain(mut groups: Vec<Group>, reads: &[Read]) -> Vec<Vec<u32>> {
    let first_leaves = groups.iter().zip(0u32..);
    let of_leaf: HashMap<u32, u32> = first_leaves
        .map(|(group, number)| (group.leaves[0], number))
        .collect();
    let groups_of = |read: &Read| -> Vec<u32> {
        let found = read.leaves.iter().filter_map(|leaf| of_leaf.get(leaf));
        found.copied().collect()
    };
    let mut lists: Vec<Vec<u32>> = reads.iter().map(groups_of).collect();
    for (list, read) in lists.iter().zip(reads) {
        for group in list {
            let count = &mut groups[*group as usize].count;
            *count = count.saturating_add(read.count);
        }
    }
    let mut often: Vec<usize> = (0..reads.len()).collect();
    often.sort_by_key(|read| Reverse(reads[*read].count));
    let mut looks = 0u64;
    for read in often {
        let n = lists[read].len() as u64;
        match looks + n * n <= LOOKS_MAX {
            true => {
                looks += n * n;
                for group in &lists[read] {
                    groups[*group as usize].reads.push(read as u32);
                }
            }
            false => lists[read].clear(),
        }
    }
    let mut most: Vec<usize> = (0..groups.len()).collect();
    most.sort_by_key(|group| Reverse(groups[*group].count));
    let mut most = most.into_iter();
    let mut placed = vec![false; groups.len()];
    let mut together = vec![0u64; groups.len()];
    let mut order = Vec::with_capacity(groups.len());
    // What is read together with the groups placed last, the best at the end.
    let mut waiting: Vec<Vec<u32>> = Vec::new();
    loop {
        let next = match waiting.last_mut() {
            Some(list) => match list.pop() {
                Some(group) => group as usize,
                None => {
                    waiting.pop();
                    continue;
                }
            },
            None => match most.next() {
                Some(group) => group,
                None => return order,
            },
        };
        if placed[next] {
            continue;
        }
        placed[next] = true;
        order.push(std::mem::take(&mut groups[next].leaves));
        let mut met: Vec<u32> = Vec::new();
        for read in &groups[next].reads {
            let list = &mut lists[*read as usize];
            list.retain(|group| !placed[*group as usize]);
            for group in list {
                let together = &mut together[*group as usize];
                if *together == 0 {
                    met.push(*group);
                }
                *together = together.saturating_add(reads[*read as usize].count.max(1));
            }
        }
        // Of equals the one that is read less without it, then the first of the schema.
        let apart = |group: u32| groups[group as usize].count;
        met.sort_by_key(|group| (Reverse(together[*group as usize]), apart(*group), *group));
        for group in &met {
            together[*group as usize] = 0;
        }
        met.truncate(WAITING_MAX);
        met.reverse();
        waiting.push(met);
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};
    use tarsia_testkit::rng::Rng;

    use super::*;

    fn schema(n: usize) -> Schema {
        let fields = (0..n).map(|i| Field::new(format!("c{i}"), DataType::Int32, true));
        Schema::new(fields.collect::<Vec<_>>())
    }

    /// Runs of neighbours that a read takes in an order, where columns that it lacks come last.
    fn runs(order: &[String], read: &[String]) -> usize {
        let wanted: HashSet<_> = read.iter().collect();
        let is_wanted: Vec<_> = order.iter().map(|name| wanted.contains(name)).collect();
        let starts = |at: &usize| is_wanted[*at] && (*at == 0 || !is_wanted[*at - 1]);
        (0..order.len()).filter(starts).count()
    }

    #[test]
    fn columns_that_are_read_together_lie_together() {
        let schema = schema(20);
        let mut log = ReadLog::new(&schema).unwrap();
        log.add(&["c1", "c9", "c17"], 5).unwrap();
        log.add(&["c2", "c17", "c3"], 7).unwrap();
        log.add(&["c17", "c1", "c9", "c1"], 5).unwrap();
        log.add(&["c0", "c19"], 11).unwrap();
        log.add(&[] as &[&str], 100).unwrap();
        assert_eq!(log.order(), ["c17", "c1", "c9", "c2", "c3", "c0", "c19"]);
        let error = log.add(&["c1", "c20"], 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSuchColumn);
        assert!(error.to_string().contains("`c20`"), "{error}");
    }

    #[test]
    fn names_lead_to_leaf_columns() {
        let inner = vec![
            Field::new("x", DataType::Int8, true),
            Field::new("y", DataType::Utf8, true),
        ];
        let item = Field::new("item", DataType::Struct(inner.clone().into()), true);
        let fields = vec![
            Field::new("s", DataType::Struct(inner.into()), true),
            Field::new("s-t", DataType::Int8, true),
            Field::new("l", DataType::List(item.into()), true),
        ];
        let schema = Schema::new(fields);
        let mut log = ReadLog::new(&schema).unwrap();
        log.add(&["l.y"], 9).unwrap();
        log.add(&["l.item.y", "s"], 2).unwrap();
        assert_eq!(log.order(), ["l.item.y", "s.x", "s.y"]);
        assert!(log.add(&["l.z"], 9).is_err());
    }

    #[test]
    fn a_name_of_several_columns_is_refused() {
        let int = |name: &str| Field::new(name, DataType::Int8, true);
        let inside = Field::new("s", DataType::Struct(vec![int("x")].into()), true);
        let fields = vec![int("a"), int("b"), int("a"), inside.clone(), inside];
        let schema = Schema::new(fields);
        let mut log = ReadLog::new(&schema).unwrap();
        for name in ["a", "s", "s.x"] {
            let error = log.add(&["b", name], 1).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NoSuchColumn);
            assert!(error.to_string().contains("several columns"), "{error}");
        }
        log.add(&["b"], 1).unwrap();
        assert_eq!(log.order(), ["b"]);
    }

    #[test]
    fn models_of_a_wide_table_need_fewer_runs() {
        let schema = schema(5_000);
        let mut rng = Rng::new(5);
        let mut log = ReadLog::new(&schema).unwrap();
        let mut reads = Vec::new();
        // Features that nearly all have, and some of their own, strewn over the table.
        for _ in 0..40 {
            let mut read: Vec<_> = (0..60).map(|i| format!("c{}", i * 83)).collect();
            read.extend((0..100).map(|_| format!("c{}", rng.u64() % 5_000)));
            read.sort();
            read.dedup();
            log.add(&read, 1 + rng.u64() % 100).unwrap();
            reads.push(read);
        }
        let order = log.order();
        let by_schema: Vec<_> = (0..5_000).map(|i| format!("c{i}")).collect();
        let total = |order: &[String]| reads.iter().map(|read| runs(order, read)).sum::<usize>();
        let (before, after) = (total(&by_schema), total(&order));
        println!("{before} runs in the order of the schema, {after} as learned");
        assert!(after * 3 < before, "{before} -> {after}");
        let distinct: HashSet<_> = order.iter().collect();
        assert_eq!(distinct.len(), order.len());
    }

    /// Reads with all columns, and very many reads.
    #[test]
    fn work_is_bounded() {
        let schema = schema(2_000);
        let mut log = ReadLog::new(&schema).unwrap();
        let mut rng = Rng::new(1);
        for _ in 0..500 {
            let n = 1 + rng.u64() % 2_000;
            let read: Vec<_> = (0..n).map(|_| format!("c{}", rng.u64() % 2_000)).collect();
            log.add(&read, u64::MAX).unwrap();
        }
        assert_eq!(log.order().len(), 2_000);
        let field = |name: String| Field::new(name, DataType::Int8, true);
        let inner: Vec<_> = (0..4_000).map(|i| field(format!("f{i}"))).collect();
        let fields = (0..5_000).map(|i| field(format!("c{i}")));
        let wide = Field::new("s", DataType::Struct(inner.into()), true);
        let schema = Schema::new(fields.chain([wide]).collect::<Vec<_>>());
        let mut log = ReadLog::new(&schema).unwrap();
        let errors = (0..5_000).find_map(|i| log.add(&["s", &format!("c{i}")], 1).err());
        assert_eq!(errors.unwrap().kind(), ErrorKind::LimitExceeded);
        assert!(log.order().len() > 8_000);
    }
}
