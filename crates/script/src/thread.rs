//! `thread`: the argument of `setup` and `done` in the main state, and `wrk.thread` in the thread's
//! own. Also addresses.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use candor_engine::Permission;
use candor_engine::script::{Destination, Whose};
use candor_plan::Plan;
use candor_plan::allow::AllowList;
use mlua::{
    AnyUserData, AppDataRef, Lua, MetaMethod, UserData, UserDataFields, UserDataMethods, Value,
};

use crate::seat::Seat;
use crate::users::Users;
use crate::value::copy;

/// `wrk.connect` does not wait longer.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);

/// An address that `wrk.lookup` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address(pub(crate) Destination);

impl UserData for Address {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, this, ()| Ok(this.0.address.to_string()));
        methods.add_meta_method(MetaMethod::Eq, |_, this, other: AnyUserData| {
            Ok(other.borrow::<Address>().is_ok_and(|other| other.0.address == this.0.address))
        });
    }
}

/// `wrk.lookup(host, service)`.
pub(crate) fn lookup(
    _: &Lua,
    (host, service): (String, Option<Value>),
) -> mlua::Result<Vec<Address>> {
    let service = match service {
        None | Some(Value::Nil) => "80".to_owned(),
        Some(value) => value.to_string()?,
    };
    let port = match service.as_str() {
        "http" => 80,
        "https" => 443,
        number => number.parse().map_err(|_| {
            mlua::Error::runtime(format!("wrk.lookup: unknown service {number:?}; give a port"))
        })?,
    };
    let found = (host.as_str(), port).to_socket_addrs();
    let found =
        found.map_err(|error| mlua::Error::runtime(format!("wrk.lookup {host}: {error}")))?;
    let mut all: Vec<Address> = Vec::new();
    for address in found {
        let one = Address(Destination { host: host.clone(), address });
        if !all.contains(&one) {
            all.push(one);
        }
    }
    Ok(all)
}

/// `wrk.connect(addr)`: whether a connection can be made. An address that is not allowed is an error.
pub(crate) fn connect(allow: Option<&AllowList>, address: AnyUserData) -> mlua::Result<bool> {
    let Destination { host, address } = address.borrow::<Address>()?.0.clone();
    let permission =
        Permission::new(allow).and_then(|lists| lists.check(Some(&host), address.ip()));
    permission.map_err(|error| mlua::Error::runtime(format!("wrk.connect: {error}")))?;
    Ok(TcpStream::connect_timeout(&address, CONNECT_PATIENCE).is_ok())
}

/// The data on one thread that the states of a run share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) stopped: AtomicBool,
    /// The connection of the current call, from 1; 0: there was no call yet.
    connection: AtomicU32,
    pub(crate) users: Users,
    destination: Mutex<Option<Destination>>,
    /// The target's host with its port, and its address if `--resolve` gives one.
    target: (String, Option<SocketAddr>),
}

impl Shared {
    /// That of a thread of this plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        let target = &plan.target;
        let port = if target.url.starts_with("https") { ":443" } else { ":80" };
        let host = match target.authority.rsplit_once(':') {
            Some((_, port)) if !port.ends_with(']') => target.authority.clone(),
            _ => format!("{}{port}", target.authority),
        };
        let port = host.rsplit(':').next().and_then(|port| port.parse().ok());
        let given = target.resolved.first().zip(port);
        let given = given.map(|(address, port)| SocketAddr::new(*address, port));
        Shared { target: (host, given), ..Shared::default() }
    }

    /// The address that a thread connects to if its script names no other one.
    fn target(&self) -> Option<Destination> {
        let (host, given) = &self.target;
        let address = given.or_else(|| host.to_socket_addrs().ok()?.next())?;
        let host = host.rsplit_once(':').map_or(host.as_str(), |(host, _)| host);
        Some(Destination { host: host.to_owned(), address })
    }

    /// A call begins that is for this connection and user, both counted from 0.
    #[inline]
    pub(crate) fn call_for(&self, Whose { connection, user }: Whose) {
        self.connection.store(connection.saturating_add(1), Ordering::Relaxed);
        self.users.call_for(user);
    }

    /// `wrk.connection()`: the number of the connection of the current call, from 1.
    pub(crate) fn connection(&self) -> Option<u32> {
        Some(self.connection.load(Ordering::Relaxed)).filter(|number| *number > 0)
    }

    pub(crate) fn destination(&self) -> Option<Destination> {
        self.destination.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_address(&self, value: Value) -> mlua::Result<()> {
        let destination = match value {
            Value::Nil => None,
            Value::UserData(data) => Some(data.borrow::<Address>()?.0.clone()),
            other => {
                return Err(mlua::Error::runtime(format!(
                    "thread.addr takes an address from wrk.lookup(), not a {}",
                    other.type_name()
                )));
            }
        };
        *self.destination.lock().unwrap_or_else(PoisonError::into_inner) = destination;
        Ok(())
    }
}

/// The seat of the state of the current call.
fn seat(lua: &Lua) -> mlua::Result<AppDataRef<'_, Arc<Seat>>> {
    lua.app_data_ref().ok_or_else(|| mlua::Error::runtime("the state has no seat"))
}

/// A thread: with its own state if seen from the main state, without if seen from its own.
pub(crate) struct ThreadHandle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) other: Option<Lua>,
}

impl ThreadHandle {
    fn state<'a>(&'a self, here: &'a Lua) -> &'a Lua {
        self.other.as_ref().unwrap_or(here)
    }
}

impl UserData for ThreadHandle {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("addr", |_, this| {
            let own = this.shared.destination();
            Ok(own.or_else(|| this.shared.target()).map(Address))
        });
        fields.add_field_method_set("addr", |_, this, value: Value| this.shared.set_address(value));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |lua, this, name: String| {
            copy(&this.state(lua).globals().raw_get::<Value>(name)?, lua, &*seat(lua)?)
        });
        methods.add_method("set", |lua, this, (name, value): (String, Value)| {
            let state = this.state(lua);
            let copied = copy(&value, state, &*seat(lua)?)?;
            state.globals().raw_set(name, copied)
        });
        methods.add_method("stop", |_, this, ()| {
            this.shared.stopped.store(true, Ordering::Relaxed);
            Ok(())
        });
    }
}
