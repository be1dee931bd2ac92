//! Rows of comma-separated values, as RFC 4180 has them and no looser.
//!
//! Readers of CSV commonly take a quote in the middle of a field, text after a closing quote and a
//! quote that never closes, and each of them makes other values of it. A run would then send values
//! that were not meant, so all of these are refused here. What is taken beyond the RFC is unambiguous:
//! lines may end in LF, the last one in nothing, and empty lines are skipped.

use memchr::{memchr, memchr_iter, memchr2_iter};

use crate::MOST_COLUMNS;
use crate::fault::{Problem, Wrong};
use crate::names::Names;
use crate::step::Step;
use crate::values::Values;

/// Bytes that continue a field without quotes.
const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    plain[b',' as usize] = false;
    plain[b'"' as usize] = false;
    plain[b'\n' as usize] = false;
    plain[b'\r' as usize] = false;
    plain
};

/// Decodes the row that `bytes` begin with. `is_last`: the file ends with them.
pub(crate) fn row(
    bytes: &[u8],
    is_last: bool,
    columns: usize,
    out: &mut Values,
) -> Result<Step, Wrong> {
    let (step, found) = fields(bytes, is_last, columns, out)?;
    match step {
        Step::Row { .. } if found != columns => {
            Err(Problem::Fields { found, expected: columns }.into())
        }
        step => Ok(step),
    }
}

/// Finds the end of a row that has been checked before: the first line feed after an even number of
/// quotes. Its line breaks are not counted.
pub(crate) fn skip(bytes: &[u8], is_last: bool) -> Step {
    if let Some(step) = empty_line(bytes, is_last) {
        return step;
    }
    let mut is_in_quotes = false;
    for at in memchr2_iter(b'"', b'\n', bytes) {
        match bytes[at] {
            b'"' => is_in_quotes = !is_in_quotes,
            _ if is_in_quotes => {}
            _ => return Step::Row { length: at + 1, lines: 0 },
        }
    }
    match is_last {
        true => Step::Row { length: bytes.len(), lines: 0 },
        false => Step::More,
    }
}

/// Reads the names of the columns, without the blanks around them.
pub(crate) fn header(bytes: &[u8], is_last: bool, names: &mut Names) -> Result<Step, Wrong> {
    let mut values = Values::default();
    let (step, found) = fields(bytes, is_last, MOST_COLUMNS + 1, &mut values)?;
    if let Step::Row { .. } = step {
        for column in 0..found.min(MOST_COLUMNS + 1) {
            names.add(values.value(column).trim_ascii())?;
        }
    }
    Ok(step)
}

/// What is wrong with a row that begins with `bytes` and does not end in time.
pub(crate) fn too_long(bytes: &[u8]) -> Wrong {
    match fields(bytes, true, 0, &mut Values::default()) {
        Err(wrong) => wrong,
        Ok(_) => Problem::Long.into(),
    }
}

/// Decodes a row's fields and counts them; keeps at most the number that is allowed.
fn fields(
    bytes: &[u8],
    is_last: bool,
    most: usize,
    out: &mut Values,
) -> Result<(Step, usize), Wrong> {
    if let Some(step) = empty_line(bytes, is_last) {
        return Ok((step, 0));
    }
    let (mut at, mut lines, mut count) = (0, 0, 0);
    loop {
        let is_quoted = bytes.get(at) == Some(&b'"');
        match is_quoted {
            true => match quoted(&bytes[at..], is_last, lines, out)? {
                Some((length, breaks)) => (at, lines) = (at + length, lines + breaks),
                None => return Ok((Step::More, 0)),
            },
            false => {
                let rest = &bytes[at..];
                let length = rest.iter().position(|byte| !PLAIN[*byte as usize]);
                let length = length.unwrap_or(rest.len());
                out.write(&rest[..length]);
                at += length;
            }
        }
        count += 1;
        if count <= most {
            out.end();
        }
        at = match bytes[at..] {
            [b',', ..] => {
                at += 1;
                continue;
            }
            [b'\n', ..] => at + 1,
            [b'\r', b'\n', ..] => at + 2,
            [] | [b'\r'] if is_last => bytes.len(),
            [] | [b'\r'] => return Ok((Step::More, 0)),
            _ => {
                let problem = match bytes[at] {
                    _ if is_quoted => Problem::AfterQuote,
                    b'\r' => Problem::CarriageReturn,
                    _ => Problem::QuoteInside,
                };
                return Err(Wrong { lines, problem });
            }
        };
        return Ok((Step::Row { length: at, lines: lines + 1 }, count));
    }
}

fn empty_line(bytes: &[u8], is_last: bool) -> Option<Step> {
    match bytes {
        [b'\n', ..] => Some(Step::Skip { length: 1 }),
        [b'\r', b'\n', ..] => Some(Step::Skip { length: 2 }),
        [b'\r'] if is_last => Some(Step::Skip { length: 1 }),
        [] | [b'\r'] => Some(Step::More),
        _ => None,
    }
}

/// Decodes the quoted field that `bytes` begin with: its length with quotes, and its line breaks.
/// None: it goes on after `bytes`. `lines`: the line breaks of the row before it.
fn quoted(
    bytes: &[u8],
    is_last: bool,
    lines: u64,
    out: &mut Values,
) -> Result<Option<(usize, u64)>, Wrong> {
    let (mut at, mut breaks) = (1, 0);
    loop {
        let Some(length) = memchr(b'"', &bytes[at..]) else {
            return match is_last {
                true => Err(Wrong { lines, problem: Problem::OpenQuote }),
                false => Ok(None),
            };
        };
        let part = &bytes[at..at + length];
        out.write(part);
        breaks += memchr_iter(b'\n', part).count() as u64;
        at += length + 1;
        match bytes.get(at) {
            Some(b'"') => {
                out.write(b"\"");
                at += 1;
            }
            _ => return Ok(Some((at, breaks))),
        }
    }
}
