//! Other users of the machine: Candor does not trust, follow or overwrite their files, and they
//! cannot enter its own directories.
//!
//! If a test needs candor's process id in advance, a shell prepares the file and then becomes candor by
//! exec.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::common::{CANDOR, Candor, Target, candor, files_in, is_root};
use candor_testkit::process::{free_port, wait_until};
use rustix::process::Signal;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(15);
const USAGE: i32 = 2;
const STRANGER: Option<u32> = Some(54321);

/// A directory like /tmp, and a file outside that must not be written.
struct Shared {
    directory: TempDir,
}

impl Shared {
    fn new() -> Shared {
        let directory = tempfile::tempdir().expect("a file of this test");
        let shared = Shared { directory };
        fs::create_dir(shared.path()).expect("a file of this test");
        fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o1777))
            .expect("a file of this test");
        fs::write(shared.precious(), "precious").expect("a file of this test");
        shared
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("shared")
    }

    fn precious(&self) -> PathBuf {
        self.directory.path().join("precious")
    }

    fn is_unharmed(&self) -> bool {
        fs::read_to_string(self.precious()).expect("a file of this test") == "precious"
    }

    /// Starts a shell that runs `first` and then becomes candor, with this as its temporary
    /// directory.
    fn candor_after(&self, first: &str, arguments: &[&str]) -> Candor {
        Candor::start_as(Command::new("sh"), |directory, command| {
            let script = format!("{first}\nexec \"$0\" \"$@\"");
            command.args(["-c", &script, CANDOR]).args(arguments).current_dir(directory);
            command.env("TMPDIR", self.path()).env("PRECIOUS", self.precious());
        })
    }

    /// The one private directory in it.
    fn private(&self) -> PathBuf {
        let is_private = |name: &String| {
            let found = fs::symlink_metadata(self.path().join(name)).expect("a file of this test");
            found.is_dir() && found.mode() & 0o7777 == 0o700
        };
        let names: Vec<_> = files_in(&self.path()).into_iter().filter(is_private).collect();
        assert_eq!(names.len(), 1, "{names:?}");
        assert!(names[0].starts_with("candor-"), "{names:?}");
        self.path().join(&names[0])
    }
}

#[test]
fn a_certificate_is_in_a_private_directory_and_no_link_is_followed() {
    let shared = Shared::new();
    let prepare = r#"ln -s "$PRECIOUS" "$TMPDIR/candor-serve-$$.pem""#;
    let run = shared.candor_after(prepare, &["serve", "--tls", "--port-file", "port"]);
    let port_file = run.directory().join("port");
    assert!(wait_until(PATIENCE, || port_file.exists()), "no port file");
    let lines = fs::read_to_string(port_file).unwrap();
    let certificate = lines.lines().find_map(|line| line.strip_prefix("CERT=")).expect("CERT=");
    assert_eq!(Path::new(certificate).parent().unwrap(), shared.private());
    assert!(fs::read_to_string(certificate).unwrap().starts_with("-----BEGIN"));
    run.signal(Signal::TERM);
    assert_eq!(run.finish().code(), 0);
    assert!(shared.is_unharmed());
    assert_eq!(files_in(&shared.path()).len(), 1, "but for the link, nothing is left");
}

#[test]
fn a_foreign_port_file_is_not_believed() {
    let shared = Shared::new();
    let foreign = Target::start(&[]);
    let port = foreign.url("/").rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    let prepare = format!(
        "printf 'PORT={port}\\nPATH=/\\nMETHOD=GET\\n' > \"$TMPDIR/candor-embedded-$$.port\""
    );
    let arguments = ["-c", "1", "-n", "5", "--json", "result.json"];
    let outcome = shared.candor_after(&prepare, &arguments).finish();
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let document = outcome.document();
    assert_eq!(document.text("/target_note"), "embedded");
    assert!(
        !document.text("/plan/target/url").contains(&port),
        "{}",
        document.text("/plan/target/url")
    );
    assert_eq!(foreign.requests(), 0);
    assert_eq!(files_in(&shared.path()).len(), 1, "but for the port file, nothing is left");
}

/// A suite whose server prints its work directory.
fn suite(directory: &Path) -> PathBuf {
    let server = directory.join("server.sh");
    let text = "#!/bin/sh\nstat -c '%a' \"$1/..\" > \"$3\"; echo \"$1\" >> \"$3\"\n\
                exec \"$4\" serve --listen \"127.0.0.1:$2\"\n";
    fs::write(&server, text).expect("a file of this test");
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).expect("a file of this test");
    let path = directory.join("suite.toml");
    let text = format!(
        r#"name = "s"
scenarios = ["hello"]
rounds = 1
[run]
connections = 1
warm-up = "0s"
duration = "300ms"
[[server]]
name = "one"
command = ["{server}", "{{dir}}", "{{port}}", "{out}", "{{candor}}"]
url = "http://127.0.0.1:{{port}}/"
scenarios = ["all"]
[server.files]
"conf" = "x"
"#,
        server = server.display(),
        out = directory.join("said").display()
    );
    fs::write(&path, text).expect("a file of this test");
    path
}

#[test]
fn a_work_directory_that_somebody_else_has_made_is_not_used() {
    let shared = Shared::new();
    let suite = suite(shared.directory.path());
    let prepare =
        r#"mkdir "$TMPDIR/candor-work-$$-0" && echo theirs > "$TMPDIR/candor-work-$$-0/conf""#;
    let arguments = ["bench", suite.to_str().unwrap(), "--out", "results"];
    let outcome = shared.candor_after(prepare, &arguments).finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let left = files_in(&shared.path());
    assert_eq!(left.len(), 1, "{left:?}");
    let theirs = shared.path().join(&left[0]);
    assert_eq!(files_in(&theirs), ["conf"]);
    assert_eq!(fs::read_to_string(theirs.join("conf")).unwrap(), "theirs\n");
    let said = fs::read_to_string(shared.directory.path().join("said")).unwrap();
    let (mode, place) = said.split_once('\n').unwrap();
    assert_eq!(mode, "700");
    assert!(!Path::new(place.trim()).starts_with(&theirs), "{place}");
    assert!(Path::new(place.trim()).starts_with(shared.path()), "{place}");
}

#[test]
fn what_is_temporary_of_a_killed_candor_goes_with_its_target() {
    let shared = Shared::new();
    let target = format!("{CANDOR} serve");
    let arguments = ["-R", "100", "-c", "1", "-d", "1h", "--target", &target];
    let run = shared.candor_after(":", &arguments);
    assert!(wait_until(PATIENCE, || !files_in(&shared.path()).is_empty()), "nothing temporary");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(files_in(&shared.private()).len(), 1, "the target's log");
    run.signal(Signal::KILL);
    assert_eq!(run.finish().code(), 137);
    assert!(wait_until(PATIENCE, || files_in(&shared.path()).is_empty()));
}

#[test]
fn the_log_of_a_target_that_failed_and_a_result_without_a_place_stay() {
    let shared = Shared::new();
    let failed = ["-d", "1s", "--target", "sh -c 'echo out of luck; exit 7'"];
    let outcome = shared.candor_after(":", &failed).finish();
    assert_eq!(outcome.code(), 1);
    let left = files_in(&shared.path());
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(outcome.stderr.contains(&left[0]), "{}", outcome.stderr);
    let log = shared.path().join(&left[0]);
    assert_eq!(fs::read_to_string(&log).unwrap(), "out of luck\n");
    assert_eq!(fs::metadata(&log).unwrap().mode() & 0o7777, 0o600);
    fs::remove_file(log).unwrap();

    let prepare = r#"ln -s "$PRECIOUS" "$TMPDIR/candor-$$-full""#;
    let lost = ["-c", "1", "-n", "5", "--json", "/dev/full"];
    let outcome = shared.candor_after(prepare, &lost).finish();
    assert_eq!(outcome.code(), 1);
    let kept = outcome.stderr.split("It is kept in ").nth(1).expect("a refuge").trim();
    assert_eq!(fs::metadata(kept).unwrap().mode() & 0o7777, 0o600);
    assert!(fs::read_to_string(kept).unwrap().contains("candor.result/3"));
    assert!(shared.is_unharmed());
}

#[test]
fn a_temporary_directory_that_others_can_change_is_refused() {
    let shared = Shared::new();
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let outcome = shared.candor_after(":", &["-c", "1", "-n", "5"]).finish();
    outcome.assert_refused(1, &["other users can replace files", "set TMPDIR"]);
}

/// Every way to name an output file: flags before it, and the flag itself.
const OUTPUTS: [(&[&str], &str); 8] = [
    (&["-c", "1", "-n", "5"], "--json"),
    (&["-c", "1", "-n", "5"], "--csv"),
    (&["-c", "1", "-n", "5"], "--html"),
    (&["-c", "1", "-n", "5"], "--hgrm"),
    (&["-c", "1", "-n", "5"], "--hlog"),
    (&["-c", "1", "-n", "5"], "--trace"),
    (&["h2load", "-n", "5", "http://127.0.0.1:1/"], "--log-file"),
    (&["peak", "http://127.0.0.1:1/"], "--markdown"),
];

#[test]
fn no_output_follows_a_link_where_others_can_write() {
    let shared = Shared::new();
    let out = shared.path().join("out");
    let out = out.to_str().unwrap();
    symlink(shared.precious(), out).unwrap();
    for (flags, flag) in OUTPUTS {
        let outcome = candor(&[flags, &[flag, out]].concat());
        assert_ne!(outcome.code(), 0, "{flag}");
        assert!(outcome.stderr.contains("it is a link"), "{flag}: {}", outcome.stderr);
        assert!(shared.is_unharmed(), "{flag}");
    }
    let target = format!("{CANDOR} serve");
    let logged = ["-c", "1", "-n", "5", "--target", &target, "--target-log", out];
    candor(&logged).assert_refused(1, &["cannot write the log", "it is a link"]);
    let port = free_port().unwrap().to_string();
    for flags in [
        ["--port-file", out].as_slice(),
        &["--tls-cert-out", out],
        &["--truth", "delay", "--service-time", "1ms", "--log", out],
    ] {
        let served = [&["serve", "--listen", &port], flags].concat();
        candor(&served).assert_refused(1, &["it is a link"]);
    }
    assert!(shared.is_unharmed());
    assert!(fs::symlink_metadata(out).unwrap().is_symlink(), "it is left as it was");

    // In the user's own directory, links are followed.
    let own = shared.directory.path().join("own");
    symlink(shared.precious(), &own).unwrap();
    assert_eq!(candor(&["-c", "1", "-n", "5", "--json", own.to_str().unwrap()]).code(), 0);
    assert!(!shared.is_unharmed());
}

#[test]
fn a_directory_of_results_is_ones_own() {
    let shared = Shared::new();
    let suite = suite(shared.directory.path());
    let suite = suite.to_str().unwrap();
    let out = shared.path().join("results");
    let out = out.to_str().unwrap();
    let elsewhere = shared.directory.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, out).unwrap();
    let ways: [&[&str]; 2] =
        [&["bench", suite, "--out", out], &["peak", "--keep", out, "http://127.0.0.1:1/"]];
    for way in ways {
        candor(way).assert_refused(1, &["cannot make", "it is a link"]);
    }
    if is_root("a directory of another user") {
        fs::remove_file(out).unwrap();
        fs::create_dir(out).unwrap();
        chown(out, STRANGER, None).unwrap();
        for way in ways {
            candor(way).assert_refused(1, &["cannot make", "it belongs to another user"]);
        }
        assert_eq!(files_in(Path::new(out)), [""; 0]);
    }
    assert_eq!(files_in(&elsewhere), [""; 0]);
}

#[test]
fn a_file_of_another_user_is_not_written_where_others_can_write() {
    if !is_root("a file of another user") {
        return;
    }
    let shared = Shared::new();
    let out = shared.path().join("out");
    fs::write(&out, "theirs").unwrap();
    chown(&out, STRANGER, None).unwrap();
    let name = out.to_str().unwrap();
    for (flags, flag) in OUTPUTS {
        let outcome = candor(&[flags, &[flag, name]].concat());
        assert_ne!(outcome.code(), 0, "{flag}");
        let words = "it belongs to another user, and other users can write its directory";
        assert!(outcome.stderr.contains(words), "{flag}: {}", outcome.stderr);
    }
    let outcome = candor(&["-c", "1", "-n", "5", "--json", name]);
    outcome.assert_refused(USAGE, &["nothing was run, choose another path"]);
    assert_eq!(fs::read_to_string(&out).unwrap(), "theirs");
}
