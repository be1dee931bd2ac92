//! Requests made of templates: fixed text is copied, holes are filled, and nothing is parsed again.
//!
//! The result is a [`Made`] request as of a script. Escapes keep a value within its place, so that the text is one
//! request whatever the values are. Memory is reused: in the steady state nothing is allocated.

use candor_grpc::FillError;
use candor_plan::journey::{Variables, redirected, step_of};
use candor_plan::template::{Hole, Names, Piece, Template, Unit, Value};
use candor_plan::{Messages, Parts, Request};

use super::sigv4::Signer;
use crate::h1;
use crate::http::wants_length;
use crate::request::{Made, Shape};

/// Where the values of holes come from.
pub trait Values {
    /// Appends this value of the present request to `out`; never called with a [`Value::Group`].
    fn write(&mut self, value: &Value, out: &mut Vec<u8>);

    /// Appends the value of the Cookie field for a request with this path. False: there is none, and nothing was
    /// appended.
    fn write_cookies(&mut self, _path: &[u8], _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Appends the id of the last event of the stream that the request goes on with. False: there is none, and nothing was
    /// appended.
    fn write_last_event_id(&mut self, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// A value does not fit its field of a message: the request must not be sent. `variable`: it is that of this
    /// captured one.
    fn refuse(&mut self, _variable: Option<u32>) {}
}

/// What comes after the path in a request line.
const VERSION: &[u8] = b" HTTP/1.1\r\n";

/// A request of the plan, to be filled again and again.
#[derive(Debug)]
pub struct Form {
    /// The request of the plan that it stands for.
    request: u32,
    method: Vec<Piece>,
    path: Vec<Piece>,
    /// The version and the header lines, each with its end.
    fields: Vec<Piece>,
    body: Body,
    /// The request has a Content-Length of its own.
    has_length: bool,
    /// It may have a Cookie field.
    has_cookies: bool,
    /// It may have a Last-Event-ID.
    resumes: bool,
    /// It is signed.
    signer: Option<Signer>,
    text: Vec<u8>,
    filled_body: Vec<u8>,
    scratch: Vec<u8>,
    shape: Shape,
}

/// A form for each request of a plan; `None`: the request has no holes, no cookies, no credential that is taken or signs, and no
/// stream that is gone on with, and is sent as it stands.
pub fn forms(plan: &Parts) -> Vec<Option<Form>> {
    let journeys = plan.work.journeys();
    let has_cookies =
        |number| step_of(journeys, number).is_some_and(|(journey, _)| journey.cookies);
    let variables = Variables::of(journeys);
    // The plan's check has read it, here and below.
    let schema = plan.wire.calls().and_then(|calls| Some((calls, calls.schema().ok()?)));
    let form = |(number, request): (u32, &Request)| {
        let cookies = has_cookies(number);
        let target = plan.target_of(request);
        let credential = request.credential(target);
        let signer = credential.and_then(|one| one.signs()).map(Signer::new);
        let taken = credential.filter(|one| one.is_taken()).map(|_| {
            let value = Value::Credential(request.target);
            ("Authorization".to_owned(), vec![Piece::Hole(Hole { value, escapes: Vec::new() })])
        });
        let resumes = request.stream.as_ref().is_some_and(|stream| stream.reconnect);
        if !request.holes && !cookies && !resumes && credential.is_none() {
            return None;
        }
        let captured = variables.before(number);
        let names = Names { data: &plan.data, environment: &plan.environment, captured };
        let template = Template::compile(request, number as usize, names).ok()?;
        let first = redirected(journeys, number).filter(|first| *first != number);
        let mut template = match first {
            Some(first) => after(first, plan, &variables, request, template)?,
            None => template,
        };
        template.headers.extend(taken);
        let messages = match &schema {
            Some((calls, schema)) if !request.literal_body => {
                let method = schema.method(&request.path).ok()?;
                Some(Messages::compile(calls, &method, &template.body).ok()?)
            }
            _ => None,
        };
        let form = Form::new(template, request, number, &target.authority, cookies);
        let form = Form { signer, ..form };
        Some(match messages {
            Some(messages) => Form { body: Body::Messages(Box::new(messages)), ..form },
            None => form,
        })
    };
    (0..).zip(plan.work.requests()).map(form).collect()
}

/// The template of a redirect of request `first`: what it has of that has the same random values.
fn after(
    first: u32,
    plan: &Parts,
    variables: &Variables<'_>,
    request: &Request,
    template: Template,
) -> Option<Template> {
    let captured = variables.before(first);
    let names = Names { data: &plan.data, environment: &plan.environment, captured };
    let number = first as usize;
    let first = &plan.work.requests()[number];
    let own = Template::compile(first, number, names).ok()?;
    let field = |(at, field): (usize, (String, Vec<Piece>))| {
        let same = first.headers.iter().position(|one| *one == request.headers[at]);
        same.map_or(field, |at| own.headers[at].clone())
    };
    let headers = template.headers.into_iter().enumerate().map(field).collect();
    let (method, body) = match request.method == first.method {
        true => (own.method, own.body),
        false => (template.method, template.body),
    };
    Some(Template { method, headers, body, ..template })
}

/// What a body is made of.
#[derive(Debug)]
enum Body {
    Text(Vec<Piece>),
    /// Of a call.
    Messages(Box<Messages>),
}

impl Form {
    /// Of a template of `request`, which is number `number` of the plan. `authority` goes into Host, unless the
    /// request has a Host of its own; `has_cookies`: values are asked for cookies.
    pub fn new(
        template: Template,
        request: &Request,
        number: u32,
        authority: &str,
        has_cookies: bool,
    ) -> Self {
        let mut fields = Joined(vec![Piece::Text(VERSION.to_vec())]);
        let has =
            |name: &str| request.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        if !has("host") {
            fields.line("Host", [Piece::Text(authority.as_bytes().to_vec())]);
        }
        for (name, value) in template.headers {
            fields.line(&name, value);
        }
        Form {
            request: number,
            method: template.method,
            path: template.path,
            fields: fields.0,
            body: Body::Text(template.body),
            has_length: has("content-length"),
            has_cookies,
            resumes: request.stream.as_ref().is_some_and(|stream| stream.reconnect),
            signer: None,
            text: Vec::new(),
            filled_body: Vec::new(),
            scratch: Vec::new(),
            shape: Shape {
                whole: 0..0,
                method_bytes: 0,
                path: 0..0,
                fields: 0..0,
                body_bytes: 0,
                is_chunked: false,
                closes: h1::closes(request),
                upgrades: has("upgrade"),
            },
        }
    }

    /// Whether its body is messages.
    pub fn has_messages(&self) -> bool {
        matches!(self.body, Body::Messages(_))
    }

    /// The request with these values.
    pub fn fill(&mut self, values: &mut impl Values) -> Made<'_> {
        let Form { text, filled_body, scratch, shape, body, signer, .. } = self;
        text.clear();
        filled_body.clear();
        put(&self.method, values, text, scratch);
        shape.method_bytes = text.len();
        text.push(b' ');
        let path_start = text.len();
        put(&self.path, values, text, scratch);
        shape.path = path_start..text.len();
        let fields_start = text.len() + VERSION.len();
        put(&self.fields, values, text, scratch);
        if self.has_cookies {
            let start = text.len();
            text.extend_from_slice(b"Cookie: ");
            scratch.clear();
            scratch.extend_from_slice(&text[shape.path.clone()]);
            if values.write_cookies(scratch, text) {
                text.extend_from_slice(b"\r\n");
            } else {
                text.truncate(start);
            }
        }
        if self.resumes {
            let start = text.len();
            text.extend_from_slice(b"Last-Event-ID: ");
            if values.write_last_event_id(text) {
                text.extend_from_slice(b"\r\n");
            } else {
                text.truncate(start);
            }
        }
        match body {
            Body::Text(pieces) => put(pieces, values, filled_body, scratch),
            Body::Messages(messages) => encode(messages, values, filled_body, scratch),
        }
        let wants_length = wants_length(&text[..shape.method_bytes]);
        if (wants_length || !filled_body.is_empty()) && !self.has_length {
            text.extend_from_slice(b"Content-Length: ");
            text.extend_from_slice(itoa::Buffer::new().format(filled_body.len()).as_bytes());
            text.extend_from_slice(b"\r\n");
        }
        if let Some(signer) = signer {
            scratch.clear();
            values.write(&Value::Now(Unit::Date), scratch);
            let places = (shape.method_bytes, shape.path.clone(), fields_start);
            signer.sign(text, places, filled_body, scratch);
        }
        shape.fields = fields_start..text.len();
        text.extend_from_slice(b"\r\n");
        text.extend_from_slice(filled_body);
        shape.whole = 0..text.len();
        shape.body_bytes = filled_body.len();
        Made { raw: text, request: self.request, shape }
    }
}

/// Fills pieces at the end of `out`.
fn put(pieces: &[Piece], values: &mut impl Values, out: &mut Vec<u8>, scratch: &mut Vec<u8>) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.extend_from_slice(text),
            Piece::Hole(hole) => put_hole(hole, values, out, scratch),
        }
    }
}

/// Encodes messages at the end of `out`.
#[inline(never)]
fn encode(
    messages: &mut Messages,
    values: &mut impl Values,
    out: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
) {
    let Messages { encoder, holes, form, kind } = messages;
    let value = |hole: usize, out: &mut Vec<u8>| {
        put(&holes[hole..=hole], values, out, scratch);
    };
    let variable = match encoder.fill(out, value) {
        Ok(()) => return form.carry(*kind, out, scratch),
        Err(FillError::Number { hole, .. } | FillError::Text { hole }) => {
            let mut variables = Vec::new();
            holes[hole].variables(&mut variables);
            variables.first().copied()
        }
        Err(FillError::TooLong) => None,
    };
    values.refuse(variable);
}

fn put_hole(hole: &Hole, values: &mut impl Values, out: &mut Vec<u8>, scratch: &mut Vec<u8>) {
    let start = out.len();
    match &hole.value {
        Value::Group(inner) => put(inner, values, out, scratch),
        value => values.write(value, out),
    }
    for escape in &hole.escapes {
        scratch.clear();
        scratch.extend_from_slice(&out[start..]);
        out.truncate(start);
        escape.write(scratch, out);
    }
}

/// Pieces, with neighbouring text joined.
struct Joined(Vec<Piece>);

impl Joined {
    fn line(&mut self, name: &str, value: impl IntoIterator<Item = Piece>) {
        self.push(Piece::Text(format!("{name}: ").into_bytes()));
        value.into_iter().for_each(|piece| self.push(piece));
        self.push(Piece::Text(b"\r\n".to_vec()));
    }

    fn push(&mut self, piece: Piece) {
        match (self.0.last_mut(), piece) {
            (Some(Piece::Text(last)), Piece::Text(text)) => last.extend_from_slice(&text),
            (_, piece) => self.0.push(piece),
        }
    }
}

/// Fills a text that stands by itself, at the end of `out`.
pub fn write_text(pieces: &[Piece], values: &mut impl Values, out: &mut Vec<u8>) {
    put(pieces, values, out, &mut Vec::new());
}
