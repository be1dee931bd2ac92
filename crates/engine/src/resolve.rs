//! From the plan's endpoint to addresses.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use candor_plan::{Endpoint, Target};

use crate::error::EngineError;
use crate::reactor::socket::Address;

/// All addresses of the target, in the resolver's order and without repetition.
pub(crate) fn addresses(target: &Target) -> Result<Arc<[Address]>, EngineError> {
    let (host, port) = match &target.endpoint {
        Endpoint::Unix { path } => return Ok([Address::Unix(path.clone())].into()),
        Endpoint::Tcp { host, port } => (host, *port),
    };
    let mut found: Vec<SocketAddr> = if target.resolved.is_empty() {
        let failure = |reason: String| EngineError::Resolve { host: host.clone(), port, reason };
        (host.as_str(), port)
            .to_socket_addrs()
            .map_err(|error| failure(error.to_string()))?
            .collect()
    } else {
        target.resolved.iter().map(|address| SocketAddr::new(*address, port)).collect()
    };
    let mut seen = std::collections::HashSet::new();
    found.retain(|address| seen.insert(*address));
    if found.is_empty() {
        let reason = "the name has no address".to_owned();
        return Err(EngineError::Resolve { host: host.clone(), port, reason });
    }
    Ok(found.into_iter().map(Address::Tcp).collect())
}
