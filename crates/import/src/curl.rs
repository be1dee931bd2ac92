//! Command lines of curl: one becomes a request, several become a journey.
//!
//! `words` reads them as a shell does, `arguments` as curl does; this module makes the plan.

mod arguments;
mod words;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_plan::redact::SecretKind;

use self::arguments::{Command, Data};
use crate::draft::{Body, Draft, Journey, Step, counted};
use crate::error::{Format, ImportError, Position};
use crate::recorded::{self, Noise, Room, Server, base_url, most_frequent, split_url};
use crate::secrets::Secrets;
use crate::target::{form_encoded, parse_form, sendable};
use crate::template::Template;
use crate::{Imported, Options};

/// Separates the parts of a form. It is fixed, so that the plan is the same each time.
const BOUNDARY: &str = "candor-7MA4YWxkTrZu0gW";

/// A plan from command lines as they would be typed or pasted into a shell.
pub fn curl(bytes: &[u8], options: &Options) -> Result<Imported, ImportError> {
    Format::Curl.check(bytes)?;
    let commands =
        words::commands(Format::Curl.text(bytes)?).map_err(|unclosed| ImportError::Curl {
            at: unclosed.at,
            problem: format!(
                "the quotation mark {} is not closed; add it at the end of the text",
                unclosed.mark
            ),
        })?;
    let mut draft = Draft::default();
    let mut secrets = Secrets::default();
    let mut requests = Vec::new();
    let mut others = 0_usize;
    for words in &commands {
        match arguments::parse(words)? {
            Some(commands) => requests.extend(commands),
            None => others += 1,
        }
    }
    if others > 0 {
        draft.remark(format!("Left out: {}, not of curl", counted(others, "command")));
    }
    if requests.is_empty() {
        return Err(ImportError::Empty {
            format: Format::Curl,
            problem: "there is no curl command in the text".to_owned(),
            remedy: "begin with `curl` and a URL".to_owned(),
        });
    }
    let mut found: Vec<(Server, Step)> = Vec::new();
    let mut noise = Noise::from_browser(
        requests.iter().flat_map(|one| &one.header).map(|(name, value)| (&**name, &**value)),
    );
    let mut room = Room::default();
    let mut beyond = 0;
    for (command, url) in requests.iter().flat_map(|one| one.urls.iter().map(move |url| (one, url)))
    {
        if found.len() == options.max_requests() || !room.take(command.size() + url.text.len()) {
            beyond += 1;
            continue;
        }
        found.push(step(command, &url.text, url.at, &mut noise, &mut secrets)?);
    }
    if beyond > 0 {
        draft.remark(format!(
            "Left out: {} behind the first {}",
            counted(beyond, "request"),
            found.len()
        ));
    }
    let server = most_frequent(found.iter().map(|(server, _)| server))
        .expect("the first request always fits");
    let elsewhere = found.iter().filter(|(one, _)| *one != server).count();
    if elsewhere > 0 {
        draft.remark(format!(
            "Left out: {} to other servers than {}",
            counted(elsewhere, "request"),
            server.authority()
        ));
    }
    draft.url = base_url(options.url.as_deref(), server.url())?;
    settings(&mut draft, &requests, &server);
    noise.remark(&mut draft);
    let mut steps: Vec<Step> =
        found.into_iter().filter(|(one, _)| *one == server).map(|(_, step)| step).collect();
    if steps.len() == 1 {
        draft.requests = steps;
    } else {
        for step in steps.iter_mut().filter(|step| step.header("cookie").is_some()) {
            step.remark("guess: the cookies are those of the command; `cookies = true` would keep the server's");
        }
        draft.journeys.push(Journey { name: "commands".to_owned(), steps, ..Journey::default() });
    }
    Ok(draft.finish(secrets))
}

/// What curl's options say about all requests.
fn settings(draft: &mut Draft, commands: &[Command], server: &Server) {
    for command in commands {
        for (key, value) in &command.settings {
            let key = match *key {
                "h2" if !server.is_https() => "h2c-upgrade",
                "h2-prior" => "h2",
                key => key,
            };
            if !draft.settings.iter().any(|(known, _)| *known == key) {
                draft.settings.push((key, value.clone()));
            }
        }
        for remark in &command.remarks {
            if !draft.remarks.contains(remark) {
                draft.remark(remark);
            }
        }
    }
    // Versions exclude each other in a plan; the first one that was asked for counts.
    let versions = ["h1", "h2", "h2c-upgrade"];
    let first = draft.settings.iter().map(|(key, _)| *key).find(|key| versions.contains(key));
    draft.settings.retain(|(key, _)| !versions.contains(key) || Some(*key) == first);
    // Whoever accepts any certificate needs no list of CAs.
    if draft.settings.iter().any(|(key, _)| *key == "insecure") {
        draft.settings.retain(|(key, _)| *key != "cacert");
    }
    if !server.is_https() {
        draft.settings.retain(|(key, _)| !["insecure", "cacert", "cert", "key"].contains(key));
    }
}

fn step(
    command: &Command,
    url: &str,
    at: Position,
    noise: &mut Noise,
    secrets: &mut Secrets,
) -> Result<(Server, Step), ImportError> {
    let (server, target, user) =
        split_url(url).map_err(|error| ImportError::Curl { at, problem: error.to_string() })?;
    let mut step = Step { target, ..Step::default() };
    let data = joined(command);
    let has_body = !command.is_get && (!command.data.is_empty() || !command.form.is_empty());
    step.method = match &command.method {
        Some(method) => method.clone(),
        None if command.is_head => "HEAD".to_owned(),
        None if command.upload.is_some() => "PUT".to_owned(),
        None if has_body => "POST".to_owned(),
        None => String::new(),
    };
    let mut fields = command.header.clone();
    if let Some(user) = &command.user {
        let (_, password) = user.split_once(':').unwrap_or((user, ""));
        secrets.hole(SecretKind::Password, password);
        fields.push(("Authorization".to_owned(), format!("Basic {}", STANDARD.encode(user))));
    } else if let Some(user) = user {
        fields.push(("Authorization".to_owned(), user));
    }
    if fields.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("authorization") && value.starts_with("Basic ")
    }) {
        step.remark("BASIC_CREDENTIALS is the base64 of user:password");
    }
    let content_type = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let content_type = content_type.map(|(_, value)| value.clone());
    if command.is_get && !command.data.is_empty() {
        let query = step.target.query.get_or_insert_default();
        query.extend(parse_form(&sendable(&data)));
    } else if let Some(file) = &command.upload {
        step.body = Some(Body::File(file.clone()));
    } else if !command.form.is_empty() {
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        fields.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        fields.push(("Content-Type".to_owned(), kind));
        form(&mut step, command);
    } else if !command.data.is_empty() {
        let kind = content_type.clone().unwrap_or_else(|| command.default_type().to_owned());
        if content_type.is_none() {
            fields.push(("Content-Type".to_owned(), kind.clone()));
        }
        match command.data.as_slice() {
            [Data::File { name, is_stripped }] => {
                if *is_stripped {
                    step.remark("guess: curl would remove the ends of lines from this file");
                }
                step.body = Some(Body::File(name.clone()));
            }
            _ => recorded::body(&mut step, &kind, &data),
        }
        for part in &command.data {
            if let (Data::File { name, .. }, 2..) = (part, command.data.len()) {
                step.remark(format!("left out: file {name}: a body is text or one file"));
            }
        }
    }
    noise.header(&mut step, &server, &fields);
    if command.has_expansion {
        step.remark("guess: the shell would replace a $NAME in this command; it stands here as it was typed");
    }
    Ok((server, step))
}

/// `-d` several times: joined by `&`. `--json` several times: as it is.
fn joined(command: &Command) -> String {
    let separator = if command.is_json { "" } else { "&" };
    let texts = command.data.iter().filter_map(|data| match data {
        Data::Text(text) => Some(text.clone()),
        Data::Encoded { name, value } => Some(match name.is_empty() {
            true => form_encoded(value),
            false => format!("{name}={}", form_encoded(value)),
        }),
        Data::File { .. } => None,
    });
    texts.collect::<Vec<_>>().join(separator)
}

/// RFC 7578: fields with text. Files would have to be read, and cannot stand in a plan.
fn form(step: &mut Step, command: &Command) {
    let mut body = String::new();
    for (name, value) in &command.form {
        if value.starts_with(['@', '<']) {
            step.remark(format!(
                "left out: field {name} with a file; write the whole form to a file and use body-file"
            ));
            continue;
        }
        let name = name.replace('"', "%22").replace(['\r', '\n'], " ");
        body += &format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        );
    }
    body += &format!("--{BOUNDARY}--\r\n");
    step.body = Some(Body::Text(Template::text(body)));
}
