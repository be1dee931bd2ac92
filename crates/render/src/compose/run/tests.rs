//! Pages of runs as a browser's parser reads them.

mod texts;

use candor_record::Encoded;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::page;
use crate::Depth;
use crate::print::html::poison::{self, PAYLOADS, parsed, readable};
use candor_report::document::Document;
use candor_report::testing;

#[test]
fn the_pages() {
    for (name, document) in [("open", testing::healthy_open()), ("full", testing::full())] {
        let page = super::page(&document, Depth::Full).html();
        testing::golden(&format!("golden/{name}.html"), &readable(&page));
    }
}

#[test]
fn every_document_has_a_page_of_its_own_and_a_small_one() {
    let documents = testing::every_document().into_iter().chain(testing::provoked());
    for document in documents {
        let page = super::page(&document, Depth::Full).html();
        assert_eq!(page, super::page(&document, Depth::Full).html());
        assert!(page.len() < 200_000, "{}", page.len());
        let read = parsed(&page);
        let ids: Vec<_> = page.match_indices(" id=\"").collect();
        assert!(read.elements.iter().filter(|one| one.starts_with("h1")).count() == 1);
        assert!(!ids.is_empty());
        for outside in ["http://", "https://"] {
            // Only names of namespaces in the icon and in the script, and URLs as text.
            assert!(read.values.iter().all(|value| !value.starts_with(outside)), "{outside}");
        }
        // Elements are closed in the order in which they were opened.
        let mut open = Vec::new();
        for element in &read.elements {
            let name = element.split(' ').next().unwrap();
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop().as_deref(), Some(name)),
                None if ["meta", "link", "input"].contains(&name) => {}
                None if ["path", "line", "rect"].contains(&name) => {}
                None => open.push(name.to_owned()),
            }
        }
        assert_eq!(open, [""; 0]);
    }
}

/// A long run is cut into slices: its page is not longer, and has the same responses in it.
#[test]
fn the_page_of_a_long_run_is_not_long() {
    let mut document = testing::healthy_open();
    let row = document.intervals[1].clone();
    document.intervals = (0..3600u64)
        .map(|n| {
            let mut row = row.clone();
            (row.index, row.start_ns, row.end_ns) = (n, n * 1_000_000_000, (n + 1) * 1_000_000_000);
            row
        })
        .collect();
    let page = super::page(&document, Depth::Full).html();
    assert!(page.len() < 300_000, "{}", page.len());
    assert!(page.contains("Each point covers 15 intervals"), "no note");
}

#[test]
fn a_damaged_histogram_is_told_and_the_rest_is_there() {
    let mut document = testing::healthy_open();
    document.latencies.response.hdr = Encoded(vec![0; 3]);
    document.intervals[1].response_hdr = Encoded::default();
    let text = parsed(&page(&document, Depth::Full).html()).text.join("");
    assert!(text.contains("There are no curves: a histogram in the document is damaged"), "{text}");
    assert!(text.contains("There are no charts: a histogram in the document is damaged"), "{text}");
    assert!(text.contains("Ledger"));
}

#[test]
fn payloads_stay_text() {
    let places = poison::check(&testing::full(), |one| page(one, Depth::Full).html(), &PAYLOADS);
    assert!(places > 60, "{places}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn any_text_stays_text(texts in prop::collection::vec(poison::text(), 16)) {
        poison::check(&*FULL, |one| page(one, Depth::Full).html(), &texts.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

static FULL: LazyLock<Document> = LazyLock::new(testing::full);
