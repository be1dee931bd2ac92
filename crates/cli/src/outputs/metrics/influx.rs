//! `influx:URL`: each finished interval as a point in InfluxDB's line protocol, sent by POST. The fields are the figures
//! of an interval's summary, and its errors by kind.

use std::fmt::Write as _;

use candor_record::Stretch;
use candor_report::Document;
use serde_json::Value;

use super::post::{Dialect, Form, Outgoing, url_and_token};
use super::{errors, joined};
use crate::console;
use crate::exit::UserError;
use crate::outputs::{Making, Output};

pub(in crate::outputs) const NAME: &str = "influx";
/// The variable that has a token for the server.
const TOKEN: &str = "INFLUX_TOKEN";

struct Influx {
    out: Outgoing,
    tags: String,
}

pub(in crate::outputs) fn make(to: &Making<'_>) -> Result<Box<dyn Output>, UserError> {
    const EXAMPLE: &str = "http://127.0.0.1:8086/api/v2/write?org=ORG&bucket=BUCKET";
    let (url, authorization) = url_and_token(NAME, to.place, EXAMPLE, (TOKEN, "Token"))?;
    let fields = authorization + "Content-Type: text/plain; charset=utf-8\r\n";
    let dialect = Dialect::PLAIN;
    let form = Form { kind: NAME, items: "points", fields, is_call: false, dialect, other: None };
    let tags = joined(to.tags, "", |tag| format!(",{}={}", tag.name, escaped(&tag.value)));
    Ok(Box::new(Influx { out: Outgoing::new(form, &url)?, tags }))
}

impl Output for Influx {
    fn stretch(&mut self, stretch: &Stretch<'_>) {
        let at_ns = self.out.unix_ns(stretch.summary.end_ns);
        let mut fields = Vec::new();
        let summary = serde_json::to_value(stretch.summary).unwrap_or_default();
        add_fields(&mut fields, "", &summary);
        let errors = errors(&stretch.interval.ledger).filter(|(_, count)| *count > 0);
        fields.extend(errors.map(|(name, count)| format!("error_{name}={count}i")));
        let (tags, fields) = (&self.tags, fields.join(","));
        self.out.offer(format!("candor{tags} {fields} {at_ns}\n").into_bytes(), 1);
    }

    fn end(mut self: Box<Self>, document: &Document) -> Result<(), UserError> {
        let at_ns = self.out.unix_ns(document.time.elapsed_ns);
        let (mut points, tags) = (String::new(), &self.tags);
        for one in &document.expectations {
            let (objective, outcome) = (escaped(&one.expression), one.outcome.word());
            let measured = one.measured.map(|value| format!(",measured={value}"));
            let measured = measured.unwrap_or_default();
            let _ = writeln!(
                points,
                "candor_objective,objective={objective}{tags} outcome=\"{outcome}\"{measured} {at_ns}"
            );
        }
        if !points.is_empty() {
            self.out.offer(points.into_bytes(), document.expectations.len() as u64);
        }
        if let Some(lost) = self.out.end()? {
            console::say(lost);
        }
        Ok(())
    }
}

/// The numbers of a value as fields.
fn add_fields(fields: &mut Vec<String>, name: &str, value: &Value) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                let between = if name.is_empty() { "" } else { "_" };
                add_fields(fields, &format!("{name}{between}{member}"), value);
            }
        }
        // A field keeps its type: a count is always an integer.
        Value::Number(number) if number.is_u64() => fields.push(format!("{name}={number}i")),
        Value::Number(number) => fields.push(format!("{name}={number}")),
        _ => {}
    }
}

/// The value of a tag.
fn escaped(value: &str) -> String {
    value.replace(',', "\\,").replace(' ', "\\ ").replace('=', "\\=")
}
