//! Names of columns: which ones templates can use, and how a row finds its columns by name.

use std::collections::HashMap;

use crate::MOST_COLUMNS;
use crate::fault::{Problem, shown};

/// Names without duplicates.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: Vec<String>,
    by_name: HashMap<String, usize>,
}

impl Names {
    /// Adds a name. It is of letters, digits, `_`, `-` and `.`, with blanks in between: `${set.name}`
    /// in a template must end where it seems to end.
    pub(crate) fn add(&mut self, name: &[u8]) -> Result<(), Problem> {
        let column = self.names.len() + 1;
        if column > MOST_COLUMNS {
            return Err(Problem::Columns);
        }
        if name.is_empty() {
            return Err(Problem::Unnamed(column));
        }
        // What is no UTF-8 becomes a character that no name can have.
        let name = String::from_utf8_lossy(name);
        let is_fine = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
        let edge = name.strip_prefix(' ').or(name.strip_suffix(' ')).map(|_| ' ');
        if let Some(character) = name.chars().find(|c| !is_fine(*c)).or(edge) {
            let name = shown(name.as_bytes());
            return Err(Problem::Name { column, name, character });
        }
        if let Some(first) = self.by_name.insert(name.to_string(), column - 1) {
            let name = shown(name.as_bytes());
            return Err(Problem::SameName { first: first + 1, second: column, name });
        }
        self.names.push(name.into_owned());
        Ok(())
    }

    /// The column of a name, if there is one. `likely` is looked at first: rows mostly have their
    /// members in the order of the first one.
    #[inline]
    pub(crate) fn find(&self, name: &str, likely: usize) -> Option<usize> {
        match self.names.get(likely) {
            Some(one) if one == name => Some(likely),
            _ => self.by_name.get(name).copied(),
        }
    }

    /// The names in the order of the columns.
    pub(crate) fn list(&self) -> &[String] {
        &self.names
    }
}
