//! Options of tables and of files that are written.

use std::collections::HashMap;

use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use tarsia::{Preset, WriteOptions};

/// Options of a table (`CREATE EXTERNAL TABLE … OPTIONS (…)`) and of files that are written (`COPY … OPTIONS (…)`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TarsiaOptions {
    /// `pushdown`: whether filters are evaluated by the scan (default). Otherwise the engine evaluates them, and the
    /// scan passes over the rows that they rule out by zones.
    pub pushdown: bool,
    /// `preset`: size against speed of files that are written.
    pub preset: Preset,
    /// `zones`: whether files that are written have zones, by which filters pass over rows (default).
    pub zones: bool,
}

impl Default for TarsiaOptions {
    fn default() -> Self {
        Self {
            pushdown: true,
            preset: Preset::default(),
            zones: true,
        }
    }
}

impl TarsiaOptions {
    /// Reads options as they stand in a statement. Names may begin with `format.`, as those of other formats do.
    ///
    /// # Errors
    /// A name that there is not, and a value that it does not have.
    pub fn parse(options: &HashMap<String, String>) -> Result<Self> {
        let mut parsed = Self::default();
        for (name, value) in options {
            let name = name.to_ascii_lowercase();
            match name.strip_prefix("format.").unwrap_or(&name) {
                "pushdown" => parsed.pushdown = parse_bool(&name, value)?,
                "zones" => parsed.zones = parse_bool(&name, value)?,
                "preset" => {
                    let preset = value.to_ascii_lowercase().parse();
                    parsed.preset = preset.map_err(|error: tarsia::Error| {
                        DataFusionError::Plan(format!("option `{name}`: {error}"))
                    })?;
                }
                _ => {
                    return plan_err!(
                        "Tarsia has no option `{name}`; there are preset, pushdown, zones"
                    );
                }
            }
        }
        Ok(parsed)
    }

    pub(crate) fn of_writer(&self) -> WriteOptions {
        WriteOptions::new()
            .with_preset(self.preset)
            .with_zones(self.zones)
    }
}

fn parse_bool(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => plan_err!("option `{name}` is true or false, not `{value}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, value: &str) -> Result<TarsiaOptions> {
        TarsiaOptions::parse(&HashMap::from([(name.to_owned(), value.to_owned())]))
    }

    #[test]
    fn options_are_read_and_refused_by_name() {
        assert_eq!(
            TarsiaOptions::parse(&HashMap::new()).unwrap(),
            TarsiaOptions::default()
        );
        let compact = parse("format.preset", "Compact").unwrap();
        assert_eq!(compact.preset, Preset::Compact);
        assert!(!parse("pushdown", "FALSE").unwrap().pushdown);
        assert!(!parse("format.zones", "false").unwrap().zones);
        let refused = |name, value| parse(name, value).unwrap_err().to_string();
        assert!(refused("preset", "tiny").contains("no preset `tiny`"));
        assert!(refused("zones", "1").contains("true or false, not `1`"));
        assert!(refused("format.level", "9").contains("no option `format.level`"));
    }
}
