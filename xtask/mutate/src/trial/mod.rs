//! A damaged file and the commands that it goes through.

mod bench;
mod fault;
mod import;
mod tarsia;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use tarsia_testkit::rng::Rng;

use crate::corpus::{Corpus, Original};
use crate::kind::Kind;
use crate::mutation::{Damage, damage};
use crate::process::{Done, Runner};

use bench::Bench;
pub(crate) use bench::{Find, Outcome};
use tarsia::Given;

/// In so many of 100 resealed files the checksums inside blocks stay: each of them has to be looked at by itself.
const AROUND_BLOCKS_PERCENT: u32 = 20;

/// A run that ended.
pub(crate) struct Verdict {
    pub(crate) number: u64,
    pub(crate) kind: Kind,
    /// The name of the sound file.
    pub(crate) original: String,
    pub(crate) file: Vec<u8>,
    pub(crate) outcome: Outcome,
    pub(crate) n_commands: u64,
    pub(crate) finds: Vec<Find>,
}

/// The name of the damaged file in the folder of its run.
pub(crate) fn input_name(kind: Kind) -> String {
    format!("in.{}", kind.extension())
}

/// All that runs share.
pub(crate) struct Trials {
    corpus: Corpus,
    seed: u64,
    only: Option<Kind>,
    /// Results on the Tarsia files of the corpus, as far as runs needed them.
    given: Vec<OnceLock<Given>>,
}

impl Trials {
    pub(crate) fn new(corpus: Corpus, seed: u64, only: Option<Kind>) -> Trials {
        let given = corpus
            .of(Kind::Plain)
            .iter()
            .map(|_| OnceLock::new())
            .collect();
        Trials {
            corpus,
            seed,
            only,
            given,
        }
    }

    /// Damages a file and runs commands on it. `show` gets each of them with how it ended.
    ///
    /// # Errors
    /// Where commands cannot be run, which is no find.
    pub(crate) fn run(
        &self,
        number: u64,
        runner: &Runner,
        folder: &Path,
        show: &mut dyn FnMut(&[String], &Done),
    ) -> io::Result<Verdict> {
        let mut rng = Rng::new(self.seed);
        // Numbers that follow each other begin far from each other.
        let mut rng = Rng::new(rng.u64() ^ Rng::new(number).u64());
        let picked = Kind::pick(&mut rng);
        let kind = self.only.unwrap_or(picked);
        let originals = self.corpus.of(kind);
        let at = rng.below(originals.len());
        let (original, other) = (&originals[at], rng.pick(originals));
        let file = damaged(&mut rng, kind, original, other);
        let mut verdict = Verdict {
            number,
            kind,
            original: original.name.clone(),
            file,
            outcome: Outcome::Unchanged,
            n_commands: 0,
            finds: Vec::new(),
        };
        if verdict.file == original.bytes {
            return Ok(verdict);
        }
        let mut bench = Bench::new(runner, folder, input_name(kind), show);
        verdict.outcome = match kind.is_tarsia() {
            true => {
                let given = self.given(at, runner)?;
                bench.put(&verdict.file)?;
                tarsia::run(&mut bench, &mut rng, kind, original, given)?
            }
            false => {
                bench.put(&verdict.file)?;
                import::run(&mut bench, kind, original, &verdict.file)?
            }
        };
        if fs::read(folder.join(&bench.input)).ok().as_ref() != Some(&verdict.file) {
            bench.find(&[], "the input was changed".to_owned(), "");
        }
        verdict.n_commands = bench.n_commands;
        verdict.finds = bench.finds;
        Ok(verdict)
    }

    /// Returns the results on the sound file.
    fn given(&self, at: usize, runner: &Runner) -> io::Result<&Given> {
        if let Some(given) = self.given[at].get() {
            return Ok(given);
        }
        let folder = tarsia_driving::scratch::folder()?;
        let mut silent = |_: &[String], _: &Done| {};
        let mut bench = Bench::new(runner, folder.path(), input_name(Kind::Plain), &mut silent);
        let original = &self.corpus.of(Kind::Plain)[at];
        bench.put(&original.bytes)?;
        let given = tarsia::given(&mut bench, original)?;
        Ok(self.given[at].get_or_init(|| given))
    }
}

fn damaged(rng: &mut Rng, kind: Kind, original: &Original, other: &Original) -> Vec<u8> {
    let mut file = original.bytes.clone();
    let what = match kind {
        Kind::Resealed => Damage::Overwrite,
        _ if kind.is_text() => Damage::Text,
        _ => Damage::Bytes,
    };
    damage(rng, what, &original.places, &mut file, &other.bytes);
    if let (Kind::Resealed, Some(tarsia)) = (kind, &original.tarsia) {
        match rng.percent(AROUND_BLOCKS_PERCENT) {
            true => tarsia.seals.reseal_around_blocks(&mut file),
            false => tarsia.seals.reseal(&mut file),
        }
    }
    file
}
