//! A process that ends at once, whatever its threads do with its directory, leaves nothing.

use std::process::{Command, exit};
use std::time::Duration;
use std::{env, fs, thread};

use candor_files::{give_up, private};

/// Set in the process that is to end: after so many microseconds.
const END_AFTER_US: &str = "CANDOR_TEST_END_AFTER_US";
const NAME: &str = "a_process_that_ends_at_once_leaves_no_directory";

#[test]
fn a_process_that_ends_at_once_leaves_no_directory() {
    if let Ok(us) = env::var(END_AFTER_US) {
        end_after(Duration::from_micros(us.parse().unwrap()));
    }
    for us in 0..100 {
        let temporary = tempfile::tempdir().unwrap();
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", NAME]).env("TMPDIR", temporary.path());
        let outcome = command.env(END_AFTER_US, (us * 7).to_string()).output().unwrap();
        assert_eq!(outcome.status.code(), Some(7), "{outcome:?}");
        let left: Vec<_> = fs::read_dir(temporary.path()).unwrap().collect();
        assert!(left.is_empty(), "{us}: {left:?}");
    }
}

/// Two threads make the directory, write to it and drop it, as long as they can.
fn end_after(time: Duration) -> ! {
    for _ in 0..2 {
        thread::spawn(|| {
            while let Ok(private) = private() {
                // Fails when the directory is gone.
                let _ = fs::write(private.name("txt"), "x");
            }
        });
    }
    thread::sleep(time);
    give_up();
    // For a file that comes late.
    thread::sleep(Duration::from_millis(2));
    exit(7);
}
