//! Data sets and templates, from options to the plan.

use crate::common::*;
use candor_plan::{DataFormat, DataOrder, Options, Plan};

fn files() -> Memory {
    Memory::with(&[
        ("users.csv", "name,password"),
        ("items.jsonl", "id"),
        ("urls.txt", "method,path\nhttp://listed:81/a"),
        ("body.bin", "${x}"),
        ("load.lua", "wrk.method = 'PUT'"),
    ])
}

fn planned(text: &str) -> Result<Plan, String> {
    let options = Options::from_toml("plan.toml", &format!("url = 'http://h/'\n{text}"));
    let built = options.map_err(|error| error.to_string())?.build(&files());
    built.map(|(plan, _)| plan).map_err(|error| error.to_string())
}

#[test]
fn data_comes_from_flags_and_tables() {
    let given = |plan: &Plan| -> Vec<_> {
        let data = plan.data.iter();
        data.map(|one| (one.name.clone(), one.format, one.order, one.columns.len())).collect()
    };
    let csv = |order| ("users".to_owned(), DataFormat::Csv, order, 2);
    let (plan, _) =
        flags(&["--data", "users=users.csv:once", "--data", "i=items.jsonl", "http://h/"])
            .unwrap()
            .build(&files())
            .unwrap();
    let items = ("i".to_owned(), DataFormat::JsonLines, DataOrder::Rotation, 1);
    assert_eq!(given(&plan), [csv(DataOrder::Once), items]);
    for (text, order) in [
        ("data = 'users=users.csv'", DataOrder::Rotation),
        ("data = ['users=users.csv:random']", DataOrder::Random),
        ("[data.users]\nfile = 'users.csv'\norder = 'shuffle'", DataOrder::Shuffle),
        ("[data.users]\nfile = 'users.csv'\nformat = 'csv'", DataOrder::Rotation),
    ] {
        assert_eq!(given(&planned(text).unwrap()), [csv(order)], "{text}");
    }
    // An end that is no order is part of the name.
    let odd = "--data: a:b: no such file";
    let error = flags(&["--data", "x=a:b", "http://h/"]).unwrap().build(&files()).unwrap_err();
    assert_eq!(error.to_string(), odd);
    // One that is nearly one is a slip.
    let error = flags(&["--data", "users=users.csv:shufle", "http://h/"]).unwrap_err();
    assert!(error.to_string().contains("did you mean \"shuffle\"?"), "{error}");
}

#[test]
fn requests_have_holes_where_they_have_some() {
    assert!(!planned("").unwrap().work.requests()[0].holes);
    let text = "data = 'users=users.csv'\n\
                [[request]]\npath = '/${random 1..9}'\n\
                [[request]]\npath = '/$${a}'\nheader = { A = '$${b}' }\nbody = '$${c}$'\n\
                [[request]]\njson = { user = '${users.name}', n = 1 }\n\
                [[request]]\nheaders = { A = '${seq}', Content-Type = 'text/x' }\njson = [1]\n\
                [[request]]\nbody-file = 'body.bin'\n\
                [[request]]\npath = '/${seq}'\nbody-file = 'body.bin'\n";
    let plan = planned(text).unwrap();
    let list = plan.work.requests();
    let holes: Vec<bool> = list.iter().map(|one| one.holes).collect();
    assert_eq!(holes, [true, false, true, true, false, true]);
    assert_eq!((list[1].path.as_str(), list[1].body.whole()), ("/${a}", &b"${c}$"[..]));
    assert_eq!(list[1].headers[0].1, "${b}");
    assert_eq!(list[2].body.whole(), b"{\"user\":\"${users.name}\",\"n\":1}");
    assert_eq!(list[2].headers, [("Content-Type".to_owned(), "application/json".to_owned())]);
    assert_eq!(list[3].headers.len(), 2, "a type that is given is kept");
    for one in &list[4..] {
        assert_eq!(one.body.whole(), b"${x}", "a file is sent as it is");
        assert!(one.literal_body);
    }
    // In a URL too, with blanks.
    let (plan, _) = flags(&["http://h/a?b=${random 1..9}"]).unwrap().build(&files()).unwrap();
    assert_eq!(plan.work.requests()[0].path, "/a?b=${random 1..9}");
    assert!(plan.work.requests()[0].holes);
}

/// As it is written, also in tables below and after a plan has travelled; fields of a header too.
#[test]
fn json_keeps_its_order() {
    let body = |text: &str| {
        let plan = planned(text).unwrap();
        let travelled: candor_plan::Plan =
            postcard::from_bytes(&postcard::to_allocvec(&plan).unwrap()).unwrap();
        let one = &travelled.work.requests()[0];
        (String::from_utf8(one.body.whole().to_vec()).unwrap(), one.headers.clone())
    };
    for (json, sent) in [
        (
            "json = { zeta = 1, alpha = '${seq}', mid = { y = 1, b = 2 } }",
            r#"{"zeta":1,"alpha":"${seq}","mid":{"y":1,"b":2}}"#,
        ),
        (
            "[request.json]\n'$type' = 'Foo'\nb = [1, { d = 1.0, c = true }, []]\n[request.json.a]\n'q\"' = \"\\u0001é\"\n",
            r#"{"$type":"Foo","b":[1,{"d":1.0,"c":true},[]],"a":{"q\"":"\u0001é"}}"#,
        ),
        ("json = {}", "{}"),
        ("json = 'text'", r#""text""#),
        // JSON has no dates: they are text.
        ("json = { on = 2026-11-26, at = [10:00:00] }", r#"{"on":"2026-11-26","at":["10:00:00"]}"#),
    ] {
        assert_eq!(body(&format!("[[request]]\n{json}\n")).0, sent);
    }
    let fields = "[[request]]\nheader = { X-B = '1', X-A = '2', Accept = '3' }\n";
    let names: Vec<_> = body(fields).1.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["X-B", "X-A", "Accept"]);
}

#[test]
fn requests_of_other_tools_are_taken_literally() {
    let mut options = flags(&["http://h/${a}", "-b", "$${b}"]).unwrap();
    options.requests.literal = true;
    let (plan, _) = options.build(&files()).unwrap();
    let one = &plan.work.requests()[0];
    assert_eq!((one.path.as_str(), one.body.whole(), one.holes), ("/${a}", &b"$${b}"[..], false));
}

#[test]
fn the_environment_is_kept_apart_and_left_out_of_results() {
    let plan = planned("header = { A = 'Bearer ${env:TOKEN}' }").unwrap();
    assert_eq!(plan.environment.len(), 1);
    assert_eq!(plan.environment[0].value.whole(), b"hunter2");
    assert_eq!(plan.work.requests()[0].headers[0].1, "Bearer ${env:TOKEN}");
    let shown = format!("{:?}", plan.redacted());
    assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
    assert!(Plan::try_from(plan.redacted()).is_err(), "no plan is made of a result");
}

#[test]
fn a_list_of_urls_is_a_request_with_holes_for_method_and_path() {
    let (plan, _) = flags(&["--urls", "urls.txt:shuffle"]).unwrap().build(&files()).unwrap();
    assert_eq!(plan.target.authority, "listed:81", "the first URL names the target");
    let one = &plan.work.requests()[0];
    assert_eq!(
        (one.name.as_str(), one.method.as_str(), one.path.as_str()),
        ("urls", "${urls.method}", "${path urls.path}")
    );
    assert_eq!(plan.data[0].order, DataOrder::Shuffle);
    let (plan, _) = flags(&["--urls", "urls.txt", "http://own/"]).unwrap().build(&files()).unwrap();
    assert_eq!(plan.target.authority, "own");
}

#[test]
fn a_script_may_have_data() {
    for data in ["data = 'u=users.csv:shuffle'", "rate = '1k'\ndata = 'u=users.csv:once'"] {
        let plan = planned(&format!("script = 'load.lua'\n{data}")).unwrap();
        assert!(plan.work.script().is_some() && plan.data[0].columns.len() > 1, "{data}");
    }
    let plan = planned("data = 'state=users.csv'").unwrap();
    assert_eq!(plan.data[0].name, "state");
}

#[test]
fn what_does_not_fit_together_is_refused_with_its_remedy() {
    let table = [
        ("path = 1", "unknown key \"path\""),
        ("data = 'users.csv'", "`users.csv` has no name; use NAME=FILE[:ORDER]"),
        ("data = 'a b=users.csv'", "`a b` is not a name for data; use letters, digits, - and _"),
        ("data = 'a=:once'", "no file; use FILE[:ORDER]"),
        ("data = ['a=users.csv', 'a=users.csv']", "two data sets are named \"a\""),
        ("[data.users]\nfile = 'users.csv'\norder = 'shufle'", "did you mean \"shuffle\"?"),
        ("[data.users]\nfle = 'users.csv'", "unknown key \"fle\"; did you mean \"file\"?"),
        (
            "[data.users]\nfile = 'users.csv'\nformat = 'xls'",
            "\"xls\" is not a format; use csv or jsonl",
        ),
        (
            "[[request]]\npath = '/${users.name}'",
            "request \"GET /${users.name}\": the path: ${users.name} is not known",
        ),
        ("[[request]]\nbody = 'x'\njson = 1", "a request has one body"),
        ("[[request]]\njson = { a = nan }", "NaN is no number of JSON"),
        ("[[request]]\njson = [1, -inf]", "-inf is no number of JSON"),
        ("urls = 'urls.txt'\nmethod = 'POST'", "--method cannot be used with --urls"),
        ("urls = 'urls.txt'\n[[request]]\nmethod = 'PUT'", "--method cannot be used with --urls"),
        (
            "urls = 'urls.txt'\n[[request]]\npath = '/own'",
            "--urls cannot be used with [[request]]: no request takes a line",
        ),
        (
            "urls = 'urls.txt'\n[[journey]]\n[[journey.step]]\npath = '/own'",
            "--urls cannot be used with [[journey]]: no request takes a line",
        ),
        ("chunked = 8\nbody = 'xxxxxxxxxxx${seq}'", "--chunked cannot be used with ${…}"),
        ("pieces = 2\nheader = 'A: ${seq}'", "--pieces cannot be used with ${…}"),
        ("h2c-upgrade = true\nheader = 'A: ${seq}'", "--h2c-upgrade cannot be used with ${…}"),
        ("header = 'Connection: ${seq}'", "Connection has the same value in every request"),
        ("body = '${seq}'\nheader = 'Content-Length: 6'", "the length of a body with ${…} differs"),
        (
            "script = 'load.lua'\ndata = 'u=users.csv:once'",
            "--script cannot be used with data in the order once: in a closed load",
        ),
        (
            "script = 'load.lua'\ndata = 'state=users.csv'",
            "a data set of a script cannot be named \"state\", because wrk.user.state is something else",
        ),
        (
            "script = 'load.lua'\nheader = 'A: ${u.name}'\ndata = 'u=users.csv'",
            "--script cannot be used with ${…}",
        ),
    ];
    for (text, message) in table {
        let error = planned(text).expect_err(text);
        assert!(error.contains(message), "{text}: {error}");
    }
}
