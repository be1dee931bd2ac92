//! What texts are credentials, and when one is taken anew.

use super::*;

fn of(text: &str) -> Result<Taken, String> {
    Taken::read(text.as_bytes()).map_err(|fault: Fault| fault.to_string())
}

#[test]
fn texts_are_credentials_as_they_are_or_as_bearer_tokens() {
    let plain = of("  abc.def\n").unwrap();
    assert_eq!(
        (plain.field.as_str(), &plain.field[plain.token_at..]),
        ("Bearer abc.def", "abc.def")
    );
    let scheme = of("Token abc").unwrap();
    assert_eq!((scheme.field.as_str(), &scheme.field[scheme.token_at..]), ("Token abc", "abc"));
    let json =
        r#"{"access_token":"abc","token_type":"bearer","expires_in":"60","refresh_token":"r"}"#;
    let answer = of(json).unwrap();
    assert_eq!((answer.field.as_str(), answer.refresh.as_deref()), ("Bearer abc", Some("r")));
    assert_eq!(answer.lives, Some(Duration::from_secs(60)));
    for wrong in
        ["", "a\nb", "a\u{e9}", "{}", "{\"access_token\":7}", "{\"access_token\":\"\"}", "{["]
    {
        assert!(of(wrong).is_err(), "{wrong}");
    }
    assert!(of(r#"{"access_token":"a","token_type":"mac"}"#).unwrap_err().contains("token_type"));
    assert!(of(&"x".repeat(20_000)).unwrap_err().contains("16 KiB"));
}

#[test]
fn a_credential_is_taken_anew_before_its_end_and_never_all_the_time() {
    let holder = |every_ns| Holder {
        target: "main".to_owned(),
        number: 0,
        credential: Credential { from: CredentialSource::File("f".into()), every_ns },
        server: None,
        seen: None,
        hidden: Hidden::default(),
        hear: |_| {},
    };
    let due_ms = |every_ns, expires: &str| {
        let taken = of(&format!(r#"{{"access_token":"a","expires_in":{expires}}}"#)).unwrap();
        holder(every_ns).due(&taken).map(|due| due.as_millis())
    };
    assert_eq!(due_ms(None, "1"), Some(666));
    assert_eq!(due_ms(None, "3600"), Some(3_540_000));
    for at_once in ["0", "0.001"] {
        assert_eq!(due_ms(None, at_once), Some(250), "{at_once}");
    }
    for unsaid in ["null", "-5", "\"soon\"", "true"] {
        assert_eq!(due_ms(None, unsaid), None, "{unsaid}");
    }
    assert_eq!(due_ms(None, "1e300"), Some(366 * 86_400_000 - 60_000));
    assert_eq!(due_ms(Some(5_000_000_000), "1"), Some(5000), "what the plan says comes first");
}

#[test]
fn a_pipe_is_no_file_and_is_not_waited_for() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let fault = value::of_file(&path).unwrap_err().to_string();
    assert!(fault.contains("is not a file"), "{fault}");
}
