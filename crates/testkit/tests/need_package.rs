//! `scripts/need-package` with an apt-get and a sudo of this test's: what it leaves behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use candor_testkit::process::{Managed, wait_until};
use rustix::process::Signal;

const PATIENCE: Duration = Duration::from_secs(10);
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/need-package");
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// The system that the script sees. Its policy-rc.d is a file of this directory.
struct System {
    directory: tempfile::TempDir,
}

impl System {
    /// One in which installing does this.
    fn new(install: &str) -> System {
        let system = System { directory: tempfile::tempdir().expect("a file of this test") };
        let text = fs::read_to_string(SCRIPT).expect("a file of this test");
        let policy = system.policy().display().to_string();
        assert!(text.contains(POLICY), "{text}");
        fs::write(system.path("need-package"), text.replace(POLICY, &policy))
            .expect("a file of this test");
        let seen = system.path("seen").display().to_string();
        let look = format!("[ $1 = install ] || exit 0\n[ ! -x {policy} ] || cp {policy} {seen}\n");
        system.program("apt-get", &(look + install));
        system.program("sudo", "exec \"$@\"");
        system
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a file of this test");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file of this test");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn policy(&self) -> PathBuf {
        self.path("policy-rc.d")
    }

    fn start(&self) -> Managed {
        let script = self.path("need-package");
        let path = format!("{}:/usr/bin:/bin", self.directory.path().display());
        // A shell cannot trap what was ignored when it was started, as under nohup.
        let mut command = Command::new("/usr/bin/env");
        command.args(["--default-signal=HUP,INT,TERM", "sh"]);
        command.arg(script).arg("no-such-command-anywhere:a-package").env("PATH", path);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Managed::spawn(&mut command).expect("a file of this test")
    }

    fn finish(&self, mut script: Managed) -> ExitStatus {
        let status = script.wait(PATIENCE).expect("a file of this test").expect("it ends");
        assert_eq!(
            fs::read_to_string(self.path("seen")).expect("a file of this test"),
            "#!/bin/sh\nexit 101\n"
        );
        assert!(!self.policy().exists(), "policy-rc.d is left behind");
        status
    }
}

#[test]
fn services_are_forbidden_only_while_a_package_is_installed() {
    let fine = System::new("exit 0");
    assert!(fine.finish(fine.start()).success());
    let failing = System::new("exit 100");
    assert_eq!(failing.finish(failing.start()).code(), Some(100));
}

#[test]
fn a_signal_leaves_no_policy_behind() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let system = System::new("sleep 0.5");
        let script = system.start();
        assert!(wait_until(PATIENCE, || system.path("seen").exists()), "nothing is installed");
        script.signal(signal).unwrap();
        assert_eq!(system.finish(script).code(), Some(code));
    }
}
