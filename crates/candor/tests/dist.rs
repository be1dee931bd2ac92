//! What `scripts/dist` gives out: the installer takes an archive whose checksum is right, and no other; the list of
//! what the binary is made of is that of Cargo.lock.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A folder as of `target/dist`, with a program in the archive that says its version, and nothing else.
fn given_out() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_owned();
    let program = format!("#!/bin/sh\necho candor {VERSION}\n");
    let script = fs::read_to_string(Path::new(ROOT).join("scripts/dist/install")).unwrap();
    fs::write(at.join("candor-install.sh"), script.replace("@VERSION@", VERSION)).unwrap();
    let made = Command::new("sh")
        .current_dir(&at)
        .env("PROGRAM", program)
        .env("NAME", format!("candor-{VERSION}-{}-linux", std::env::consts::ARCH))
        .args([
            "-euc",
            "mkdir -p $NAME/man $NAME/completions
            printf %s \"$PROGRAM\" > $NAME/candor; chmod +x $NAME/candor
            echo page > $NAME/man/candor.1
            for file in candor.bash _candor candor.fish; do echo x > $NAME/completions/$file; done
            tar -czf $NAME.tar.gz $NAME
            sha256sum $NAME.tar.gz candor-install.sh > SHA256SUMS",
        ])
        .status();
    assert!(made.unwrap().success());
    (folder, at)
}

fn archive(at: &Path) -> PathBuf {
    at.join(format!("candor-{VERSION}-{}-linux.tar.gz", std::env::consts::ARCH))
}

fn install(at: &Path, to: &Path, more: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.arg(at.join("candor-install.sh")).arg("--prefix").arg(to).args(more);
    command.output().unwrap()
}

#[test]
fn an_archive_with_the_right_checksum_is_installed() {
    let (_folder, at) = given_out();
    let to = at.join("to");
    // Twice: the second is an upgrade.
    for _ in 0..2 {
        let done = install(&at, &to, &[]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let said = Command::new(to.join("bin/candor")).output().unwrap();
    assert_eq!(String::from_utf8(said.stdout).unwrap(), format!("candor {VERSION}\n"));
    assert!(to.join("share/man/man1/candor.1").is_file());
    assert!(to.join("share/zsh/site-functions/_candor").is_file());
    // From where a URL says, without a file of the script: as in `curl … | sh`.
    let url = format!("file://{}", at.display());
    let elsewhere = at.join("elsewhere");
    let done = Command::new("sh")
        .args(["-s", "--", "--from", &url, "--prefix", elsewhere.to_str().unwrap()])
        .stdin(fs::File::open(at.join("candor-install.sh")).unwrap())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(elsewhere.join("bin/candor").is_file());
}

#[test]
fn no_other_archive_is_installed() {
    let without_line = |at: &Path| {
        let sums = fs::read_to_string(at.join("SHA256SUMS")).unwrap();
        let rest: Vec<&str> = sums.lines().filter(|line| !line.ends_with(".tar.gz")).collect();
        fs::write(at.join("SHA256SUMS"), rest.join("\n") + "\n").unwrap();
    };
    let changed = |at: &Path| {
        let mut bytes = fs::read(archive(at)).unwrap();
        bytes.push(0);
        fs::write(archive(at), bytes).unwrap();
    };
    let cut = |at: &Path| fs::write(archive(at), &fs::read(archive(at)).unwrap()[..100]).unwrap();
    let none = |at: &Path| fs::remove_file(archive(at)).unwrap();
    for damage in [&without_line as &dyn Fn(&Path), &changed, &cut, &none] {
        let (_folder, at) = given_out();
        damage(&at);
        let to = at.join("to");
        let done = install(&at, &to, &[]);
        assert_eq!(done.status.code(), Some(1), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(done.stdout.is_empty() && !to.exists());
    }
}

#[test]
fn the_list_of_parts_is_that_of_the_lock_file() {
    let made = Command::new("python3")
        .arg("scripts/dist/sbom")
        .arg("x86_64")
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let list: Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!(list["specVersion"], "1.6");
    let lock: toml::Table =
        fs::read_to_string(Path::new(ROOT).join("Cargo.lock")).unwrap().parse().unwrap();
    let locked = lock["package"].as_array().unwrap();
    let parts = list["components"].as_array().unwrap();
    for part in parts {
        let is_it = |one: &&toml::Value| {
            Some(one["name"].as_str().unwrap()) == part["name"].as_str()
                && Some(one["version"].as_str().unwrap()) == part["version"].as_str()
        };
        let found = locked.iter().find(is_it).unwrap_or_else(|| panic!("{part}"));
        let sum = found.get("checksum").and_then(toml::Value::as_str);
        assert_eq!(part["hashes"][0]["content"].as_str(), sum, "{part}");
        assert!(part["licenses"][0]["expression"].is_string(), "{part}");
    }
    let has = |name: &str| parts.iter().any(|part| part["name"] == name);
    assert!(["rustls", "quinn-proto", "candor-engine", "cc"].into_iter().all(has));
    assert!(!["proptest", "jsonschema", "candor-testkit", "criterion"].into_iter().any(has));
    // What depends on what names only parts.
    let names: Vec<&Value> = parts.iter().map(|part| &part["bom-ref"]).collect();
    for one in list["dependencies"].as_array().unwrap() {
        let others = one["dependsOn"].as_array().unwrap();
        assert!(others.iter().all(|other| names.contains(&other)), "{one}");
    }
}

#[test]
fn what_is_not_there_to_be_tried_is_said_first() {
    let (folder, at) = given_out();
    let tree = folder.path().join("tree");
    fs::create_dir_all(tree.join("scripts/dist")).unwrap();
    fs::create_dir_all(tree.join("target")).unwrap();
    fs::copy(Path::new(ROOT).join("scripts/dist/try"), tree.join("scripts/dist/try")).unwrap();
    fs::write(tree.join("Cargo.toml"), format!("version = \"{VERSION}\"\n")).unwrap();
    let refused = |what: &str| {
        let tried = Command::new("bash").arg(tree.join("scripts/dist/try")).output().unwrap();
        let said = String::from_utf8_lossy(&tried.stderr);
        assert!(!tried.status.success() && tried.stdout.is_empty(), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains(what), "{said}");
    };
    let name = format!("candor-{VERSION}-{}-linux", std::env::consts::ARCH);
    fs::create_dir(tree.join("target/dist")).unwrap();
    refused(&format!("{name}.tar.gz"));
    fs::copy(archive(&at), tree.join(format!("target/dist/{name}.tar.gz"))).unwrap();
    refused(&format!("{name}.oci.tar"));
}
