//! V1 histograms are for HdrHistogram's own library: Java must read ours with the same counts.
//!
//! Needs a JDK, Maven and its repository. If one of them is missing, the test prints that and
//! passes: it checks compatibility with another program, on which nothing in candor depends.
//! Downloads stay below the target directory.
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use candor_record::{Quantile, value_at_rank};
use candor_render::v1;
use hdrhistogram::Histogram;

const LIBRARY: &str = "org.hdrhistogram:HdrHistogram:2.2.2";
const JAR: &str = "HdrHistogram-2.2.2.jar";

#[test]
fn java_reads_what_we_write() {
    let jar = match library() {
        Ok(jar) => jar,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let histograms = histograms();
    let lines: String = histograms.iter().map(|hdr| v1::encode(hdr) + "\n").collect();
    let expected: String = histograms.iter().map(figures).collect();
    assert_eq!(in_java(&jar, &lines), expected);
}

/// Histograms with every number of digits: empty, with one value, with zero, and with many values
/// over the whole range.
fn histograms() -> Vec<Histogram<u64>> {
    let mut all = Vec::new();
    for digits in 1..=5 {
        let mut one = Histogram::new_with_bounds(1, 86_400_000_000, digits).expect("good bounds");
        all.push(one.clone());
        one.record(753).expect("within the bounds");
        all.push(one.clone());
        one.record_n(0, 3).expect("within the bounds");
        all.push(one.clone());
        for n in 0..20_000u64 {
            one.record_n(n * n * n % 86_400_000_000, n % 7 + 1).expect("within the bounds");
        }
        all.push(one);
    }
    all
}

fn figures(hdr: &Histogram<u64>) -> String {
    format!(
        "{} {} {} {} {} {} {} {}\n",
        hdr.sigfig(),
        hdr.low(),
        hdr.high(),
        hdr.len(),
        hdr.min(),
        value_at_rank(hdr, Quantile::P50.rank(hdr.len())),
        value_at_rank(hdr, Quantile::P99.rank(hdr.len())),
        hdr.max()
    )
}

/// The library, from Maven's repository, or why it is missing.
fn library() -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hdrhistogram");
    for program in ["javac", "java", "mvn"] {
        let answers = Command::new(program).arg("-version").output();
        if !answers.is_ok_and(|output| output.status.success()) {
            return Err(format!("there is no {program}"));
        }
    }
    let jar = directory.join(JAR);
    if jar.exists() {
        return Ok(jar);
    }
    std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let define = |name: &str, value: &Path| format!("-D{name}={}", value.display());
    let output = Command::new("mvn")
        .args(["-q", "-B", "dependency:copy"])
        .arg(define("maven.repo.local", &directory.join("repository")))
        .arg(format!("-Dartifact={LIBRARY}"))
        .arg(define("outputDirectory", &directory))
        .current_dir(&directory)
        .output()
        .map_err(|error| error.to_string())?;
    match jar.exists() {
        true => Ok(jar),
        false => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            Err(format!("Maven does not find {LIBRARY}: {}", said.lines().next().unwrap_or("")))
        }
    }
}

/// The output of the Java program for these lines.
fn in_java(jar: &Path, lines: &str) -> String {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/V1.java");
    let mut process = Command::new("java")
        .arg("-cp")
        .arg(jar)
        .arg(source)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("java starts");
    let mut stdin = process.stdin.take().expect("it is piped");
    stdin.write_all(lines.as_bytes()).expect("java reads");
    drop(stdin);
    let output = process.wait_with_output().expect("java ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}
