//! Arrow arrays of machine-learning features, made smaller before they are written and made whole after they are read.
//!
//! Source: "Bullion: A Column Store for Machine Learning", CIDR 2025, section 2.4. Nothing is lost: every value comes
//! back with the bits it had. Any writer of Arrow can write the arrays; this crate depends on no other crate of Tarsia.
//!
//! | for | what | how |
//! |---|---|---|
//! | floats, embeddings | [`dual`] | a struct of two fields of half the width; the first alone is a rounded value |
//! | rounded floats | [`stored`] | the 16 or 8 bits that they were rounded to, as columns of that width |
//! | ids | [`IdMap`] | dense numbers from 0 on, in the order in which ids first appear |
//!
//! Both take values themselves and lists of them: `List`, `LargeList` and `FixedSizeList`, in each other as well.
//! Sliced arrays are taken as they are; the result holds what the slice shows. The errors are
//! [`ArrowError::InvalidArgumentError`](arrow_schema::ArrowError::InvalidArgumentError), and those of Arrow for arrays
//! that its lists, structs and batches refuse.
//!
//! # What this crate does not do
//! It reads and writes no files, and encodes nothing: that small numbers take few bits is the work of encodings. It
//! does not look into structs, maps, dictionaries and list views. It rounds nothing away: writers do, for columns that
//! their user names.
#![forbid(unsafe_code)]

mod columns;
pub mod dual;
mod error;
mod ids;
mod nested;
pub mod stored;

pub use ids::IdMap;
