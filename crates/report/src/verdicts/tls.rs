//! Runs over TLS that did not authenticate the server.

use candor_plan::Trust;

use super::{Finding, Severity};
use crate::document::Document;

/// `--insecure`: any server at the address could have been measured.
pub(super) fn unverified(document: &Document) -> Option<Finding> {
    let tls = document.plan.target.tls.as_ref().filter(|tls| tls.trust == Trust::Anybody)?;
    Some(Finding {
        severity: Severity::Note,
        sentence: format!(
            "Certificates were not checked (--insecure): any server could have responded as {}.",
            tls.server_name.trim_end_matches('.')
        ),
        evidence: vec![("connections_opened", document.connections.opened as f64)],
        remedy: "Give the server's CA with --cacert.",
    })
}

#[cfg(test)]
mod tests {
    use candor_plan::{Pem, Trust};

    use super::super::found;
    use crate::testing;

    #[test]
    fn a_run_that_trusts_anybody_says_so() {
        let of = |trust: Trust| found(&testing::over_tls(trust), "tls-unverified");
        let verdict = of(Trust::Anybody).unwrap();
        let pem = Pem { file: "ca.pem".to_owned(), text: [].into() };
        assert!(verdict.sentence.contains("(--insecure)"), "{}", verdict.sentence);
        assert!(verdict.sentence.ends_with("as secure.example."), "{}", verdict.sentence);
        assert_eq!((of(Trust::System), of(Trust::Only(pem))), (None, None));
        assert_eq!(found(&testing::healthy_open(), "tls-unverified"), None);
    }
}
