//! The values of requests that have holes: rows of data files, counters and random numbers, credentials.
//!
//! Every value but the time and a credential is a pure function of the plan and the request's index, so that the requests
//! of a run are the same for any number of threads and machines. Files are opened and checked before the run; while it
//! goes on a thread reads rows of its own accord, and a file that changes meanwhile ends the run.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use candor_data::{Fault, Rows, Selection, Table};
use candor_memory::{Memory, Sites};
use candor_pace::{Limit, Ranks, below, draw};
use candor_plan::template::{Piece, Unit, Value};
use candor_plan::units::Utc;
use candor_plan::url::HttpUrl;
use candor_plan::{DataOrder, Load, Plan, Request, Secrets};
use candor_protocol::made::{Form, Values, forms, write_text};
use candor_protocol::{Made, Outgoing};

use crate::control::Control;
use crate::credentials::{Credentials, Held};
use crate::error::EngineError;
use crate::load::share;

/// The data sets of a plan, opened. All threads share them.
#[derive(Debug)]
pub(crate) struct Tables {
    sets: Vec<Arc<Table>>,
    pub(crate) once: Option<Once>,
    credentials: Option<Arc<Credentials>>,
}

/// Rows that are given out once, to users of the warm-up too.
#[derive(Debug)]
pub(crate) struct Once {
    /// How many there are.
    pub(crate) rows: u64,
    /// In an open load, who has which of them.
    ranks: Option<Arc<Ranks>>,
    /// In an open load, how many measured requests have one, if they are fewer than would be made.
    pub(crate) count: Option<u64>,
}

impl Once {
    fn new(plan: &Plan, rows: u64) -> Result<Self, EngineError> {
        let Load::Open(load) = &plan.load else {
            return Ok(Once { rows, ranks: None, count: None });
        };
        let ranks = |limit| Ranks::new(load, plan.seed, limit);
        let warm_up_ns = plan.recording.warm_up_ns;
        let of_warm_up = ranks(Limit { end_ns: Some(warm_up_ns), ..Limit::default() }).count();
        let Some(left) = rows.checked_sub(of_warm_up).filter(|left| *left > 0) else {
            return Err(EngineError::RowsInWarmUp { rows });
        };
        let count = Some(left).filter(|left| plan.stop.count.is_none_or(|count| count > *left));
        let limit = Limit { measured_count: count.or(plan.stop.count), ..share::limit(plan) };
        Ok(Once { rows, ranks: Some(Arc::new(ranks(limit))), count })
    }
}

impl Tables {
    /// Opens and checks every file, unless stopped.
    pub(crate) fn open(plan: &Plan, control: &Control) -> Result<Self, EngineError> {
        let open = |set| {
            let table = Table::open(set, &|| control.is_stopping())?;
            match table.site() {
                Some(site) if !is_target(site, plan) => Err(EngineError::Site {
                    file: set.file.display().to_string(),
                    site: site.shown(),
                    target: plan.secrets.url(&plan.target.url),
                }),
                _ => Ok(Arc::new(table)),
            }
        };
        let sets = plan.data.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let once = plan.data.iter().zip(&sets).filter(|(set, _)| set.order == DataOrder::Once);
        let rows = once.map(|(_, table)| table.rows()).min();
        let once = rows.map(|rows| Once::new(plan, rows)).transpose()?;
        Ok(Tables { sets, once, credentials: control.credentials() })
    }

    /// Files with lines that cannot be used, and how many.
    pub(crate) fn unusable<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = (&'a Path, u64)> {
        let sets = plan.data.iter().zip(&self.sets);
        let all = sets.map(|(set, table)| (set.file.as_path(), table.unusable_lines()));
        all.filter(|(_, lines)| *lines > 0)
    }

    /// The plan, which ends when the rows are used.
    pub(crate) fn limited<'a>(&self, plan: &'a Plan) -> Result<Cow<'a, Plan>, EngineError> {
        match self.once.as_ref().and_then(|once| once.count) {
            None => Ok(Cow::Borrowed(plan)),
            count => Ok(Cow::Owned(plan.with(|parts| parts.stop.count = count)?)),
        }
    }
}

/// The values that the first `count` indices of the load have: of each index, for each data set, those of its columns
/// in order.
///
/// # Errors
/// A file cannot be read, or has a broken row; or `control` stopped the reading.
pub fn rows(
    plan: &Plan,
    count: u64,
    control: &Control,
) -> Result<Vec<Vec<Vec<Vec<u8>>>>, EngineError> {
    let mut row = Row::new(plan, &Tables::open(plan, control)?);
    let mut of_index = |index| {
        row.of(Owner { index, ..Owner::default() });
        let sets = plan.data.iter().enumerate();
        let values = sets.map(|(set, one)| {
            let columns = 0..one.columns.len();
            columns.map(|column| row.column(set, column).map(<[u8]>::to_vec)).collect()
        });
        Ok(values.collect::<Result<_, Fault>>()?)
    };
    (0..count).map(&mut of_index).collect()
}

/// How many measured requests, or users, of an open load have a row of the plan's data; `None`: all that it would make.
///
/// # Errors
/// A file cannot be read, or has a broken row, or the warm-up takes all rows.
pub fn rows_limit(plan: &Plan) -> Result<Option<u64>, EngineError> {
    let tables = Tables::open(plan, &Control::default())?;
    Ok(tables.once.and_then(|once| once.count))
}

/// The rows of a plan's data sets, as one thread reads them for a script: those of any index of the load.
#[derive(Debug)]
pub struct DataRows(Row);

impl DataRows {
    pub(crate) fn new(plan: &Plan, tables: &Tables) -> Self {
        DataRows(Row::new(plan, tables))
    }

    /// The number of the row that an index has in a data set, from 0. `None`: there is no such set.
    pub fn number(&self, set: usize, index: u64) -> Option<u64> {
        self.0.sets.get(set)?.row(index)
    }

    /// The value of a column in the row of an index. Data sets and columns are numbered from 0, as in the plan;
    /// empty if there is none with this number.
    ///
    /// # Errors
    /// The file cannot be read, or has changed.
    pub fn value(&mut self, set: usize, column: usize, index: u64) -> Result<&[u8], EngineError> {
        if set >= self.0.sets.len() {
            return Ok(&[]);
        }
        self.0.of(Owner { index, ..Owner::default() });
        Ok(self.0.column(set, column)?)
    }
}

/// Whether URLs of `site` are the target's. Where connections go is the plan's affair.
fn is_target(site: &HttpUrl, plan: &Plan) -> bool {
    HttpUrl::parse(&plan.target.url).is_ok_and(|target| {
        let is_host = target.host.eq_ignore_ascii_case(&site.host);
        is_host && (target.port, target.is_https) == (site.port, site.is_https)
    })
}

/// Keeps the choice of rows independent of the values of holes, whose numbers are below.
const DATA_STREAM: u64 = u64::MAX;
/// And that of repetitions.
const REPETITIONS: u64 = u64::MAX - 1;

/// What one thread fills requests with.
pub(crate) struct Filling {
    /// Of each request of the plan, if it has holes.
    forms: Vec<Option<Form>>,
    row: Row,
    seed: u64,
    text: Vec<u8>,
    /// The request that a list of URLs fills in, and whether its values may be shown.
    listed: Option<u32>,
    secrets: Secrets,
}

/// Who a request is filled for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Owner<'a> {
    /// Of the request in the load, or of the user.
    pub(crate) index: u64,
    /// Of the user when it came for the first time.
    pub(crate) first: u64,
    /// How often the user made this request before.
    pub(crate) repetition: u32,
    /// What the user remembers.
    pub(crate) memory: Option<&'a Memory>,
    /// How the user's cookies are sent; `None`: not at all.
    pub(crate) cookies: Option<Cookies<'a>>,
    /// The id of the last event of the stream that the user goes on with; empty: there is none.
    pub(crate) last_event_id: &'a [u8],
}

/// What decides which cookies are sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cookies<'a> {
    /// Seconds since 1970.
    pub(crate) now_s: u64,
    /// The sites of the plan, and which of them the request goes to.
    pub(crate) site: (&'a Sites, u16),
}

impl Owner<'_> {
    /// The seed of random values: repetitions differ.
    fn seed(&self, seed: u64) -> u64 {
        if self.repetition == 0 { seed } else { draw(seed, REPETITIONS, self.repetition.into()) }
    }
}

impl Filling {
    /// `None` where no request has holes.
    pub(crate) fn new(plan: &Plan, tables: &Tables) -> Option<Self> {
        let forms = forms(plan);
        let is_needed = forms.iter().any(Option::is_some) || plan.work.has_users();
        is_needed.then(|| {
            let row = Row::new(plan, tables);
            let listed = plan.work.requests().iter().position(Request::is_of_list);
            let listed = listed.map(|number| number as u32);
            Filling { forms, row, seed: plan.seed, text: Vec::new(), listed, secrets: plan.secrets }
        })
    }

    /// The request line of a request that a list of URLs fills in, without what may be a secret.
    pub(crate) fn line(&mut self, request: u32, owner: Owner<'_>) -> Option<String> {
        let secrets = self.secrets;
        if self.listed != Some(request) {
            return None;
        }
        let made = self.fill(request, owner)?;
        let (method, path) = (made.method(), String::from_utf8_lossy(made.path()));
        Some(format!("{} {}", String::from_utf8_lossy(method), secrets.path(&path)))
    }

    /// Whether this request of the plan has holes.
    #[inline]
    pub(crate) fn has(&self, request: u32) -> bool {
        self.forms[request as usize].is_some()
    }

    /// The request with the values of somebody; `None`: a row cannot be read or does not fit, and nothing may
    /// be sent.
    pub(crate) fn fill(&mut self, request: u32, owner: Owner<'_>) -> Option<Made<'_>> {
        let form = self.forms[request as usize].as_mut()?;
        self.row.of(owner);
        let made = form.fill(&mut Of { row: &mut self.row, seed: owner.seed(self.seed), owner });
        (!self.row.has_failed).then_some(made)
    }

    /// A request of the plan, with the values of somebody where it has holes; `None` as in [`Filling::fill`].
    #[inline]
    pub(crate) fn write(&mut self, request: u32, owner: Owner<'_>) -> Option<Outgoing<'_>> {
        if !self.has(request) {
            return Some(Outgoing::Listed(request));
        }
        self.fill(request, owner).map(Outgoing::Made)
    }

    /// Whether this request is a call whose messages have holes.
    pub(crate) fn has_messages(&self, request: u32) -> bool {
        self.forms[request as usize].as_ref().is_some_and(Form::has_messages)
    }

    /// The captured variable whose value does not fit into the request's messages.
    pub(crate) fn unfit(&mut self, request: u32, owner: Owner<'_>) -> Option<u32> {
        let form = self.forms[request as usize].as_mut()?;
        self.row.of(owner);
        let had_failed = self.row.has_failed;
        form.fill(&mut Of { row: &mut self.row, seed: owner.seed(self.seed), owner });
        // Everything else is found again when it is to be sent.
        self.row.has_failed = had_failed;
        self.row.refused.take()?
    }

    /// A text with the values of somebody.
    pub(crate) fn text(&mut self, pieces: &[Piece], owner: Owner<'_>) -> &[u8] {
        self.text.clear();
        self.row.of(owner);
        let mut values = Of { row: &mut self.row, seed: owner.seed(self.seed), owner };
        write_text(pieces, &mut values, &mut self.text);
        &self.text
    }

    /// Whether a row could not be read, or a value does not fit into its message.
    pub(crate) fn has_failed(&self) -> bool {
        self.row.has_failed
    }
}

/// The values of one index.
#[derive(Debug)]
struct Row {
    sets: Vec<Set>,
    credentials: Option<Held>,
    index: u64,
    /// The index of a user when it came for the first time.
    first: u64,
    /// It could not be read, or has a value that does not fit.
    has_failed: bool,
    /// The last value that did not fit: that of this captured variable, or another one.
    refused: Option<Option<u32>>,
}

#[derive(Debug)]
struct Set {
    rows: Rows,
    selection: Selection,
    /// Where the numbers of the load have gaps and the rows have none.
    ranks: Option<Arc<Ranks>>,
    /// A user keeps its row.
    is_of_users: bool,
    /// The index whose row it is at.
    present: Option<u64>,
}

impl Set {
    /// The number of the row that an index of the load has.
    fn row(&self, index: u64) -> Option<u64> {
        self.selection.row(self.ranks.as_ref().map_or(index, |ranks| ranks.rank(index)))
    }
}

impl Row {
    fn new(plan: &Plan, tables: &Tables) -> Self {
        // Two files with as many rows are not in the same order.
        let of_users = plan.sets_of_users();
        let seed = |number: usize| draw(plan.seed, DATA_STREAM, number as u64);
        let sets = plan.data.iter().zip(&tables.sets).enumerate();
        let sets = sets.map(|(number, (set, table))| Set {
            rows: Rows::new(Arc::clone(table)),
            selection: Selection::new(set.order, table.rows(), seed(number)),
            ranks: match set.order {
                DataOrder::Once => tables.once.as_ref().and_then(|once| once.ranks.clone()),
                _ => None,
            },
            is_of_users: of_users.contains(&number),
            present: None,
        });
        let credentials = tables.credentials.clone().map(Held::new);
        let sets = sets.collect();
        Row { sets, credentials, index: 0, first: 0, has_failed: false, refused: None }
    }

    fn of(&mut self, owner: Owner<'_>) {
        (self.index, self.first) = (owner.index, owner.first);
    }

    fn column(&mut self, set: usize, column: usize) -> Result<&[u8], Fault> {
        let set = &mut self.sets[set];
        let index = if set.is_of_users { self.first } else { self.index };
        if set.present != Some(index) {
            // There is a row for every index of the load: the run ends before.
            set.rows.go_to(set.row(index).unwrap_or_default())?;
            set.present = Some(index);
        }
        Ok(set.rows.value(column))
    }
}

/// The values of somebody.
struct Of<'a> {
    row: &'a mut Row,
    seed: u64,
    owner: Owner<'a>,
}

impl Of<'_> {
    fn draw(&self, hole: u64) -> u64 {
        draw(self.seed, hole, self.owner.index)
    }
}

impl Values for Of<'_> {
    fn write(&mut self, value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::Index => digits(self.owner.index, out),
            Value::Now(unit) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                match unit {
                    Unit::Seconds => digits(now.as_secs(), out),
                    Unit::Millis => digits(now.as_millis() as u64, out),
                    Unit::Nanos => digits(now.as_nanos() as u64, out),
                    Unit::Date => {
                        // Writing to memory does not fail.
                        let _ = write!(out, "{}Z", Utc(now.as_secs()));
                    }
                }
            }
            Value::Chars { least, most, draw: hole } => {
                const OF: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
                let bits = self.draw(*hole);
                let count = least + below(u128::from(most - least) + 1, bits) as u32;
                let one = |at| OF[below(OF.len() as u128, draw(bits, *hole, at)) as usize];
                out.extend((0..u64::from(count)).map(one));
            }
            Value::Random { low, high, draw } => {
                let count = u128::from(high.abs_diff(*low)) + 1;
                digits(low.wrapping_add_unsigned(below(count, self.draw(*draw))), out);
            }
            Value::Choice { of, draw } => {
                let which = below(of.len() as u128, self.draw(*draw)) as usize;
                out.extend_from_slice(of[which].as_bytes());
            }
            Value::Uuid { draw: hole } => {
                uuid(self.draw(*hole), draw(!self.seed, *hole, self.owner.index), out);
            }
            Value::Column { set, column } => match self.row.column(*set, *column) {
                Ok(value) => out.extend_from_slice(value),
                Err(_) => self.row.has_failed = true,
            },
            Value::Variable(number) => {
                // A step whose variables have no values is not sent; in a condition that is nothing.
                let value = self.owner.memory.and_then(|memory| memory.value(*number as u32));
                out.extend_from_slice(value.unwrap_or_default());
            }
            // A run with credentials begins when it has them.
            Value::Credential(target) => {
                self.row.credentials.iter_mut().for_each(|held| held.write(*target, out));
            }
            Value::Group(_) => {}
        }
    }

    fn write_cookies(&mut self, path: &[u8], out: &mut Vec<u8>) -> bool {
        let Owner { memory: Some(memory), cookies: Some(cookies), .. } = self.owner else {
            return false;
        };
        memory.write_cookies(cookies.site, path, cookies.now_s, out)
    }

    fn write_last_event_id(&mut self, out: &mut Vec<u8>) -> bool {
        // Blanks at its ends are none of a field's value (RFC 9110 5.5).
        let id = self.owner.last_event_id.trim_ascii();
        out.extend_from_slice(id);
        !id.is_empty()
    }

    fn refuse(&mut self, variable: Option<u32>) {
        self.row.has_failed = true;
        self.row.refused = Some(variable);
    }
}

/// Appends a UUID of version 4 (RFC 9562 5.4) made of these bits.
fn uuid(high: u64, low: u64, out: &mut Vec<u8>) {
    let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xfff);
    let (d, e) = (low >> 48 & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
    // Writing to memory does not fail.
    let _ = write!(out, "{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}");
}

/// Appends a number in decimal digits.
fn digits(number: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_row() -> Row {
        Row {
            sets: Vec::new(),
            credentials: None,
            index: 0,
            first: 0,
            has_failed: false,
            refused: None,
        }
    }

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        let mut out = Vec::new();
        uuid(0, 0, &mut out);
        out.push(b' ');
        uuid(u64::MAX, u64::MAX, &mut out);
        let expected = "00000000-0000-4000-8000-000000000000 ffffffff-ffff-4fff-bfff-ffffffffffff";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn random_characters_have_their_length_and_their_seed() {
        let mut row = no_row();
        let mut chars = |least, most, draw, index| {
            let owner = Owner { index, ..Owner::default() };
            let mut out = Vec::new();
            Of { row: &mut row, seed: 1, owner }
                .write(&Value::Chars { least, most, draw }, &mut out);
            String::from_utf8(out).unwrap()
        };
        let one = chars(8, 8, 1, 0);
        assert!(one.len() == 8 && one.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{one}");
        assert_eq!(one, chars(8, 8, 1, 0));
        assert!(one != chars(8, 8, 2, 0) && one != chars(8, 8, 1, 1));
        let lengths: Vec<usize> = (0..1000).map(|index| chars(2, 16, 1, index).len()).collect();
        assert!((2..=16).all(|length| lengths.contains(&length)));
        assert!(lengths.iter().all(|length| (2..=16).contains(length)));
        // Each of 62 with the same probability: 1,000 expected of 62,000; 4σ is 126.
        let long = chars(62_000, 62_000, 1, 5);
        for one in [b'A', b'z', b'0', b'9'] {
            let count = long.bytes().filter(|byte| *byte == one).count();
            assert!((874..=1126).contains(&count), "{}: {count}", one as char);
        }
    }

    #[test]
    fn random_numbers_stay_in_their_range_and_reach_its_ends() {
        let mut row = no_row();
        let mut number = |low, high, index| {
            let owner = Owner { index, ..Owner::default() };
            let mut out = Vec::new();
            Of { row: &mut row, seed: 1, owner }
                .write(&Value::Random { low, high, draw: 1 }, &mut out);
            String::from_utf8(out).unwrap().parse::<i64>().unwrap()
        };
        let drawn: Vec<i64> = (0..1000).map(|index| number(-1, 2, index)).collect();
        for one in -1..=2 {
            let count = drawn.iter().filter(|drawn| **drawn == one).count();
            // 250 expected; 4σ is 55.
            assert!((195..=305).contains(&count), "{one}: {count}");
        }
        assert_eq!(number(7, 7, 3), 7);
        let wide: Vec<i64> = (0..100).map(|index| number(i64::MIN, i64::MAX, index)).collect();
        assert!(
            wide.iter().any(|one| *one < i64::MIN / 2)
                && wide.iter().any(|one| *one > i64::MAX / 2)
        );
    }
}
