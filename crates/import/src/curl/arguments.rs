//! The arguments of curl: those that say what is sent, those that a plan has too, and those that are
//! about what curl does with the response, which are dropped.

use std::path::Path;
use std::str::FromStr;

use candor_plan::values::{Direct, FormField, HostPort, PositiveNanos, Proxy, Resolve};
use toml_edit::{Array, Value};

use super::words::{Input, Line, Word};
use crate::error::{ImportError, Position};
use crate::recorded::is_method;
use crate::template::Template;

/// What becomes of an option.
#[derive(Debug, Clone, Copy)]
enum What {
    /// It says what is sent, or a plan has it too.
    Read,
    /// It is about what curl does with the response, or about other protocols.
    Nothing,
    /// A plan cannot follow it, and the request is the same without it.
    LeftOut(&'static str),
    /// Without it the request would be another one.
    Refused(&'static str),
}

const PROXY: &str = "details of a proxy";
/// It is a secret, which no plan shows, and settings are not read from the environment.
const PROXY_USER: &str =
    "no plan has the user and password of a proxy; name the proxy with them when you run it";
const RETRY: &str = "nothing is retried";
const TLS: &str = "details of TLS";
const ROUTE: &str = "how names are resolved, and where connections leave";
const REDIRECT: &str =
    "a POST that is redirected becomes a GET, as clients do, except by 307 and 308";
/// A long row of redirects is a fault of the server more often than not, and each has a row in reports.
const REDIRECTS: i64 = 5;
/// The most that a plan may have.
const MOST_REDIRECTS: i64 = 20;
const AUTHENTICATION: &str =
    "a plan cannot authenticate so; remove it, or authenticate by Basic or a header field";

/// All options of curl 8: `n:` before the letter of an option, `=` behind one that has a value.
const OPTIONS: [(What, &str); 14] = [
    (
        What::Read,
        "alpn aws-sigv4= cacert= E:cert= compressed connect-timeout= connect-to= b:cookie= d:data= data-ascii= data-binary= \
         data-raw= data-urlencode= F:form= form-escape form-string= G:get g:globoff I:head H:header= 0:http1.0 http1.1 http2 \
         http2-prior-knowledge http3 http3-only k:insecure json= key= follow L:location location-trusted max-redirs= m:max-time= noproxy= oauth2-bearer= path-as-is proto-default= \
         x:proxy= U:proxy-user= proxy1.0= r:range= e:referer= X:request= request-target= resolve= socks4= socks4a= \
         socks5= socks5-hostname= tlsv1.2 tlsv1.3 unix-socket= T:upload-file= url= url-query= u:user= A:user-agent=",
    ),
    (
        What::Nothing,
        "a:append basic buffer ca-native cert-status clobber compressed-ssh c:cookie-jar= create-dirs \
         create-file-mode= delegation= q:disable disable-eprt disable-epsv disallow-username-in-url D:dump-header= \
         dump-ca-embed etag-save= f:fail fail-early fail-with-body ftp-account= ftp-alternative-to-user= \
         ftp-create-dirs ftp-method= ftp-pasv P:ftp-port= ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-ccc-mode= \
         ftp-ssl-control happy-eyeballs-timeout-ms= hostpubmd5= hostpubsha256= http0.9 \
         ignore-content-length i:include ipfs-gateway= 4:ipv4 6:ipv6 j:junk-session-cookies keepalive keepalive-cnt= \
         keepalive-time= krb= libcurl= l:list-only login-options= mail-auth= mail-from= mail-rcpt= \
         mail-rcpt-allowfails max-filesize= metalink npn out-null o:output= output-dir= Z:parallel \
         parallel-immediate parallel-max= parallel-max-host= #:progress-bar progress-meter proto= proto-redir= pubkey= \
         Q:quote= random-file= raw J:remote-header-name O:remote-name remote-name-all R:remote-time remove-on-error \
         sasl-authzid= sasl-ir sessionid show-headers S:show-error s:silent skip-existing Y:speed-limit= y:speed-time= \
         ssl ssl-no-revoke ssl-reqd ssl-revoke-best-effort 2:sslv2 3:sslv3 stderr= styled-output \
         suppress-connect-headers tcp-fastopen tcp-nodelay t:telnet-option= tftp-blksize= tftp-no-options 1:tlsv1 \
         tlsv1.0 tlsv1.1 trace= trace-ascii= trace-config= trace-ids trace-time B:use-ascii v:verbose w:write-out= \
         xattr",
    ),
    (
        What::LeftOut(PROXY),
        "haproxy-clientip= haproxy-protocol preproxy= proxy-anyauth proxy-basic proxy-ca-native proxy-cacert= \
         proxy-capath= proxy-cert= proxy-cert-type= proxy-ciphers= proxy-crlfile= proxy-digest proxy-header= \
         proxy-http2 proxy-insecure proxy-key= proxy-key-type= proxy-negotiate proxy-ntlm proxy-pass= \
         proxy-pinnedpubkey= proxy-service-name= proxy-ssl-allow-beast proxy-ssl-auto-client-cert \
         proxy-tls13-ciphers= proxy-tlsauthtype= proxy-tlspassword= proxy-tlsuser= proxy-tlsv1 \
         p:proxytunnel socks5-basic socks5-gssapi socks5-gssapi-nec socks5-gssapi-service= service-name=",
    ),
    (
        What::LeftOut(RETRY),
        "retry= retry-all-errors retry-connrefused retry-delay= retry-max-time=",
    ),
    (
        What::LeftOut(TLS),
        "capath= cert-type= ciphers= crlfile= curves= ech= egd-file= engine= false-start key-type= pass= \
         pinnedpubkey= sigalgs= ssl-allow-beast ssl-auto-client-cert ssl-sessions= tls-earlydata tls-max= \
         tls13-ciphers= tlsauthtype= tlspassword= tlsuser=",
    ),
    (
        What::LeftOut(ROUTE),
        "abstract-unix-socket= alt-svc= dns-interface= dns-ipv4-addr= dns-ipv6-addr= dns-servers= doh-cert-status \
         doh-insecure doh-url= hsts= interface= ip-tos= local-port= mptcp vlan-priority=",
    ),
    (What::LeftOut(REDIRECT), "post301 post302 post303"),
    (What::LeftOut("credentials of the .netrc file"), "n:netrc netrc-file= netrc-optional"),
    (What::LeftOut("a rate of requests is `rate` in a plan"), "rate= limit-rate="),
    (What::LeftOut("a condition for the response"), "etag-compare= z:time-cond= C:continue-at="),
    (
        What::LeftOut("a plan has its own way to send a body"),
        "crlf expect100-timeout= tr-encoding upload-flags=",
    ),
    (What::LeftOut("a file with more options"), "K:config="),
    (What::Refused(AUTHENTICATION), "anyauth digest negotiate ntlm ntlm-wb"),
    (What::Refused("it sends no request; remove it"), "h:help M:manual V:version variable="),
];

/// One option by its long name.
#[derive(Debug, Clone, Copy)]
struct Known {
    name: &'static str,
    has_value: bool,
    what: What,
}

fn options() -> impl Iterator<Item = (Option<char>, Known)> {
    let words = |(what, words): &'static (What, &'static str)| {
        words.split(' ').map(move |word| (*what, word))
    };
    OPTIONS.iter().flat_map(words).map(|(what, word)| {
        let (letter, name) = word.split_once(':').unwrap_or(("", word));
        let (name, has_value) = name.strip_suffix('=').map_or((name, false), |name| (name, true));
        (letter.chars().next(), Known { name, has_value, what })
    })
}

/// The option that a name stands for, or the only one that begins with it; and those that it could be otherwise.
fn known(name: &str) -> Result<Known, Vec<&'static str>> {
    let mut found: Vec<Known> = Vec::new();
    for (_, one) in options().filter(|(_, one)| one.name.starts_with(name)) {
        if one.name == name {
            return Ok(one);
        }
        found.push(one);
    }
    match found.as_slice() {
        [one] => Ok(*one),
        many => Err(many.iter().map(|one| one.name).collect()),
    }
}

/// What one curl command sends.
#[derive(Debug, Clone, Default)]
pub(super) struct Command {
    pub(super) urls: Vec<Word>,
    pub(super) method: Option<String>,
    header: Vec<(String, String)>,
    /// Fields that options make, of which `header` replaces those that it has.
    own: Vec<(String, String)>,
    /// Fields that shall not be sent.
    without: Vec<String>,
    pub(super) data: Vec<Data>,
    pub(super) is_json: bool,
    pub(super) form: Vec<(FormField, Template)>,
    pub(super) user: Option<String>,
    /// The value of the option that signs requests.
    pub(super) signs: Option<Word>,
    /// A file for each URL.
    pub(super) upload: Vec<Data>,
    /// Behind the query of each URL.
    pub(super) query: Vec<String>,
    pub(super) target: Option<String>,
    pub(super) scheme: Option<String>,
    pub(super) is_get: bool,
    pub(super) is_head: bool,
    pub(super) is_verbatim: bool,
    pub(super) escapes_form: bool,
    pub(super) keeps_dots: bool,
    pub(super) has_expansion: bool,
    follows: bool,
    /// The most redirects, if it says so; below zero: without end.
    redirects: Option<i64>,
    pub(super) settings: Vec<(&'static str, Value)>,
    pub(super) remarks: Vec<String>,
    /// What belongs to its requests alone.
    pub(super) own_remarks: Vec<String>,
}

/// One `-d` or a relative of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Data {
    Text(String),
    /// `is_stripped`: without ends of lines.
    File {
        name: String,
        is_stripped: bool,
    },
}

impl Data {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Data::Text(text) => Some(text),
            Data::File { .. } => None,
        }
    }
}

impl Command {
    /// The bytes that a request has from it.
    pub(super) fn size(&self) -> usize {
        let pairs = self.header.iter().chain(&self.own);
        let pairs: usize = pairs.map(|(name, value)| name.len() + value.len()).sum();
        let fields = self.form.iter().map(|(field, value)| field.name.len() + value.render().len());
        let data =
            self.data.iter().chain(&self.upload).map(|data| data.text().unwrap_or_default().len());
        pairs + fields.sum::<usize>() + data.sum::<usize>()
    }

    /// The header fields, with these of curl's own where there is no other.
    pub(super) fn header(&self, own: Vec<(String, String)>) -> Vec<(String, String)> {
        let mut header = self.header.clone();
        for (name, value) in self.own.iter().cloned().chain(own) {
            let is_this = |other: &str| other.eq_ignore_ascii_case(&name);
            let is_known = header.iter().any(|(other, _)| is_this(other));
            if !is_known && !self.without.iter().any(|other| is_this(other)) {
                header.push((name, value));
            }
        }
        header
    }

    /// Takes out the header fields with this name; the value of the last one.
    pub(super) fn take_field(&mut self, name: &str) -> Option<String> {
        let is_this = |(one, _): &mut (String, String)| one.eq_ignore_ascii_case(name);
        self.header.extract_if(.., is_this).last().map(|(_, value)| value)
    }

    fn set(&mut self, name: &str, value: &str) {
        self.own.retain(|(known, _)| known != name);
        self.own.push((name.to_owned(), value.to_owned()));
    }

    /// Joins cookies in one field, as curl does (RFC 6265 section 5.4).
    fn add_cookies(&mut self, cookies: &str) {
        match self.own.iter_mut().find(|(name, _)| name == "Cookie") {
            Some((_, value)) => *value += &format!("; {cookies}"),
            None => self.set("Cookie", cookies),
        }
    }

    fn leave_out(&mut self, option: &str, why: &str) {
        self.remarks.push(format!("Left out: curl's {option}: {why}"));
    }
}

/// A prompt that was copied too, and words that start the command behind them.
const BEFORE: [&str; 11] =
    ["$", "%", ">", "#", "time", "sudo", "env", "exec", "command", "nohup", "!"];

/// The requests of one command line, apart where it has `--next`; `None` if it is not curl's.
pub(super) fn parse(line: &Line) -> Result<Option<Vec<Command>>, ImportError> {
    let is_before = |word: &&Word| {
        let text = word.text.as_str();
        // A variable of the command alone.
        let is_assignment = text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        is_assignment || BEFORE.contains(&text)
    };
    let start = line.words.iter().take_while(is_before).count();
    let Some((program, words)) = line.words[start..].split_first() else { return Ok(None) };
    let name = program.text.rsplit(['/', '\\']).next().unwrap_or_default();
    if name != "curl" && name != "curl.exe" {
        return Ok(None);
    }
    let mut arguments = Arguments {
        words: words.iter(),
        input: line.input.as_ref(),
        commands: vec![Command::default()],
    };
    let mut only_urls = false;
    while let Some(word) = arguments.words.next() {
        let text = word.text.as_str();
        arguments.command().has_expansion |= word.has_expansion;
        if only_urls || !text.starts_with('-') || text == "-" {
            arguments.command().urls.push(word.clone());
        } else if text == "--" {
            only_urls = true;
        } else if text.strip_prefix("--") == Some("next") || text == "-:" {
            arguments.commands.push(Command::default());
        } else if let Some(long) = text.strip_prefix("--") {
            arguments.long(long, word)?;
        } else {
            arguments.short(word)?;
        }
    }
    if let Some(Input::Text(word) | Input::File(word)) = &line.input {
        arguments.command().has_expansion |= word.has_expansion;
    }
    if arguments.commands.iter().any(|command| command.urls.is_empty()) {
        return refuse(program.at, "there is no URL; add one");
    }
    for command in &mut arguments.commands {
        follow(command);
    }
    Ok(Some(arguments.commands))
}

/// What it says of redirects, in all its options.
fn follow(command: &mut Command) {
    let most = match command.redirects {
        _ if !command.follows => return,
        Some(0) => return,
        Some(most @ 1..=MOST_REDIRECTS) => most,
        None => {
            let remark = format!("Guess: at most {REDIRECTS} redirects in a row; curl follows 50");
            command.remarks.push(remark);
            REDIRECTS
        }
        Some(_) => MOST_REDIRECTS,
    };
    command.settings.push(("location", most.into()));
}

fn refuse<T>(at: Position, problem: &str) -> Result<T, ImportError> {
    Err(ImportError::Curl { at, problem: problem.to_owned() })
}

struct Arguments<'l> {
    words: std::slice::Iter<'l, Word>,
    /// The standard input of the command.
    input: Option<&'l Input>,
    commands: Vec<Command>,
}

impl Arguments<'_> {
    fn command(&mut self) -> &mut Command {
        self.commands.last_mut().expect("there is always one")
    }

    fn long(&mut self, name: &str, word: &Word) -> Result<(), ImportError> {
        let found = known(name);
        // `--no-` switches one off that is on by default; others are off until they are given.
        if let (Err(_), Some(Ok(one))) = (&found, name.strip_prefix("no-").map(known))
            && !one.has_value
        {
            match one.name {
                "alpn" => set(self.command(), "h1", true.into()),
                name => self.command().settings.retain(|(key, _)| *key != name),
            }
            return Ok(());
        }
        match found {
            Ok(one) => self.option(one, word, None).map(|_| ()),
            Err(others) => {
                // Of a word that has more: a quotation mark in the wrong place, or a value.
                let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '.';
                let name: String = word.text.chars().take_while(is_name).take(40).collect();
                refuse(
                    word.at,
                    &match others.is_empty() {
                        true => format!("the option {name} is not known; remove it"),
                        false => format!(
                            "the option {name} could be --{}; write the whole name",
                            others[..others.len().min(5)].join(" or --")
                        ),
                    },
                )
            }
        }
    }

    /// `-sXPOST`: letters together, the last of which may have its value behind it.
    fn short(&mut self, word: &Word) -> Result<(), ImportError> {
        let mut letters = word.text[1..].chars();
        while let Some(letter) = letters.next() {
            let Some((_, one)) = options().find(|(known, _)| *known == Some(letter)) else {
                let problem =
                    format!("the option -{} is not known; remove it", letter.escape_debug());
                return refuse(word.at, &problem);
            };
            let rest = Some(letters.as_str()).filter(|rest| one.has_value && !rest.is_empty());
            self.option(one, word, rest)?;
            if rest.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// An option, and its value if that stands in the same word.
    fn option(&mut self, one: Known, word: &Word, rest: Option<&str>) -> Result<(), ImportError> {
        let value = match (one.has_value, rest) {
            (false, _) => String::new(),
            (true, Some(rest)) => rest.to_owned(),
            (true, None) => match self.words.next() {
                Some(word) => {
                    self.command().has_expansion |= word.has_expansion;
                    word.text.clone()
                }
                None => return refuse(word.at, "the last option has no value; add it"),
            },
        };
        match one.what {
            What::Nothing => Ok(()),
            What::LeftOut(why) => {
                self.command().leave_out(one.name, why);
                Ok(())
            }
            What::Refused(why) => refuse(word.at, &format!("the option --{}: {why}", one.name)),
            What::Read => self.read(one.name, value, word),
        }
    }

    fn read(&mut self, name: &'static str, value: String, word: &Word) -> Result<(), ImportError> {
        let input = self.input;
        let at = word.at;
        let data = |is_stripped: bool| data(&value, is_stripped, input, at);
        let command = self.commands.last_mut().expect("there is always one");
        match name {
            "request" if !is_method(&value) => {
                return refuse(at, "the method is not a word; use e.g. POST");
            }
            "request" => command.method = Some(value),
            "url" => command.urls.push(Word { text: value, ..word.clone() }),
            "header" => header(command, &value),
            "user-agent" | "referer" if value.is_empty() => {
                command.own.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            }
            "user-agent" => command.set("User-Agent", &value),
            "referer" => command.set("Referer", value.trim_end_matches(";auto")),
            "cookie" if value.contains('=') => command.add_cookies(&value),
            "cookie" => command.leave_out("the cookies of a file", "write them as a Cookie header"),
            "data" | "data-ascii" => command.data.push(data(true)?),
            "data-binary" => command.data.push(data(false)?),
            "data-raw" => command.data.push(Data::Text(value)),
            "data-urlencode" => match encoded(&value, input, at)? {
                Some(text) => command.data.push(Data::Text(text)),
                None => {
                    return refuse(
                        at,
                        "the file of data-urlencode is a part of the body; write its content instead",
                    );
                }
            },
            "url-query" => match value.strip_prefix('+') {
                Some(raw) => command.query.push(raw.to_owned()),
                None => match encoded(&value, input, at)? {
                    Some(text) => command.query.push(text),
                    None => {
                        return refuse(
                            at,
                            "the file of url-query is a part of the URL; write its content instead",
                        );
                    }
                },
            },
            "json" => {
                command.data.push(data(false)?);
                command.is_json = true;
                command.set("Accept", "application/json");
            }
            "form" => form(command, &value, input, at)?,
            "form-escape" => command.escapes_form = true,
            "form-string" => {
                let (name, value) = value.split_once('=').unwrap_or((&value, ""));
                let field = FormField { name: name.to_owned(), ..FormField::default() };
                command.form.push((field, Template::text(value)));
            }
            "user" => command.user = Some(value),
            "aws-sigv4" => command.signs = Some(Word { text: value, ..word.clone() }),
            "oauth2-bearer" => command.set("Authorization", &format!("Bearer {value}")),
            "upload-file" => command.upload.push(match value.as_str() {
                "-" | "." => self::data("@-", false, input, at)?,
                _ if !command.is_verbatim && value.contains(['{', '[']) => {
                    return refuse(
                        at,
                        "the file to upload is a pattern; write a command for each file",
                    );
                }
                _ => Data::File { name: value, is_stripped: false },
            }),
            "range" => {
                let end = if value.contains('-') { "" } else { "-" };
                command.set("Range", &format!("bytes={value}{end}"));
            }
            "request-target" => command.target = Some(value),
            "proto-default" => command.scheme = Some(value),
            "get" => command.is_get = true,
            "head" => command.is_head = true,
            "globoff" => command.is_verbatim = true,
            "path-as-is" => command.keeps_dots = true,
            "location" | "follow" => command.follows = true,
            "location-trusted" => {
                command.follows = true;
                let why = "credentials go to the target alone that they are for";
                command.leave_out("location-trusted", why);
            }
            "max-redirs" => match value.parse() {
                Ok(most) => command.redirects = Some(most),
                Err(_) => return refuse(at, "the most redirects are a number; use e.g. 5"),
            },
            "compressed" => command.set("Accept-Encoding", "deflate, gzip, br, zstd"),
            _ => return setting(command, name, &value, at),
        }
        Ok(())
    }
}

/// Options that a plan has at its top.
fn setting(
    command: &mut Command,
    name: &'static str,
    value: &str,
    at: Position,
) -> Result<(), ImportError> {
    let (key, value): (_, Value) = match name {
        "insecure" => ("insecure", true.into()),
        "http1.1" | "http1.0" => ("h1", true.into()),
        "http2" => ("h2", true.into()),
        "http2-prior-knowledge" => ("h2-prior", true.into()),
        "http3" | "http3-only" => ("h3", true.into()),
        "tlsv1.2" => ("tls-min", "1.2".into()),
        "tlsv1.3" => ("tls-min", "1.3".into()),
        "cacert" | "key" | "unix-socket" => (name, value.into()),
        // A password may follow the name of the file.
        "cert" => ("cert", value.split(':').next().unwrap_or_default().into()),
        "connect-timeout" | "max-time" => {
            let key = if name == "max-time" { "timeout" } else { "connect-timeout" };
            let time = format!("{value}s");
            if PositiveNanos::from_str(&time).is_err() {
                return refuse(at, "the time is not a number of seconds; use e.g. 2.5");
            }
            (key, time.into())
        }
        "resolve" => {
            let value = value.trim_start_matches('+');
            if Resolve::from_str(value).is_err() {
                command.leave_out("resolve", "it is not HOST:PORT:ADDRESS");
                return Ok(());
            }
            ("resolve", value.into())
        }
        "connect-to" => {
            // HOST1:PORT1:HOST2:PORT2; the plan has one server anyway.
            let parts: Vec<&str> = value.rsplitn(3, ':').collect();
            match parts.as_slice() {
                [port, host, _] if HostPort::from_str(&format!("{host}:{port}")).is_ok() => {
                    ("connect-to", format!("{host}:{port}").into())
                }
                _ => {
                    command.leave_out("connect-to", "it names no host and port");
                    return Ok(());
                }
            }
        }
        "proxy" | "proxy1.0" | "socks5" | "socks5-hostname" => {
            let scheme = if name.starts_with("proxy") { "http" } else { "socks5h" };
            return proxy(command, name, scheme, value);
        }
        "socks4" | "socks4a" => {
            command.leave_out(name, "a plan has proxies of HTTP and SOCKS 5");
            return Ok(());
        }
        "proxy-user" => {
            command.leave_out(name, PROXY_USER);
            return Ok(());
        }
        "noproxy" => {
            let (hosts, others): (Vec<&str>, Vec<&str>) = value
                .split([',', ' '])
                .filter(|host| !host.is_empty())
                .partition(|host| Direct::from_str(host).is_ok());
            if !others.is_empty() {
                command.leave_out(name, "a part of it is no name and no address of a host");
            }
            ("noproxy", hosts.into_iter().collect::<Array>().into())
        }
        // On by default.
        _ => return Ok(()),
    };
    set(command, key, value);
    Ok(())
}

/// The last one counts, but for `resolve` and `connect-to`, of which the first one does.
fn set(command: &mut Command, key: &'static str, value: Value) {
    match command.settings.iter_mut().find(|(known, _)| *known == key) {
        None => command.settings.push((key, value)),
        Some(_) if key == "resolve" || key == "connect-to" => {}
        Some((_, known)) => *known = value,
    }
}

/// A proxy without its user and password, which no plan can read from the environment. An empty one is none.
fn proxy(command: &mut Command, name: &str, scheme: &str, value: &str) -> Result<(), ImportError> {
    let (scheme, rest) = value.split_once("://").unwrap_or((scheme, value));
    let (user, place) =
        rest.rsplit_once('@').map_or((None, rest), |(user, rest)| (Some(user), rest));
    let place = place.split(['/', '?', '#']).next().unwrap_or_default();
    let place = format!("{}://{place}", scheme.to_ascii_lowercase());
    match Proxy::from_str(&place) {
        Ok(_) => {
            set(command, "proxy", place.into());
            if user.is_some() {
                command.leave_out(name, PROXY_USER);
            }
        }
        Err(_) if value.is_empty() => set(command, "noproxy", Array::from_iter(["*"]).into()),
        Err(_) => command.leave_out(name, "a plan has proxies of HTTP and SOCKS 5"),
    }
    Ok(())
}

fn header(command: &mut Command, text: &str) {
    match text.split_once(':') {
        Some((name, value)) if value.trim().is_empty() => {
            command.without.push(name.trim().to_owned())
        }
        Some((name, value)) => {
            command.header.push((name.trim().to_owned(), value.trim().to_owned()))
        }
        None => match text.strip_suffix(';') {
            Some(name) => command.header.push((name.to_owned(), String::new())),
            None => command.leave_out("a header", "it has no colon, or is in a file"),
        },
    }
}

/// A text, or `@file`; `@-` is the standard input.
fn data(
    text: &str,
    is_stripped: bool,
    input: Option<&Input>,
    at: Position,
) -> Result<Data, ImportError> {
    let file = |name: &str| Ok(Data::File { name: name.to_owned(), is_stripped });
    match (text.strip_prefix('@'), input) {
        (None, _) => Ok(Data::Text(text.to_owned())),
        (Some("-"), None) => refuse(
            at,
            "the body is the standard input, which is not known here; write it to a file and use @FILE instead of @-",
        ),
        (Some("-"), Some(Input::File(word))) => file(&word.text),
        (Some("-"), Some(Input::Text(word))) => Ok(Data::Text(match is_stripped {
            true => word.text.replace(['\r', '\n', '\0'], ""),
            false => word.text.clone(),
        })),
        (Some(name), _) => file(name),
    }
}

/// `content`, `=content`, `name=content`, as curl writes it; `@file` and `name@file` would have to be read.
fn encoded(text: &str, input: Option<&Input>, at: Position) -> Result<Option<String>, ImportError> {
    let (name, mark, content) = match text.find(['=', '@']) {
        Some(place) => (&text[..place], &text[place..=place], &text[place + 1..]),
        None => ("", "=", text),
    };
    let content = match mark {
        "=" => Data::Text(content.to_owned()),
        _ => data(&format!("@{content}"), false, input, at)?,
    };
    let name = if name.is_empty() { String::new() } else { format!("{name}=") };
    let content = content.text().map(crate::target::form_encoded);
    Ok(content.map(|content| name + &content.replace("%20", "+")))
}

/// A field of a form, with its value.
fn form(
    command: &mut Command,
    text: &str,
    input: Option<&Input>,
    at: Position,
) -> Result<(), ImportError> {
    let (mut field, left_out) = match FormField::read(text) {
        Ok(read) => read,
        Err(error) => return refuse(at, &error.to_string()),
    };
    for key in left_out {
        command.leave_out(key, "a part of a form has a type, a file name and headers");
    }
    let mut value = Template::text(std::mem::take(&mut field.value));
    if field.file.as_deref() == Some(Path::new("-")) {
        match data("@-", false, input, at)? {
            Data::Text(text) => (field.file, value) = (None, Template::text(text)),
            Data::File { name, .. } => field.file = Some(name.into()),
        }
    }
    command.form.push((field, value));
    Ok(())
}
