//! Data files: name, file and order, as one text or as a table of a plan.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::values::{ValueError, near_one_of, one_of, refuse};
use crate::work::{DataFormat, DataOrder};

/// A data set and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: DataFile,
}

/// A file of rows, and how they are given out: the table `[data.NAME]` of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataFile {
    /// The file.
    pub file: PathBuf,
    /// Which row each request has.
    #[serde(default, deserialize_with = "order")]
    pub order: DataOrder,
    /// How the file has its rows; by default its name tells.
    #[serde(default, deserialize_with = "format")]
    pub format: Option<DataFormat>,
}

impl DataFile {
    /// How the file has its rows.
    pub fn format(&self) -> DataFormat {
        let end = self.file.extension().map(|end| end.to_ascii_lowercase());
        match (self.format, end.as_deref().and_then(|end| end.to_str())) {
            (Some(format), _) => format,
            (None, Some("jsonl" | "ndjson" | "jsonlines")) => DataFormat::JsonLines,
            (None, _) => DataFormat::Csv,
        }
    }
}

fn order<'de, D: Deserializer<'de>>(input: D) -> Result<DataOrder, D::Error> {
    one_of(&String::deserialize(input)?).map_err(D::Error::custom)
}

fn format<'de, D: Deserializer<'de>>(input: D) -> Result<Option<DataFormat>, D::Error> {
    match String::deserialize(input)?.as_str() {
        "csv" => Ok(Some(DataFormat::Csv)),
        "jsonl" => Ok(Some(DataFormat::JsonLines)),
        other => Err(D::Error::custom(format_args!("{other:?} is not a format; use csv or jsonl"))),
    }
}

impl FromStr for DataFile {
    type Err = ValueError;

    /// `FILE[:ORDER]`; an end that is no order, and nearly none, is part of the name.
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (file, order) = match text.rsplit_once(':') {
            Some((file, order)) => match one_of::<DataOrder>(order) {
                Ok(order) => (file, order),
                Err(error) if !near_one_of::<DataOrder>(order).is_empty() => {
                    return refuse(format!("the order {order:?} is {error}"));
                }
                Err(_) => (text, DataOrder::default()),
            },
            None => (text, DataOrder::default()),
        };
        if file.is_empty() {
            return refuse("no file; use FILE[:ORDER], e.g. users.csv:shuffle");
        }
        Ok(DataFile { file: file.into(), order, format: None })
    }
}

impl FromStr for Data {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let Some((name, file)) = text.split_once('=') else {
            return refuse(format!(
                "`{text}` has no name; use NAME=FILE[:ORDER], e.g. users=users.csv:shuffle"
            ));
        };
        Ok(Data { name: name_of(name)?, file: file.parse()? })
    }
}

fn name_of(name: &str) -> Result<String, ValueError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || !name.chars().all(is_name) {
        return refuse(format!("`{name}` is not a name for data; use letters, digits, - and _"));
    }
    Ok(name.to_owned())
}

/// One file of a list of URLs.
pub(super) fn urls<'de, D: Deserializer<'de>>(input: D) -> Result<Option<DataFile>, D::Error> {
    String::deserialize(input)?.parse().map(Some).map_err(D::Error::custom)
}

/// Data sets as `NAME=FILE[:ORDER]`, as a list of those, or as tables by name.
pub(super) fn data<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Data>, D::Error> {
    struct All;

    impl<'de> Visitor<'de> for All {
        type Value = Vec<Data>;

        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("tables such as [data.users], or \"NAME=FILE[:ORDER]\"")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<Data>, E> {
            text.parse().map(|one| vec![one]).map_err(E::custom)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Data>, A::Error> {
            let mut all = Vec::new();
            while let Some(one) = list.next_element::<String>()? {
                all.push(one.parse().map_err(A::Error::custom)?);
            }
            Ok(all)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut tables: A) -> Result<Vec<Data>, A::Error> {
            let mut all = Vec::new();
            while let Some(name) = tables.next_key::<String>()? {
                let name = name_of(&name).map_err(A::Error::custom)?;
                all.push(Data { name, file: tables.next_value()? });
            }
            Ok(all)
        }
    }

    input.deserialize_any(All)
}
