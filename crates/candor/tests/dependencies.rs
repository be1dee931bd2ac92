//! Checks the dependencies against deny.toml: licences, banned crates, sources. `cargo deny check` does
//! this and more (`make deny`), but takes minutes to build and needs the network.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn read(file: &str) -> toml::Table {
    std::fs::read_to_string(Path::new(ROOT).join(file)).unwrap().parse().unwrap()
}

fn texts(list: &toml::Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect()
}

/// Whether one of the licences in `allowed` is enough, by an SPDX expression: OR, AND and brackets. In
/// old manifests, `/` is an OR.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut words = words.as_slice();
    let is_allowed = either(&mut words, allowed);
    is_allowed && words.is_empty()
}

fn either(words: &mut &[&str], allowed: &[&str]) -> bool {
    let mut is_enough = both(words, allowed);
    while let ["OR", rest @ ..] = words {
        *words = rest;
        is_enough |= both(words, allowed);
    }
    is_enough
}

fn both(words: &mut &[&str], allowed: &[&str]) -> bool {
    let mut is_enough = one(words, allowed);
    while let ["AND", rest @ ..] = words {
        *words = rest;
        is_enough &= one(words, allowed);
    }
    is_enough
}

fn one(words: &mut &[&str], allowed: &[&str]) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let is_enough = either(words, allowed);
            *words = words.strip_prefix(&[")"]).unwrap_or(&[]);
            is_enough
        }
        // A licence with an exception counts as a different licence, and none is on the list.
        [_, "WITH", _, rest @ ..] => {
            *words = rest;
            false
        }
        [name, rest @ ..] => {
            *words = rest;
            allowed.contains(name)
        }
        [] => false,
    }
}

#[test]
fn every_licence_is_on_the_list() {
    let deny = read("deny.toml");
    let allowed = texts(&deny["licenses"]["allow"]);
    let target = concat!("x86_64", "-unknown-linux-gnu");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args(["--filter-platform", target])
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{}", packages.len());
    let wrong: Vec<_> = packages
        .iter()
        .filter(|one| !one["source"].is_null())
        .map(|one| (one["name"].as_str().unwrap(), one["license"].as_str().unwrap_or_default()))
        .filter(|(_, license)| !is_allowed(license, &allowed))
        .collect();
    assert!(wrong.is_empty(), "not in [licenses] of deny.toml: {wrong:?}");
    // A dependency in Cargo.toml without a version would mean any version.
    let requirements = packages.iter().flat_map(|one| one["dependencies"].as_array().unwrap());
    let wildcards = requirements.filter(|one| one["req"] == "*" && one["path"].is_null());
    let ours = packages.iter().filter(|one| one["source"].is_null()).count();
    assert!(ours > 10 && wildcards.count() == 0, "a dependency on any version");
}

#[test]
fn nothing_is_banned_or_comes_from_elsewhere() {
    let (deny, lock) = (read("deny.toml"), read("Cargo.lock"));
    let banned: Vec<_> = deny["bans"]["deny"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    let registries = texts(&deny["sources"]["allow-registry"]);
    assert!(!banned.is_empty() && !registries.is_empty());
    for package in lock["package"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        assert!(!banned.contains(&name), "{name} is banned by deny.toml");
        if let Some(source) = package.get("source").map(|source| source.as_str().unwrap()) {
            let is_known =
                registries.iter().any(|url| source.strip_prefix("registry+") == Some(url));
            assert!(is_known, "{name} comes from {source}, which deny.toml does not allow");
        }
    }
}

#[test]
fn expressions_mean_what_spdx_says() {
    let allowed = ["MIT", "ISC"];
    for enough in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "(GPL-3.0 OR MIT) AND ISC"] {
        assert!(is_allowed(enough, &allowed), "{enough}");
    }
    for short in ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0 WITH LLVM-exception"] {
        assert!(!is_allowed(short, &allowed), "{short}");
    }
    // AND binds tighter than OR.
    assert!(is_allowed("MIT OR GPL-3.0 AND GPL-2.0", &allowed));
    assert!(!is_allowed("(MIT OR GPL-3.0) AND GPL-2.0", &allowed));
}
