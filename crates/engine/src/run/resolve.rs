//! From names to addresses that may be connected to.
//!
//! Every connection passes here: addresses are looked up once, held against every list of allowed hosts
//! and networks, and stay what they are for the whole run, unless names are resolved again
//! ([`super::names`]), which passes the same lists. The lists are the plan's (`--allow`), the one in `CANDOR_ALLOW` and the one
//! in the user's configuration; each that there is must allow an address. No response leads anywhere
//! else: redirects lead to targets of the plan alone.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;

use candor_plan::allow::{AllowList, Asked, is_public};
use candor_plan::{Endpoint, Target};

use crate::author::script::Destination;
use crate::error::EngineError;
use crate::reactor::socket::Address;

/// The variable with a list of allowed hosts and networks.
const VARIABLE: &str = "CANDOR_ALLOW";

/// The addresses of a run: the targets', and those that scripts of single threads chose.
pub(crate) struct Addresses {
    /// Each target's, in the resolver's order and without repetition.
    pub(crate) targets: Vec<Arc<[Address]>>,
    /// Hosts with addresses that may be anybody's, and these.
    pub(crate) public: Vec<(String, Vec<IpAddr>)>,
}

impl Addresses {
    /// Looks the targets up. An address that a list does not allow is an error, so that none of the
    /// others is connected to either.
    pub(crate) fn of<'t>(
        targets: impl Iterator<Item = &'t Target>,
        own: &[Destination],
    ) -> Result<Self, EngineError> {
        let mut all = Addresses { targets: Vec::new(), public: Vec::new() };
        for target in targets {
            let permission = Permission::new(target.allow.as_ref())?;
            for one in own {
                permission.check(Some(&one.host), one.address.ip())?;
                note_public(&mut all.public, &one.host, &[one.address]);
            }
            all.add(target, &permission)?;
        }
        Ok(all)
    }

    fn add(&mut self, target: &Target, permission: &Permission) -> Result<(), EngineError> {
        let addresses = match &target.endpoint {
            Endpoint::Unix { path } => {
                permission.ask(&Asked::Unix(path), &format!("unix:{}", path.display()))?;
                [Address::Unix(path.clone())].into()
            }
            Endpoint::Tcp { host, port } => {
                let found = look_up(host, *port, &target.resolved)?;
                // An address that the user gave is not the name's.
                let name = target.resolved.is_empty().then_some(host.as_str());
                for address in &found {
                    permission.check(name, address.ip())?;
                }
                note_public(&mut self.public, host, &found);
                found.into_iter().map(Address::Tcp).collect()
            }
        };
        if let Some(proxy) = &target.proxy {
            match proxy.host.parse() {
                Ok(address) => permission.check(None, address)?,
                Err(_) => permission.ask(&Asked::Name(&proxy.host), &proxy.host)?,
            }
        }
        self.targets.push(addresses);
        Ok(())
    }
}

fn note_public(public: &mut Vec<(String, Vec<IpAddr>)>, host: &str, addresses: &[SocketAddr]) {
    let new: Vec<IpAddr> =
        addresses.iter().map(SocketAddr::ip).filter(|&address| is_public(address)).collect();
    if !new.is_empty() && !public.iter().any(|(_, known)| *known == new) {
        public.push((host.to_owned(), new));
    }
}

pub(super) fn look_up(
    host: &str,
    port: u16,
    given: &[IpAddr],
) -> Result<Vec<SocketAddr>, EngineError> {
    let failure = |reason: String| EngineError::Resolve { host: host.to_owned(), port, reason };
    let mut found: Vec<SocketAddr> = if given.is_empty() {
        let looked_up = (host, port).to_socket_addrs();
        looked_up.map_err(|error| failure(resolver_words(&error)))?.collect()
    } else {
        given.iter().map(|address| SocketAddr::new(*address, port)).collect()
    };
    let mut seen = std::collections::HashSet::new();
    found.retain(|address| seen.insert(*address));
    match found.is_empty() {
        true => Err(failure("the name has no address".to_owned())),
        false => Ok(found),
    }
}

/// What the resolver says (`gai_strerror`): std gives it only behind words of its own.
fn resolver_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("failed to lookup address information: ").unwrap_or(&text).to_owned()
}

/// The public addresses that load for these targets would go to from here, by name. An error if a list does not
/// allow one of their addresses.
pub fn public_addresses<'t>(
    targets: impl Iterator<Item = &'t Target>,
) -> Result<Vec<(String, Vec<IpAddr>)>, EngineError> {
    Addresses::of(targets, &[]).map(|found| found.public)
}

/// The addresses of `host`, all of which may be connected to.
pub fn permitted(
    host: &str,
    port: u16,
    own: Option<&AllowList>,
) -> Result<Vec<SocketAddr>, EngineError> {
    let permission = Permission::new(own)?;
    let found = look_up(host, port, &[])?;
    found.iter().try_for_each(|address| permission.check(Some(host), address.ip()))?;
    Ok(found)
}

/// What may be connected to: anything that each of several lists allows.
#[derive(Debug, Clone)]
pub struct Permission(Vec<AllowList>);

impl Permission {
    /// The plan's own list, and those of the environment and the user's configuration. One that
    /// cannot be read is an error: it might forbid.
    pub fn new(own: Option<&AllowList>) -> Result<Self, EngineError> {
        let mut lists: Vec<AllowList> = own.cloned().into_iter().collect();
        if let Some(value) = std::env::var_os(VARIABLE) {
            lists.extend(AllowList::of_variable(VARIABLE, &value.to_string_lossy())?);
        }
        if let Some(file) = configuration() {
            let name = file.display().to_string();
            match std::fs::read_to_string(&file) {
                Ok(text) => lists.extend(AllowList::of_configuration(&name, &text)?),
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(error) => return Err(EngineError::Configuration { file: name, error }),
            }
        }
        Ok(Permission(lists))
    }

    /// Whether there are lists at all.
    pub fn is_limited(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether `address`, which the name `name` resolved to if there is one, may be connected to.
    pub fn check(&self, name: Option<&str>, address: IpAddr) -> Result<(), EngineError> {
        let shown = match name {
            Some(name) if name.parse::<IpAddr>().is_err() => format!("{name} ({address})"),
            _ => address.to_string(),
        };
        self.ask(&Asked::Tcp { name, address }, &shown)
    }

    fn ask(&self, asked: &Asked<'_>, shown: &str) -> Result<(), EngineError> {
        match self.0.iter().find(|list| !list.allows(asked)) {
            None => Ok(()),
            Some(list) => {
                Err(EngineError::NotAllowed { what: shown.to_owned(), list: list.source.clone() })
            }
        }
    }
}

/// `$XDG_CONFIG_HOME/candor/config.toml`, or that below `~/.config`.
fn configuration() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(folder.join("candor").join("config.toml"))
}

#[cfg(test)]
mod tests {
    use candor_plan::{HaproxyProtocol, HttpVersion};

    use super::*;

    fn target(endpoint: Endpoint, resolved: &[&str], allow: &str) -> Target {
        Target {
            name: candor_plan::MAIN_TARGET.to_owned(),
            connections: None,
            auth: None,
            alt_svc: None,
            url: "http://h/".to_owned(),
            authority: "h".to_owned(),
            endpoint,
            proxy: None,
            haproxy_protocol: HaproxyProtocol::Off,
            resolved: resolved.iter().map(|one| one.parse().unwrap()).collect(),
            allow: AllowList::of_variable("--allow", allow).unwrap(),
            tls: None,
            http: HttpVersion::H1,
        }
    }

    fn tcp(host: &str) -> Endpoint {
        Endpoint::Tcp { host: host.to_owned(), port: 80 }
    }

    fn refused(target: &Target, own: &[Destination]) -> Option<String> {
        Addresses::of([target].into_iter(), own).err().map(|error| error.to_string())
    }

    #[test]
    fn what_no_list_allows_is_refused_before_anything_is_connected() {
        let loopback = |resolved: &[&str], allow| target(tcp("127.0.0.1"), resolved, allow);
        assert_eq!(refused(&loopback(&[], ""), &[]), None);
        assert_eq!(refused(&loopback(&[], "127.0.0.0/8"), &[]), None);
        assert_eq!(
            refused(&loopback(&[], "10.0.0.0/8"), &[]).unwrap(),
            "127.0.0.1 is not allowed by --allow"
        );
        // One address of several is enough.
        assert!(refused(&loopback(&["127.0.0.1", "8.8.8.8"], "127.0.0.1"), &[]).is_some());
        // What a user says of a name is not what it resolves to.
        let named = target(tcp("staging.example"), &["8.8.8.8"], "staging.example");
        assert!(refused(&named, &[]).unwrap().starts_with("8.8.8.8 is not allowed"));
        assert_eq!(refused(&target(tcp("localhost"), &[], "localhost"), &[]), None);
        let unix = |allow| target(Endpoint::Unix { path: "/run/x".into() }, &[], allow);
        assert_eq!(refused(&unix("unix:/run/x"), &[]), None);
        assert!(refused(&unix("0.0.0.0/0"), &[]).unwrap().starts_with("unix:/run/x is not"));
    }

    #[test]
    fn addresses_of_scripts_are_asked_for_too() {
        let own = |host: &str, address: &str| Destination {
            host: host.to_owned(),
            address: address.parse().unwrap(),
        };
        let target = target(tcp("127.0.0.1"), &[], "127.0.0.0/8,other.example");
        assert_eq!(refused(&target, &[own("localhost", "127.0.0.2:80")]), None);
        assert_eq!(refused(&target, &[own("other.example", "8.8.8.8:80")]), None);
        let foreign = refused(&target, &[own("evil.example", "8.8.8.8:80")]).unwrap();
        assert!(
            foreign.starts_with("evil.example (8.8.8.8) is not allowed by --allow"),
            "{foreign}"
        );
    }

    #[test]
    fn public_addresses_are_told_once() {
        let public = |resolved: &[&str], own: &[Destination]| {
            let target = target(tcp("h.example"), resolved, "");
            Addresses::of([&target].into_iter(), own).unwrap().public
        };
        assert_eq!(public(&["127.0.0.1", "203.0.113.7"], &[]), []);
        let own = Destination { host: "x".to_owned(), address: "8.8.8.8:80".parse().unwrap() };
        let told = vec![("x".to_owned(), vec!["8.8.8.8".parse().unwrap()])];
        assert_eq!(public(&["10.0.0.1"], &[own.clone(), own]), told);
        let both = public(&["8.8.8.8", "10.0.0.1", "1.1.1.1"], &[]);
        assert_eq!((both[0].0.as_str(), both[0].1.len()), ("h.example", 2));
    }

    #[test]
    fn each_list_must_allow() {
        let list = |entries| AllowList::of_variable("V", entries).unwrap().unwrap();
        let both = Permission(vec![list("127.0.0.0/8,10.0.0.1"), list("127.0.0.1")]);
        let check = |address: &str| both.check(None, address.parse().unwrap()).is_ok();
        assert!(check("127.0.0.1") && !check("127.0.0.2") && !check("10.0.0.1"));
    }
}
