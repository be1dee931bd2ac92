use super::*;
use crate::testing;
use crate::testing::Run;
use candor_plan::{Proxy, ProxyWay, describe};
use candor_record::ConnectErrorKind;

#[test]
fn a_healthy_open_run() {
    let document = testing::healthy_open();
    assert_eq!(document.ledger.scheduled, 6000);
    assert_eq!(document.warm_up.scheduled, 1000);
    assert_eq!(document.ledger.ok, 6000);
    assert_eq!(document.rate.asked_per_s, Some(2000.0));
    assert_eq!(document.rate.scheduled_per_s, Some(2000.0));
    assert!(document.rate.achieved_per_s.unwrap() > 1999.0);
    assert_eq!(document.connections.least, 16);
    assert_eq!(document.window_intervals().count(), 3);
    assert_eq!(document.started_at, "2023-11-14T22:13:20.123Z");
    assert!(!document.end.partial && !document.is_invalid());
}

#[test]
fn a_closed_run_asks_for_no_rate() {
    let document = testing::healthy_closed();
    assert_eq!(document.rate.asked_per_s, None);
    assert_eq!(describe::load(&document.plan), "closed loop");
    assert_eq!(document.requests, []);
}

#[test]
fn attempts_to_connect_say_what_they_were_made_to() {
    let sentence = |prepare: &dyn Fn(&mut Run)| {
        let mut run = testing::empty_run();
        prepare(&mut run);
        run.document().connect_errors[0].sentence.clone()
    };
    assert_eq!(sentence(&|_| {}), "nothing listens there");
    let proxied = |run: &mut Run| {
        run.plan.target.proxy = Some(Proxy {
            way: ProxyWay::Connect,
            host: "shop.test".to_owned(),
            port: 80,
            user: None,
            variable: None,
        });
    };
    assert_eq!(sentence(&proxied), "nothing listens there (the proxy)");
    // What fails on this machine went nowhere.
    let local = |run: &mut Run| {
        proxied(run);
        run.connect_errors = vec![ConnectErrorKind::PortsExhausted];
    };
    assert_eq!(sentence(&local), "no local port is free");
}

#[test]
fn a_broken_run_is_partial_and_still_balances() {
    let document = testing::broken();
    assert!(document.end.partial);
    assert!(document.ledger.balances(), "{:?}", document.ledger);
    assert!(!document.is_invalid(), "{:?}", document.verdicts);
    assert_eq!(document.requests.len(), 2);
    let kinds: Vec<_> = document.errors.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["status", "timeout", "reset"]);
    assert!(document.errors.iter().all(|one| one.example.is_some()));
    let ledger = &document.ledger;
    assert!(ledger.shed > 0 && ledger.unsent > 0 && ledger.unfinished > 0, "{ledger:?}");
}

#[test]
fn a_run_without_a_window_has_no_rates() {
    let mut record = testing::empty_run().record();
    record.window_ns = 0;
    let document = Document::new(&testing::facts(), &testing::empty_run().checked(), &record);
    assert_eq!(document.rate.achieved_per_s, None);
    assert_eq!(document.rate.scheduled_per_s, None);
    assert!(!document.is_invalid(), "{:?}", document.verdicts);
}

#[test]
fn secrets_do_not_enter() {
    let text = crate::json::render(&testing::broken());
    assert!(text.contains("[redacted]") && !text.contains("hunter2"));
}

#[test]
fn a_ledger_that_does_not_balance_is_only_believed_where_a_verdict_says_so() {
    for spoil in [
        (|document| document.ledger.ok += 1) as fn(&mut Document),
        |document| document.ledger.scheduled *= 2,
        |document| document.warm_up.errors += 5,
    ] {
        let mut document = testing::healthy_open();
        spoil(&mut document);
        let changed = Document::from_json(&crate::json::render(&document)).unwrap_err();
        assert!(changed.to_string().contains("its ledger does not balance"), "{changed}");
        document.verdicts = crate::verdicts::judge(&document);
        let own = Document::from_json(&crate::json::render(&document)).unwrap();
        assert!(own.is_invalid());
    }
}

/// Results of versions that did not watch pauses have neither count nor distribution.
#[test]
fn touched_requests_survive_a_file_and_older_results_have_none() {
    let document = testing::paused_run().document();
    let text = crate::json::render(&document);
    assert_eq!(Document::from_json(&text).unwrap(), document);
    assert_eq!(document.intervals.iter().map(|row| row.touched).sum::<u64>(), 100);

    let mut older: serde_json::Value = serde_json::from_str(&text).unwrap();
    let latencies = older["latencies"].as_object_mut().unwrap();
    assert!(latencies.remove("touched").is_some() && latencies.remove("untouched").is_some());
    for row in older["intervals"].as_array_mut().unwrap() {
        assert!(row.as_object_mut().unwrap().remove("touched").is_some());
    }
    let older = Document::from_json(&older.to_string()).unwrap();
    assert_eq!((older.latencies.touched, &older.latencies.untouched), (0, &None));
    assert!(!older.is_invalid());
}

/// Whatever became of their requests.
#[test]
fn journeys_that_fail_are_failures() {
    let mut document = testing::users_run().document();
    assert!(!document.nothing_worked() && !document.mostly_failed());
    let journeys = |document: &mut Document, of: &dyn Fn(u64) -> (u64, u64)| {
        for one in &mut document.users.as_mut().unwrap().journeys {
            (one.completed, one.failed) = of(one.started);
        }
    };
    journeys(&mut document, &|started| (started / 3, started - started / 3));
    assert!(!document.nothing_worked() && document.mostly_failed());
    journeys(&mut document, &|started| (0, started));
    assert!(document.nothing_worked());
}
