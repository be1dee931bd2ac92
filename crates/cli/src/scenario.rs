//! `--scenario`: a built-in scenario in the place of requests of one's own. It says what is sent, over which version of
//! HTTP, and what the responses must be. Crate lab defines scenarios; nothing is sent here but by its probes.

use candor_lab::suite::content::Contents;
use candor_lab::suite::file;
use candor_lab::suite::meaning::Meaning;
use candor_lab::suite::model::Scenario;
use candor_lab::target::Announced;
use candor_lab::{Interrupt, LabError, TargetSpec};
use candor_plan::options::Options;
use candor_plan::{Outputs, Plan};
use candor_report::Document;

use crate::exit::UserError;
use crate::files::Disk;

const FLAG: &str = "--scenario";

/// The scenario of a run, if it has one.
#[derive(Debug, Default)]
pub(crate) struct Chosen(Option<Scenario>);

/// What responses are held against before and after runs; nothing without a scenario.
#[derive(Default)]
pub(crate) struct Meant(Option<Meaning>);

impl Chosen {
    /// The scenario that was typed: its requests and its options of runs are those of `options`, as far as these leave
    /// them open.
    pub(crate) fn typed(name: Option<&String>, options: &mut Options) -> Result<Self, UserError> {
        let Some(name) = name else { return Ok(Chosen(None)) };
        if let Some(own) = own_request(options) {
            return Err(UserError::usage(format!(
                "{FLAG} {name}: a scenario has its own requests; leave it or {own} out"
            )));
        }
        Ok(Chosen::named(file::built_in_of_name(FLAG, name)?, options))
    }

    /// The scenario for which a target was started, where the user asked for nothing else. A target may announce one
    /// that we do not know: its path and method are followed then.
    pub(crate) fn announced(self, announced: &Announced, options: &mut Options) -> Self {
        let Some(name) = announced.about.get("scenario") else { return self };
        if self.0.is_some() || options.url.is_some() || own_request(options).is_some() {
            return self;
        }
        match file::built_in_of_name(FLAG, name) {
            Ok(known) => Chosen::named(known, options),
            Err(_) => self,
        }
    }

    fn named(scenario: Scenario, options: &mut Options) -> Self {
        *options = std::mem::take(options).or(scenario.run.clone());
        Chosen(Some(scenario))
    }

    /// The embedded target with the protocol that `options` or the scenario ask for.
    pub(crate) fn embedded(&self, options: &Options) -> Result<TargetSpec, LabError> {
        let needs_tls = self.0.as_ref().is_some_and(needs_tls);
        let tls = match options.http2.is_h3() {
            true => Some("--h3".to_owned()),
            false => (options.tls.tls || needs_tls).then(|| "--tls".to_owned()),
        };
        let arguments = self.0.iter().flat_map(|one| one.embedded_arguments.iter().cloned());
        TargetSpec::embedded(arguments.chain(tls))
    }

    /// The plan of a run, and what its responses are held against.
    pub(crate) fn build(&self, mut options: Options) -> Result<(Plan, Outputs, Meant), UserError> {
        let Some(scenario) = &self.0 else {
            let (plan, outputs) = options.build(&Disk)?;
            return Ok((plan, outputs, Meant(None)));
        };
        let files = Contents { files: &Disk };
        carry(scenario, &mut options)?;
        let build = |options: Options| {
            let wrong =
                |error| UserError::from(error).of_part(format_args!("{FLAG} {}", scenario.name));
            options.build(&files).map_err(wrong)
        };
        let (plan, outputs) = build(options.clone())?;
        let probed = |options| build(options).map(|(plan, _)| plan);
        let server = plan.secrets.url(&plan.target.url).to_string();
        let meaning = Meaning::new(scenario, &server, &plan, options, probed)?;
        Ok((plan, outputs, Meant(Some(meaning))))
    }
}

impl Meant {
    /// Holds the responses of the target against the scenario, before a run.
    pub(crate) fn check(&self, interrupt: &Interrupt) -> Result<(), LabError> {
        match &self.0 {
            Some(meaning) => meaning.check("before the run", &interrupt.next_run()),
            None => Ok(()),
        }
    }

    /// The same after it.
    pub(crate) fn check_after(
        &self,
        document: &Document,
        interrupt: &Interrupt,
    ) -> Result<(), LabError> {
        match &self.0 {
            Some(meaning) => meaning.check_after(document, "after the run", &interrupt.next_run()),
            None => Ok(()),
        }
    }
}

/// An option by which the user says what is sent.
fn own_request(options: &Options) -> Option<&'static str> {
    let requests = &options.requests;
    let given = [
        ("--method", requests.method.is_some()),
        ("--body", requests.body.is_some()),
        ("--body-file", requests.body_file.is_some()),
        ("--form", !requests.form.is_empty()),
        ("--urls", requests.urls.is_some()),
        ("--script", options.script.script.is_some()),
        ("--call", options.calls.call.is_some()),
        ("[[request]]", !requests.request.is_empty()),
        ("[[journey]]", !requests.journey.is_empty()),
    ];
    given.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
}

fn needs_tls(scenario: &Scenario) -> bool {
    scenario.protocols.iter().all(|one| one.is_tls())
}

/// Chooses the version of HTTP of a scenario that is of one version only, and the scheme of a WebSocket.
fn carry(scenario: &Scenario, options: &mut Options) -> Result<(), UserError> {
    let wrong = |why: &str| Err(UserError::usage(format!("{FLAG} {}: {why}", scenario.name)));
    options.url = options.url.take().map(|url| scenario.url(url));
    let is_tls = |url: &String| url.starts_with("https:") || url.starts_with("wss:");
    if needs_tls(scenario) && !options.url.as_ref().is_some_and(is_tls) {
        return wrong("it is sent over TLS only; give an https:// URL");
    }
    let http2 = &mut options.http2;
    let asks_other = http2.h2 || http2.h2c || http2.h2c_upgrade || http2.is_h3();
    let is_open = !http2.h1 && !asks_other && options.tls.alpn.is_none();
    if scenario.protocols.iter().all(|one| one.is_h2()) {
        if http2.h1 {
            return wrong("it is sent over HTTP/2; leave --h1 out");
        }
        http2.h2 |= is_open;
    } else if scenario.protocols.iter().all(|one| one.is_h1()) {
        if asks_other {
            return wrong(
                "it is sent over HTTP/1.1; leave --h2 out, and start the target for HTTP/1.1",
            );
        }
        http2.h1 |= is_open;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(name: &str, url: &str, change: impl Fn(&mut Options)) -> Result<Options, String> {
        let mut options = Options { url: Some(url.to_owned()), ..Options::default() };
        change(&mut options);
        let scenario = file::built_in_of_name(FLAG, name).unwrap();
        carry(&scenario, &mut options).map(|()| options).map_err(|error| error.to_string())
    }

    #[test]
    fn a_scenario_of_one_version_is_sent_over_it() {
        let asked = |name: &str, url: &str| {
            let http2 = carried(name, url, |_| ()).unwrap().http2;
            (http2.h1, http2.h2)
        };
        assert_eq!(asked("hello", "http://h/"), (false, false));
        assert_eq!(asked("httparena_upload_20mb_auto", "http://h/"), (true, false));
        assert_eq!(asked("gzip_response", "https://h/"), (true, false));
        assert_eq!(asked("multi_stream_h2", "http://h/"), (false, true));
        assert_eq!(asked("tls_handshake_throughput", "https://h/"), (false, true));
        let announced = carried("multi_stream_h2", "http://h/", |one| one.http2.h2c = true);
        assert!(!announced.unwrap().http2.h2, "h2c is HTTP/2, too");
        let socket = carried("websocket_msg_throughput", "https://h:1/", |_| ()).unwrap();
        assert_eq!(socket.url.unwrap(), "wss://h:1/");
        for (name, url, h1, words) in [
            ("tls_handshake_throughput", "http://h/", false, "give an https:// URL"),
            ("multi_stream_h2", "http://h/", true, "leave --h1 out"),
            ("pipelined_h1", "http://h/", false, "leave --h2 out"),
        ] {
            let asked = |one: &mut Options| (one.http2.h1, one.http2.h2) = (h1, !h1);
            let why = carried(name, url, asked).unwrap_err();
            assert!(why.contains(words) && why.contains(name), "{why}");
        }
    }

    #[test]
    fn it_has_its_own_requests_and_those_of_no_one_else() {
        let typed = |name: &str, change: &dyn Fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            Chosen::typed(Some(&name.to_owned()), &mut options)
                .map(|_| options)
                .map_err(|error| error.to_string())
        };
        let upload = typed("httparena_upload_20mb_auto", &|one| {
            one.load.duration = "1s".parse().ok();
        });
        let upload = upload.unwrap();
        let sent = &upload.requests.request[0];
        assert_eq!(sent.method, "POST".parse().ok());
        assert!(sent.body_file.is_some() && sent.expect_body.is_some());
        assert_eq!(upload.load.connections.unwrap().get(), 8, "the scenario's");
        assert_eq!(upload.load.duration, "1s".parse().ok(), "as typed");
        let refused = typed("echo", &|one| one.requests.body = Some("mine".to_owned()));
        assert!(refused.unwrap_err().contains("leave it or --body out"));
        let unknown = typed("httparena_upload_20mb", &|_| ()).unwrap_err();
        assert!(unknown.contains("did you mean \"httparena_upload_20mb"), "{unknown}");
    }

    #[test]
    fn what_a_target_was_started_for_is_sent_unless_the_user_says_what() {
        let announced = |name: &str| Announced {
            about: [("scenario".to_owned(), name.to_owned())].into(),
            ..Announced::default()
        };
        let sent = |name: &str, change: &dyn Fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            let chosen = Chosen(None).announced(&announced(name), &mut options);
            (chosen.0.map(|one| one.name), options.requests.request.len())
        };
        assert_eq!(sent("echo", &|_| ()), (Some("echo".to_owned()), 1));
        assert_eq!(sent("theirs", &|_| ()), (None, 0));
        assert_eq!(sent("echo", &|one| one.url = Some("http://h/".to_owned())), (None, 0));
        assert_eq!(sent("echo", &|one| one.requests.method = "PUT".parse().ok()), (None, 0));
    }
}
