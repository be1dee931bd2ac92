//! Tests every plan in docs/plan-files.md, so that copies of them work.

use crate::common::Memory;
use candor_plan::{Load, Options, Order, Work};

const GUIDE: &str = include_str!("../../../docs/plan-files.md");

/// The `toml` blocks of the page.
fn plans() -> Vec<&'static str> {
    let blocks = GUIDE.split("\n```toml\n").skip(1);
    blocks.map(|rest| rest.split_once("\n```").expect("a block ends").0).collect()
}

#[test]
fn every_plan_of_the_guide_can_be_run() {
    let plans = plans();
    assert_eq!(plans.len(), 3);
    for text in plans {
        let options =
            Options::from_toml("plan.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        options.build(&Memory::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
}

#[test]
fn the_complete_example_is_what_its_comments_say() {
    let options = Options::from_toml("plan.toml", plans()[0]).unwrap();
    let (plan, outputs) = options.build(&Memory::default()).unwrap();
    let Load::Open(load) = &plan.load else { panic!("a closed loop") };
    assert_eq!(load.segments.len(), 3, "the warm-up, the ramp and the hold");
    assert_eq!(load.shed_after_ns, Some(1_000_000_000));
    let Work::Requests(requests) = &plan.work else { panic!("{:?}", plan.work) };
    assert_eq!(requests.order, Order::Weighted);
    let [list, create] = requests.list.as_slice() else { panic!("two requests") };
    assert_eq!((list.path.as_str(), list.weight), ("/orders?page=1", 9));
    assert_eq!((create.method.as_str(), create.headers.len()), ("POST", 3));
    assert_eq!(outputs.expect.len(), 2);
    assert!(outputs.strict);
}
