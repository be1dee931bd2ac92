//! `candor fleet add` and `candor fleet renew`: a fleet that is there gets further agents, or new certificates. What is
//! not named here stays as it is: the operator's signing key, policies, audit files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use candor_fleet::{AgentName, certificate};
use candor_plan::units::fmt_plural;
use clap::Args;

use super::authority::{Authority, Use, public};
use super::init::{CONFIGURATION, OPERATOR, RuleFlags, USER, make_agent, user_of_agent};
use crate::exit::{Exit, UserError};
use crate::fleet::folder::{CERTIFICATE, Member, Operator};
use crate::{console, input};

#[derive(Debug, Args)]
pub(super) struct FolderFlag {
    /// Folder of the fleet, which `candor fleet init` made
    #[arg(long, value_name = "FOLDER", default_value = "fleet")]
    folder: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct AddArguments {
    /// Names of the new agents
    #[arg(value_name = "NAME", required = true)]
    names: Vec<AgentName>,
    #[command(flatten)]
    folder: FolderFlag,
    #[command(flatten)]
    rules: RuleFlags,
}

#[derive(Debug, Args)]
pub(super) struct RenewArguments {
    #[command(flatten)]
    folder: FolderFlag,
}

pub(super) fn add(arguments: &AddArguments) -> Result<ExitCode, UserError> {
    let AddArguments { names, folder: FolderFlag { folder }, rules } = arguments;
    let authority = Authority::read(folder)?;
    let operator = folder.join("operator");
    let urls = Member::read(&operator)?.urls();
    let policy = rules.policy(&Operator::read(&operator)?.key())?;
    let configuration = folder.join("broker").join(CONFIGURATION);
    let mut users = input::text("configuration of the broker", &configuration)?;
    for name in names {
        let agent = folder.join("agents").join(name.as_str());
        if agent.exists() {
            let at = agent.display();
            return Err(UserError::usage(format!("{at} is there already; use another name")));
        }
        users = with_user(&users, name)
            .map_err(|why| UserError::usage(format!("{}: {why}", configuration.display())))?;
    }
    for name in names {
        make_agent(&authority, folder, name.as_str(), &urls, &policy)?;
    }
    public(&configuration, &users)?;
    let at = folder.display();
    // As a shell writes several paths.
    let names = names.iter().map(AgentName::as_str).collect::<Vec<_>>();
    let names =
        if let [name] = names[..] { name.to_owned() } else { format!("{{{}}}", names.join(",")) };
    let agents = format!("{at}/agents/{names}");
    console::lines(&format!(
        "candor fleet add: {agents} is ready\n\
         on the broker's machine:   replace {CONFIGURATION} by {}, then nats-server --signal reload\n\
         on each agent's machine:   candor agent {agents}{}\n",
        configuration.display(),
        rules.hint(&agents)
    ));
    Ok(Exit::Fine.into())
}

/// The broker's configuration with one more agent, behind the users that it has.
fn with_user(configuration: &str, name: &AgentName) -> Result<String, String> {
    let line = user_of_agent(name.as_str());
    if name.as_str() == OPERATOR || configuration.contains(&format!("{USER}{name}\"")) {
        return Err(format!("it has a user {name} already; use another name"));
    }
    let Some(last) = configuration.rfind(USER) else {
        return Err(format!("it has no line that begins with {USER:?}; add to its users: {line}"));
    };
    let end = configuration[last..].find('\n').map_or(configuration.len(), |at| last + at + 1);
    let (before, behind) = configuration.split_at(end);
    Ok(format!("{before}{line}{behind}"))
}

pub(super) fn renew(arguments: &RenewArguments) -> Result<ExitCode, UserError> {
    let RenewArguments { folder: FolderFlag { folder } } = arguments;
    // Whatever cannot be read is known before something is written.
    let (broker, agents) = (folder.join("broker"), agents_in(&folder.join("agents"))?);
    let text = input::text("certificate", &broker.join(CERTIFICATE))?;
    let names = certificate::names(&text).filter(|names| !names.is_empty()).ok_or_else(|| {
        let at = broker.join(CERTIFICATE);
        UserError::could_not_run(format!("{}: it has no names of the broker", at.display()))
    })?;
    let authority = Authority::renew(folder)?;
    authority.certify(&broker, names, Use::Server)?;
    authority.certify(&folder.join("operator"), vec![OPERATOR.to_owned()], Use::Client)?;
    for name in &agents {
        let agent = folder.join("agents").join(name.as_str());
        authority.certify(&agent, vec![name.to_string()], Use::Client)?;
    }
    let at = folder.display();
    console::lines(&format!(
        "candor fleet renew: {at} has new certificates of broker, operator and {}\n\
         copy ca.pem, cert.pem and key.pem of each folder to its machine, in any order; those of before are valid until \
         they end\n\
         on the broker's machine:   nats-server --signal reload\n",
        fmt_plural(agents.len() as u64, "agent")
    ));
    Ok(Exit::Fine.into())
}

/// The agents that have a folder here.
fn agents_in(folder: &Path) -> Result<Vec<AgentName>, UserError> {
    let entries = fs::read_dir(folder).map_err(|error| {
        UserError::usage(format!(
            "{}: {error}; `candor fleet init` makes the folders of a fleet",
            folder.display()
        ))
    })?;
    let name = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let mut names: Vec<AgentName> = entries.filter_map(|entry| name(entry.ok()?)).collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_agent_stands_behind_the_others_of_the_broker() {
        let name: AgentName = "b7".parse().unwrap_or_else(|error| panic!("{error}"));
        let line = user_of_agent("b7");
        let text = format!("users: [\n{}{}  ]\n", user_of_agent("a0"), user_of_agent("a1"));
        let made = with_user(&text, &name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(made, text.replace("  ]", &format!("{line}  ]")));
        assert!(with_user(&made, &name).is_err_and(|why| why.contains("a user b7")));
        // A configuration of another form: the owner is told what to add.
        assert!(with_user("users = $USERS\n", &name).is_err_and(|why| why.contains(line.trim())));
        let operator = "operator".parse().unwrap_or_else(|error| panic!("{error}"));
        assert!(with_user(&text, &operator).is_err());
    }
}
