//! Command lines of curl: one becomes a request, several become a journey.
//!
//! `words` reads them as a shell does, `arguments` as curl does; this module makes the plan.

mod arguments;
mod glob;
mod sign;
mod words;

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_plan::redact::SecretKind;
use candor_plan::values::{FORM_BOUNDARY, boundary_of};
use toml_edit::{Array, Value};

use self::arguments::{Command, Data};
use crate::draft::{Body, Draft, Journey, Step, counted};
use crate::error::{Format, ImportError};
use crate::finish::finish;
use crate::recorded::{self, Noise, Room, Server, base_url, is_browsers, most_frequent, split_url};
use crate::secrets::Secrets;
use crate::target::{Target, form_encoded, parse_form, sendable};
use crate::template::Template;
use crate::{Imported, Options};

/// A plan from command lines as they would be typed or pasted into a shell.
pub fn curl(bytes: &[u8], options: &Options) -> Result<Imported, ImportError> {
    Format::Curl.check(bytes)?;
    let commands = words::commands(Format::Curl.text(bytes)?)
        .map_err(|words::Fault { at, problem }| ImportError::Curl { at, problem })?;
    let mut draft = Draft::default();
    let mut secrets = Secrets::default();
    let mut requests = Vec::new();
    let mut others = 0_usize;
    for line in &commands {
        match arguments::parse(line)? {
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
    let mut noise = Noise::default();
    let mut room = Room::default();
    let mut beyond = 0;
    for command in &mut requests {
        let Some(word) = command.signs.take() else { continue };
        let refused = |problem: String| ImportError::Curl { at: word.at, problem };
        let auth = sign::auth(command, &word.text, &host(command), &mut secrets);
        command.settings.push(("auth", auth.map_err(refused)?));
    }
    for command in &requests {
        for (index, word) in command.urls.iter().enumerate() {
            let refused = |problem: String| ImportError::Curl { at: word.at, problem };
            let urls = match command.is_verbatim {
                true => vec![word.text.clone()],
                false => glob::expand(&word.text, word.has_expansion).map_err(refused)?,
            };
            for url in urls {
                if found.len() == options.max_requests() || !room.take(command.size() + url.len()) {
                    beyond += 1;
                    continue;
                }
                found.push(step(command, index, &url, &mut noise, &mut secrets).map_err(refused)?);
            }
        }
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
    Ok(finish(draft, secrets))
}

/// The host of a command's first URL; empty if that is none.
fn host(command: &Command) -> String {
    let url = command.urls.first().map_or("", |word| word.text.as_str());
    let server = split_url(url).map(|(server, ..)| server);
    let authority = server.as_ref().map_or("", Server::authority);
    authority.split(':').next().unwrap_or_default().to_owned()
}

/// What curl's options say about all requests.
fn settings(draft: &mut Draft, commands: &[Command], server: &Server) {
    let mut of_some = BTreeSet::new();
    for command in commands {
        for (key, value) in &command.settings {
            let text = value.to_string();
            let is_same = |(known, other): &(_, Value)| known == key && other.to_string() == text;
            let is_of_all = commands.iter().all(|one| one.settings.iter().any(is_same));
            let key = match *key {
                "h2" if !server.is_https() => "h2c-upgrade",
                "h2-prior" => "h2",
                // As in curl, it is for https.
                "h3" if !server.is_https() => continue,
                key => key,
            };
            if !is_of_all {
                of_some.insert(key);
            }
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
    let has = |draft: &Draft, one: &str| draft.settings.iter().any(|(key, _)| *key == one);
    if has(draft, "h3") && (has(draft, "proxy") || has(draft, "unix-socket")) {
        // As in curl, TCP then decides.
        draft.settings.retain(|(key, _)| *key != "h3");
        draft.remark("Left out: HTTP/3, which a plan has without proxies and sockets alone");
    }
    // Versions exclude each other in a plan; the first one that was asked for counts.
    let versions = ["h1", "h2", "h2c-upgrade", "h3"];
    let first = draft.settings.iter().map(|(key, _)| *key).find(|key| versions.contains(key));
    draft.settings.retain(|(key, _)| !versions.contains(key) || Some(*key) == first);
    if has(draft, "h3") {
        // QUIC goes through no proxy, and the environment may name one.
        draft.settings.retain(|(key, _)| *key != "noproxy");
        draft.settings.push(("noproxy", ["*"].into_iter().collect::<Array>().into()));
    }
    // No proxy leads to a socket of this machine, and a plan has no connection elsewhere behind a proxy.
    if has(draft, "unix-socket") {
        draft.settings.retain(|(key, _)| *key != "proxy" && *key != "connect-to");
    } else if has(draft, "proxy") && has(draft, "connect-to") {
        draft.settings.retain(|(key, _)| *key != "connect-to");
        draft.remark("Left out: curl's connect-to: a plan has it or a proxy");
    }
    // Whoever accepts any certificate needs no list of CAs.
    if has(draft, "insecure") {
        draft.settings.retain(|(key, _)| *key != "cacert");
    }
    if !server.is_https() {
        draft.settings.retain(|(key, _)| !["insecure", "cacert", "cert", "key"].contains(key));
    }
    of_some.retain(|key| has(draft, key));
    if !of_some.is_empty() {
        let names = of_some.into_iter().collect::<Vec<_>>();
        draft.remark(format!(
            "Guess: all requests have what one command has, the first that names it: {}",
            names.join(", ")
        ));
    }
}

/// The request for a URL, the `index`th of its command.
fn step(
    command: &Command,
    index: usize,
    url: &str,
    noise: &mut Noise,
    secrets: &mut Secrets,
) -> Result<(Server, Step), String> {
    let scheme = command.scheme.as_deref().filter(|_| !url.contains("://"));
    let url = scheme.map_or(url.to_owned(), |scheme| format!("{scheme}://{url}"));
    let (server, target, user) = split_url(&url).map_err(|error| error.to_string())?;
    let mut step = Step { target, ..Step::default() };
    if !command.keeps_dots {
        step.target.remove_dots();
    }
    let upload = command.upload.get(index);
    let has_body = !command.is_get && (!command.data.is_empty() || !command.form.is_empty());
    step.method = match &command.method {
        Some(method) => method.clone(),
        None if command.is_head => "HEAD".to_owned(),
        None if upload.is_some() => "PUT".to_owned(),
        None if has_body => "POST".to_owned(),
        None => String::new(),
    };
    if let Some(Data::File { name, .. }) = upload
        && let Some(last) =
            step.target.segments.last_mut().filter(|last| last.as_text() == Some(""))
    {
        let name = name.rsplit('/').next().unwrap_or_default();
        *last = Template::text(form_encoded(name));
    }
    let query = command.query.iter().map(|text| sendable(text));
    let query = query.flat_map(|text| parse_form(&text)).collect::<Vec<_>>();
    if !query.is_empty() {
        step.target.extend_query(query);
    }
    // `-d` several times is joined by `&`, `--json` as it is.
    let texts = command.data.iter().filter_map(Data::text).collect::<Vec<_>>();
    let data = texts.join(if command.is_json { "" } else { "&" });
    let mut own = Vec::new();
    let user = match &command.user {
        Some(user) => {
            let (name, password) = user.split_once(':').unwrap_or_else(|| {
                step.remark("guess: the password is empty; curl would ask for it");
                (user, "")
            });
            secrets.hole(SecretKind::Password, password);
            Some(format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))))
        }
        None => user,
    };
    own.extend(user.map(|user| ("Authorization".to_owned(), user)));
    if command.is_get && !command.data.is_empty() {
        step.target.extend_query(parse_form(&sendable(&data)));
    } else if let Some(upload) = upload {
        step.body = Some(match upload {
            Data::File { name, .. } => Body::File(name.clone()),
            Data::Text(text) => Body::Text(Template::text(text)),
        });
    } else if !command.form.is_empty() {
        let kind = format!("multipart/form-data; boundary={FORM_BOUNDARY}");
        own.push(("Content-Type".to_owned(), kind));
    } else if !command.data.is_empty() {
        let kind =
            if command.is_json { "application/json" } else { "application/x-www-form-urlencoded" };
        own.push(("Content-Type".to_owned(), kind.to_owned()));
    }
    let mut fields = command.header(own);
    let kind = fields.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if step.body.is_some() || command.is_get {
    } else if !command.form.is_empty() {
        // curl puts its boundary behind a type of the user's.
        let boundary = match kind {
            Some((_, kind)) => match boundary_of(kind) {
                Some(boundary) => boundary.to_owned(),
                None => {
                    *kind += &format!("; boundary={FORM_BOUNDARY}");
                    FORM_BOUNDARY.to_owned()
                }
            },
            None => FORM_BOUNDARY.to_owned(),
        };
        recorded::form(&mut step, command.form.clone(), &boundary, command.escapes_form);
    } else if let [Data::File { name, is_stripped }] = command.data.as_slice() {
        if *is_stripped {
            step.remark("guess: curl would remove the ends of lines from this file");
        }
        step.body = Some(Body::File(name.clone()));
    } else if !command.data.is_empty() {
        recorded::body(&mut step, kind.map_or("", |(_, kind)| kind), &data);
    }
    for part in &command.data {
        if let Data::File { name, .. } = part
            && !matches!(step.body, Some(Body::File(_)))
        {
            step.remark(format!("left out: file {name}: a body is text or one file"));
        }
    }
    command.own_remarks.iter().for_each(|remark| step.remark(remark));
    if fields.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("authorization") && value.starts_with("Basic ")
    }) {
        step.remark("BASIC_CREDENTIALS is the base64 of user:password");
    }
    noise.header(is_browsers(&fields), &mut step, &server, &fields);
    if let Some(target) = &command.target {
        step.target = match target.as_str() {
            "*" => Target { segments: vec![Template::text(target)], query: None },
            target => Target::parse(target),
        };
    }
    if command.has_expansion {
        step.remark("guess: the shell would replace a $NAME in this command; it stands here as it was typed");
    }
    Ok((server, step))
}
