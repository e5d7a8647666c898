//! One Arrow value as JSON or as a CSV field.
//!
//! | type                              | JSON                                              | CSV                          |
//! |-----------------------------------|---------------------------------------------------|------------------------------|
//! | null                              | `null`                                            | empty field                  |
//! | integers, booleans                | number, `true`, `false`                           | the same                     |
//! | floats                            | shortest number that reads back the same          | the same                     |
//! | NaN and infinities                | `"NaN"`, `"Infinity"`, `"-Infinity"`              | the same, unquoted           |
//! | text                              | string                                            | quoted where needed          |
//! | decimals                          | string with all digits                            | the same, unquoted           |
//! | dates, times of day, timestamps   | ISO 8601 string; a number where there is no such text | ISO 8601; else refused   |
//! | durations, intervals              | ISO 8601 duration string                          | the same, unquoted           |
//! | binary                            | base64 string                                     | refused                      |
//! | dictionaries                      | the value                                         | the value                    |
//! | run-end arrays                    | the value                                         | the value                    |
//! | lists and list views of any kind  | array                                             | refused                      |
//! | structs                           | object                                            | refused                      |
//! | maps                              | array of entries, which are objects               | refused                      |
//! | unions                            | object whose one key is the chosen field's name   | refused                      |

mod cell;
mod object;
mod rows;
mod scalars;
mod style;

pub use cell::{cell, holds};
pub use rows::{JsonRows, repeated_name};
pub(crate) use style::csv_text;
pub use style::{Cell, Style, escape_controls};
