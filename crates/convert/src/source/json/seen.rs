//! Findings of the first rows about the columns: their keys, and the kinds of their values.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};

use super::lines::{DEPTH_MAX, Members, Value};
use crate::Error;
use crate::source::builders::as_text;
use crate::source::number::{Number, Numbers};
use crate::source::types::Types;

/// The error for a value that does not fit, and where it is.
#[derive(Debug)]
pub(super) struct Misfit {
    /// Keys from the column down, joined by dots.
    pub(super) name: String,
    pub(super) what: String,
    /// Whether text would be a type for all values.
    pub(super) suits_text: bool,
}

impl Misfit {
    pub(super) fn new(what: String) -> Self {
        Self {
            name: String::new(),
            what,
            suits_text: false,
        }
    }

    /// Says that an object has a key twice.
    pub(super) fn twice() -> Self {
        Self::new("there twice".to_owned())
    }

    /// Adds a key in front of the path.
    pub(super) fn under(mut self, key: &str) -> Self {
        self.name = match self.name.is_empty() {
            true => key.to_owned(),
            false => format!("{key}.{}", self.name),
        };
        self
    }

    /// As the error of a line.
    pub(super) fn in_line(self, line: u64) -> Error {
        let advice = match self.suits_text {
            true => as_text(&self.name),
            false => String::new(),
        };
        Error::new(format!("{}{advice}", self.what))
            .in_line(line)
            .in_column(self.name)
    }
}

/// The keys of objects in the order of their first use, and the kinds of their values.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Path of the column or field that the objects are in, with a dot; empty for lines.
    path: String,
    pub(super) names: Vec<String>,
    pub(super) seen: Vec<Seen>,
    pub(super) index: HashMap<String, usize>,
    n_objects: u64,
    /// The object in which each key was last, counted from 1.
    last: Vec<u64>,
}

impl Keys {
    /// The columns that types are asked for, of a file whose rows say none. Dots lead into objects.
    ///
    /// # Errors
    /// A name has more parts than objects may be inside each other.
    pub(super) fn of_types(types: &Types) -> Result<Self, Error> {
        let mut columns = Self::default();
        for name in types.names() {
            let parts: Vec<&str> = name.split('.').collect();
            if parts.len() > DEPTH_MAX {
                let what = format!("--types: objects nested deeper than {DEPTH_MAX}");
                return Err(Error::request(what).in_column(name));
            }
            let mut keys = &mut columns;
            for (n, part) in parts.iter().enumerate() {
                let i = keys.place_of(part, types);
                if n + 1 == parts.len() {
                    break;
                }
                let seen = &mut keys.seen[i];
                let path = format!("{}.", seen.path);
                keys = seen.keys.get_or_insert_with(|| Keys {
                    path,
                    ..Keys::default()
                });
            }
        }
        Ok(columns)
    }

    /// The place of a key, which is added if it is new.
    fn place_of(&mut self, key: &str, types: &Types) -> usize {
        if let Some(i) = self.index.get(key) {
            return *i;
        }
        let place = self.names.len();
        self.index.insert(key.to_owned(), place);
        self.names.push(key.to_owned());
        let path = format!("{}{key}", self.path);
        self.seen.push(Seen::new(path, types));
        self.last.push(0);
        place
    }

    pub(super) fn see(&mut self, members: &Members<'_>, types: &Types) -> Result<(), Misfit> {
        self.n_objects += 1;
        for (key, value) in members {
            let i = self.place_of(key, types);
            if self.last[i] == self.n_objects {
                return Err(Misfit::twice().under(key));
            }
            self.last[i] = self.n_objects;
            self.seen[i]
                .see(value, types)
                .map_err(|misfit| misfit.under(key))?;
        }
        Ok(())
    }

    pub(super) fn fields(&self) -> Fields {
        let fields = self.names.iter().zip(&self.seen);
        let fields = fields.map(|(name, seen)| Field::new(name, seen.data_type(), true));
        fields.collect()
    }
}

/// The kinds of value seen in a column.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Keys from the column down.
    path: String,
    /// The type that is asked for; flat values of every kind go by it.
    pub(super) asked: Option<DataType>,
    boolean: bool,
    pub(super) numbers: Numbers,
    /// `"NaN"` and the infinities: text or float, as the column's other values are.
    special: bool,
    text: bool,
    /// The items of all arrays.
    pub(super) items: Option<Box<Seen>>,
    /// The keys of all objects.
    pub(super) keys: Option<Keys>,
}

impl Seen {
    pub(super) fn new(path: String, types: &Types) -> Self {
        Self {
            asked: types.get(&path).cloned(),
            path,
            ..Self::default()
        }
    }

    pub(super) fn see(&mut self, value: &Value<'_>, types: &Types) -> Result<(), Misfit> {
        match value {
            Value::Null => {}
            Value::Array(items) => {
                let new = || Box::new(Seen::new(self.path.clone(), types));
                let seen = self.items.get_or_insert_with(new);
                items.iter().try_for_each(|item| seen.see(item, types))?;
            }
            Value::Object(members) => {
                let path = || format!("{}.", self.path);
                let new = || Keys {
                    path: path(),
                    ..Keys::default()
                };
                self.keys.get_or_insert_with(new).see(members, types)?;
            }
            _ if self.asked.is_some() => self.text = true,
            Value::Boolean(_) => self.boolean = true,
            Value::Number(text) => {
                // What the parser takes for a number is one.
                if let Some(number) = Number::parse(text) {
                    self.numbers.see(number);
                }
            }
            Value::Text(text) if special(text).is_some() => self.special = true,
            Value::Text(_) => self.text = true,
        }
        let nested = [self.items.is_some(), self.keys.is_some()];
        let flat = [self.boolean, self.numbers.any(), self.text];
        let kinds = nested.iter().chain(&flat).filter(|kind| **kind).count();
        let no_float = self.boolean || nested.contains(&true);
        if kinds > 1 || (no_float && self.special) {
            let what = format!("{value} has another type than in earlier lines");
            return Err(Misfit {
                suits_text: !nested.contains(&true),
                ..Misfit::new(what)
            });
        }
        Ok(())
    }

    pub(super) fn data_type(&self) -> DataType {
        if let Some(items) = &self.items {
            DataType::List(Arc::new(Field::new_list_field(items.data_type(), true)))
        } else if let Some(keys) = &self.keys {
            DataType::Struct(keys.fields())
        } else if let Some(asked) = &self.asked {
            asked.clone()
        } else if self.boolean {
            DataType::Boolean
        } else if self.numbers.any() {
            let mut numbers = self.numbers;
            if self.special {
                numbers.see(Number::Decimal(f64::NAN));
            }
            numbers.data_type()
        } else if self.text || self.special {
            DataType::Utf8
        } else {
            DataType::Null
        }
    }
}

/// The numbers that JSON cannot write.
pub(super) fn special(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}
