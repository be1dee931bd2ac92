//! Forms in parts: the bytes of their bodies, with files and holes.

use candor_plan::journey::Known;
use candor_plan::redact::Hidden;
use candor_plan::template::{Names, Piece, Template};
use candor_plan::{Options, Plan};

use crate::common::{Memory, flags};

/// The content type and the body of a request, with `?` for each hole that a request fills.
fn sent(plan: &Plan, number: usize) -> (String, String) {
    let names = Names { data: &[], environment: &plan.environment, captured: Known::default() };
    let request = Template::compile(&plan.work.requests()[number], number, names).unwrap();
    let text = |pieces: &[Piece]| {
        let texts = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Piece::Hole(_) => "?".to_owned(),
        });
        texts.collect::<String>()
    };
    let kind = request.headers.iter().find(|(name, _)| name == "Content-Type");
    (text(&kind.unwrap().1), text(&request.body))
}

#[test]
fn a_form_has_files_and_holes_in_the_order_given() {
    let files = Memory::with(&[("a/photo.png", "${seq}$${x}"), ("b", "text")]);
    let options = flags(&[
        "-F",
        "n=${seq};type=text/x",
        "--form",
        "f=@a/photo.png",
        "-F",
        "t=${env:TOKEN}",
        "-F",
        "v=<b",
        "-F",
        "l=$${x}",
        "http://h/",
    ]);
    let (plan, _) = options.unwrap().build(&files).unwrap();
    assert_eq!(plan.work.requests()[0].method, "POST");
    let part = |lines: &str| {
        format!("--candor-7MA4YWxkTrZu0gW\r\nContent-Disposition: form-data; {lines}\r\n")
    };
    let parts = [
        "name=\"n\"\r\nContent-Type: text/x\r\n\r\n?",
        "name=\"f\"; filename=\"photo.png\"\r\nContent-Type: image/png\r\n\r\n${seq}$${x}",
        "name=\"t\"\r\n\r\nhunter2",
        "name=\"v\"\r\n\r\ntext",
        "name=\"l\"\r\n\r\n${x}",
    ];
    let body = parts.map(part).concat() + "--candor-7MA4YWxkTrZu0gW--\r\n";
    let kind = "multipart/form-data; boundary=candor-7MA4YWxkTrZu0gW";
    assert_eq!(sent(&plan, 0), (kind.to_owned(), body));
}

#[test]
fn a_boundary_is_in_no_file_and_may_be_given() {
    let files = Memory::with(&[
        ("plans/one", "candor-7MA4YWxkTrZu0gW"),
        ("plans/two", "candor-7MA4YWxkTrZu0gW-2"),
    ]);
    let text = "url = 'h'\nform = 'top=1'\n\
                [[request]]\nform = ['a=@one', 'b=@two']\n\
                [[request]]\nform = 'a=@one'\nheader = { Content-Type = 'multipart/form-data; charset=x' }\n\
                [[request]]\nform = 'a=@one'\nheader = { Content-Type = 'multipart/form-data; boundary=\"B\"' }\n\
                [[request]]\npath = '/${seq}'\n\
                [[request]]\nbody = 'text'\n";
    let options = Options::from_toml("plans/p.toml", text).unwrap();
    let (plan, _) = options.build(&files).unwrap();
    let ends = [
        ("multipart/form-data; boundary=candor-7MA4YWxkTrZu0gW-3", "--candor-7MA4YWxkTrZu0gW-3--"),
        (
            "multipart/form-data; charset=x; boundary=candor-7MA4YWxkTrZu0gW-2",
            "--candor-7MA4YWxkTrZu0gW-2--",
        ),
        ("multipart/form-data; boundary=\"B\"", "--B--"),
        ("multipart/form-data; boundary=candor-7MA4YWxkTrZu0gW", "--candor-7MA4YWxkTrZu0gW--"),
    ];
    for (number, (kind, end)) in ends.into_iter().enumerate() {
        let (got, body) = sent(&plan, number);
        assert_eq!(got, kind);
        assert!(body.ends_with(&format!("\r\n{end}\r\n")), "{body}");
    }
    assert_eq!(plan.work.requests()[4].body.whole(), b"text");
}

#[test]
fn secrets_of_a_form_are_hidden_beside_bytes() {
    let files = Memory::bytes(&[("photo", &b"\xff\x00${"[..])]);
    let options =
        flags(&["-F", "password=hunter22", "-F", "f=@photo", "-F", "n=${seq}", "http://h/"]);
    let (plan, _) = options.unwrap().build(&files).unwrap();
    let request = &plan.work.requests()[0];
    assert!(request.body.whole().windows(5).any(|part| part == b"\xff\x00$${"));
    let hidden = Hidden::of(&plan);
    assert_eq!(hidden.text("it was hunter22."), "it was [redacted].");
}
