//! AWS Signature Version 4 of requests that are made
//! (<https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>).
//!
//! A signature is a keyed hash over the *canonical request*: method, path, query, header fields and the body's hash, each
//! in a form of its own. It has the time in it, to the second. A request that equals the one before, time included, has
//! the same signature, which is kept: a request without holes is signed once a second.

use std::cmp::Ordering;
use std::ops::Range;

use aws_lc_rs::{digest, hmac};
use candor_plan::SigV4;
use memchr::memchr;

use crate::request::field;

/// Fields that proxies may change or that belong to a connection, and those that are no part of it.
const UNSIGNED: &[&str] = &[
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "expect",
    "te",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "x-amzn-trace-id",
];

/// The services that are S3. Others whose names begin so (`s3tables`, `s3vectors`) are signed as all others are.
const S3: [&str; 4] = ["s3", "s3express", "s3-object-lambda", "s3-outposts"];

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Signs the requests of one [`Form`](super::Form).
#[derive(Debug)]
pub(super) struct Signer {
    by: SigV4,
    /// S3 reads a path as it is sent, and needs the hash of the body in a field.
    is_s3: bool,
    /// The signing key of a day.
    key: Option<([u8; 8], hmac::Key)>,
    /// The body before, and its hash.
    body: Vec<u8>,
    payload: String,
    /// The request before, up to this field, and the field.
    before: Vec<u8>,
    authorization: String,
    canonical: Vec<u8>,
    /// Names of fields and their lines, and pairs of the query, by their places.
    places: Vec<Place>,
    encoded: Vec<u8>,
}

/// A name with its value, in a buffer.
#[derive(Debug, Clone)]
struct Place {
    name: Range<usize>,
    value: Range<usize>,
}

impl Signer {
    pub(super) fn new(by: &SigV4) -> Self {
        Signer {
            by: by.clone(),
            is_s3: S3.contains(&by.service.as_str()),
            key: None,
            payload: hex(digest::digest(&digest::SHA256, b"").as_ref()),
            body: Vec::new(),
            before: Vec::new(),
            authorization: String::new(),
            canonical: Vec::new(),
            places: Vec::new(),
            encoded: Vec::new(),
        }
    }

    /// Appends the fields that sign a request to its text, which ends with its last field. `path` and `fields` are places
    /// in it, and its method comes first; `date` is the time as of RFC 3339.
    pub(super) fn sign(
        &mut self,
        text: &mut Vec<u8>,
        (method_bytes, path, fields_start): (usize, Range<usize>, usize),
        body: &[u8],
        date: &[u8],
    ) {
        let is_same = body == self.body;
        if !is_same {
            self.body.clear();
            self.body.extend_from_slice(body);
            self.payload = hex(digest::digest(&digest::SHA256, body).as_ref());
        }
        text.extend_from_slice(b"X-Amz-Date: ");
        let at = text.len();
        text.extend(date.iter().filter(|byte| !matches!(byte, b'-' | b':')));
        let date = at..text.len();
        if self.is_s3 {
            text.extend_from_slice(b"\r\nX-Amz-Content-Sha256: ");
            text.extend_from_slice(self.payload.as_bytes());
        }
        if let Some(token) = &self.by.session_token {
            text.extend_from_slice(b"\r\nX-Amz-Security-Token: ");
            text.extend_from_slice(token.as_bytes());
        }
        text.extend_from_slice(b"\r\n");
        if !is_same || self.before != *text {
            self.before.clone_from(text);
            self.renew(&text[..method_bytes], &text[path], &text[fields_start..], &text[date]);
        }
        text.extend_from_slice(b"Authorization: ");
        text.extend_from_slice(self.authorization.as_bytes());
        text.extend_from_slice(b"\r\n");
    }

    /// Makes the value of Authorization, of a body whose hash is known. `date`: as in X-Amz-Date.
    fn renew(&mut self, method: &[u8], path: &[u8], fields: &[u8], date: &[u8]) {
        let mut canonical = std::mem::take(&mut self.canonical);
        canonical.clear();
        canonical.extend_from_slice(method);
        canonical.push(b'\n');
        let (path, query) = match memchr(b'?', path) {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (path, &b""[..]),
        };
        match self.is_s3 {
            true => encode(path, Coding::Path, &mut canonical),
            false => put_normal(path, &mut canonical),
        }
        canonical.push(b'\n');
        self.put_query(query, &mut canonical);
        canonical.push(b'\n');
        let signed = self.put_fields(fields, &mut canonical);
        canonical.extend_from_slice(self.payload.as_bytes());
        let hash = hex(digest::digest(&digest::SHA256, &canonical).as_ref());
        let SigV4 { region, service, id, .. } = &self.by;
        let date = String::from_utf8_lossy(date);
        let day = date.get(..8).unwrap_or_default();
        let scope = format!("{day}/{region}/{service}/aws4_request");
        let to_sign = format!("{ALGORITHM}\n{date}\n{scope}\n{hash}");
        let credential = format!("{ALGORITHM} Credential={id}/{scope}");
        let names = String::from_utf8_lossy(&canonical[signed]);
        let signature = hex(hmac::sign(self.key_of(day), to_sign.as_bytes()).as_ref());
        self.authorization = format!("{credential}, SignedHeaders={names}, Signature={signature}");
        self.canonical = canonical;
    }

    /// The key that signs on a day.
    fn key_of(&mut self, day: &str) -> &hmac::Key {
        let stamp: [u8; 8] = day.as_bytes().try_into().unwrap_or_default();
        let SigV4 { region, service, secret, .. } = &self.by;
        let kept = self.key.take().filter(|(of, _)| *of == stamp);
        let made = || {
            let first = hmac::Key::new(hmac::HMAC_SHA256, format!("AWS4{secret}").as_bytes());
            let steps = [day, region, service, "aws4_request"];
            let next = |key: hmac::Key, step: &str| {
                hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&key, step.as_bytes()).as_ref())
            };
            (stamp, steps.into_iter().fold(first, next))
        };
        &self.key.insert(kept.unwrap_or_else(made)).1
    }

    /// Names and values, each encoded, in their order.
    fn put_query(&mut self, query: &[u8], out: &mut Vec<u8>) {
        let Signer { places, encoded, .. } = self;
        places.clear();
        encoded.clear();
        for pair in query.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let (name, value) = match memchr(b'=', pair) {
                Some(at) => (&pair[..at], &pair[at + 1..]),
                None => (pair, &b""[..]),
            };
            let [name, value] = [name, value].map(|text| {
                let start = encoded.len();
                encode(text, Coding::Query, encoded);
                start..encoded.len()
            });
            places.push(Place { name, value });
        }
        let key = |place: &Place| (&encoded[place.name.clone()], &encoded[place.value.clone()]);
        places.sort_unstable_by(|one, other| key(one).cmp(&key(other)));
        for (number, place) in places.iter().enumerate() {
            let (name, value) = key(place);
            out.extend_from_slice(if number > 0 { b"&" } else { b"" });
            out.extend_from_slice(name);
            out.push(b'=');
            out.extend_from_slice(value);
        }
    }

    /// The fields that are signed, and their names. Returns the place of these.
    fn put_fields(&mut self, fields: &[u8], out: &mut Vec<u8>) -> Range<usize> {
        let places = &mut self.places;
        places.clear();
        let range = |part: &[u8]| {
            let start = part.as_ptr().addr() - fields.as_ptr().addr();
            start..start + part.len()
        };
        for (name, value) in fields.split(|byte| *byte == b'\n').filter_map(field) {
            if !UNSIGNED.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes())) {
                places.push(Place { name: range(name), value: range(value) });
            }
        }
        let name = |place: &Place| &fields[place.name.clone()];
        let order = |one: &Place, other: &Place| by_name(name(one), name(other));
        places.sort_unstable_by(|one, other| {
            order(one, other).then(one.name.start.cmp(&other.name.start))
        });
        let is_first =
            |at: usize| at == 0 || order(&places[at - 1], &places[at]) != Ordering::Equal;
        for (at, place) in places.iter().enumerate() {
            if is_first(at) {
                out.extend_from_slice(if at > 0 { b"\n" } else { b"" });
                out.extend(name(place).iter().map(u8::to_ascii_lowercase));
                out.push(b':');
            } else {
                out.push(b',');
            }
            let mut last = b' ';
            for byte in &fields[place.value.clone()] {
                if *byte != b' ' || last != b' ' {
                    out.push(*byte);
                }
                last = *byte;
            }
        }
        out.extend_from_slice(b"\n\n");
        let start = out.len();
        for (at, place) in places.iter().enumerate().filter(|(at, _)| is_first(*at)) {
            out.extend_from_slice(if at > 0 { b";" } else { b"" });
            out.extend(name(place).iter().map(u8::to_ascii_lowercase));
        }
        let names = start..out.len();
        out.push(b'\n');
        names
    }
}

fn by_name(one: &[u8], other: &[u8]) -> Ordering {
    one.iter().map(u8::to_ascii_lowercase).cmp(other.iter().map(u8::to_ascii_lowercase))
}

/// A path without empty and relative segments, encoded as it stands.
fn put_normal(path: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    for segment in path.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => {
                let last = out[start..].iter().rposition(|byte| *byte == b'/');
                out.truncate(start + last.unwrap_or_default());
            }
            segment => {
                out.push(b'/');
                encode(segment, Coding::Again, out);
            }
        }
    }
    if out.len() == start || path.ends_with(b"/") {
        out.push(b'/');
    }
}

/// What is encoded, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    /// Not its escapes, whatever they stand for.
    Path,
    /// What its escapes stand for; a plus stands for a space.
    Query,
    /// Its escapes too.
    Again,
}

/// RFC 3986 2.3: all but unreserved characters are escaped.
fn encode(text: &[u8], coding: Coding, out: &mut Vec<u8>) {
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] if coding != Coding::Again => nibble(*high).zip(nibble(*low)),
            _ => None,
        };
        let byte = match (escaped, first) {
            (Some((high, low)), _) => high << 4 | low,
            (None, b'+') if coding == Coding::Query => b' ',
            (None, first) => *first,
        };
        rest = if escaped.is_some() { &rest[3..] } else { after };
        let is_slash = byte == b'/' && coding == Coding::Path;
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || is_slash;
        match is_plain && (escaped.is_none() || coding != Coding::Path) {
            true => out.push(byte),
            false => {
                out.push(b'%');
                out.extend([byte >> 4, byte & 15].map(|one| b"0123456789ABCDEF"[usize::from(one)]));
            }
        }
    }
}

fn nibble(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

fn hex(bytes: &[u8]) -> String {
    let digit = |one: u8| char::from(b"0123456789abcdef"[usize::from(one)]);
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15].map(digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer(service: &str) -> Signer {
        Signer::new(&SigV4 {
            region: "us-east-1".to_owned(),
            service: service.to_owned(),
            id: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: None,
        })
    }

    /// The time of AWS's test suite, to the second.
    const DATE: &str = "2015-08-30T12:36:00Z";

    /// The fields that sign a request with these parts, on whose first line stands the method and the path.
    fn signed(signer: &mut Signer, line: &str, fields: &str, body: &str, date: &str) -> String {
        let (method, path) = line.split_once(' ').unwrap();
        let head = format!("{line} HTTP/1.1\r\n");
        let (start, mut text) = (head.len(), (head + fields).into_bytes());
        let path = method.len() + 1..method.len() + 1 + path.len();
        let end = text.len();
        let places = (method.len(), path, start);
        signer.sign(&mut text, places, body.as_bytes(), date.as_bytes());
        String::from_utf8(text.split_off(end)).unwrap()
    }

    /// <https://github.com/awslabs/aws-c-auth/tree/main/tests/aws-signing-test-suite>: what is signed, and the signature.
    #[test]
    fn signatures_are_those_of_the_test_suite_of_aws() {
        let table = [
            (
                "GET /",
                "My-Header1:value2\nMy-Header1:value2\nMy-Header1:value1\n",
                "",
                "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
            ),
            (
                "GET /",
                "My-Header1:value4\nMy-Header1:value1\nMy-Header1:value3\nMy-Header1:value2\n",
                "",
                "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01",
            ),
            (
                "GET /",
                "My-Header1: value1\nMy-Header2: \"a   b   c\"\n",
                "",
                "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
            ),
            (
                "GET /-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                "",
                "",
                "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
            ),
            ("GET /ሴ", "", "", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
            ("GET /", "", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            (
                "GET /?Param1=value1",
                "",
                "",
                "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
            ),
            (
                "GET /?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
                "",
                "",
                "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
            ),
            (
                "GET /?Param1=value2&Param1=Value1",
                "",
                "",
                "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1",
            ),
            (
                "GET /?Param2=value2&Param1=value1",
                "",
                "",
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
            (
                "GET /?Param1=value2&Param1=value1",
                "",
                "",
                "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694",
            ),
            (
                "GET /?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                "",
                "",
                "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
            ),
            (
                "GET /?ሴ=bar",
                "",
                "",
                "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
            ),
            (
                "GET /",
                "X-Amz-Security-Token:6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267\n",
                "",
                "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8",
            ),
            (
                "GET /example/..",
                "",
                "",
                "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            ),
            (
                "GET /example1/example2/../..",
                "",
                "",
                "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            ),
            ("GET //", "", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("GET /./", "", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            (
                "GET /./example",
                "",
                "",
                "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5",
            ),
            (
                "GET //example//",
                "",
                "",
                "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
            ),
            (
                "GET /example space/",
                "",
                "",
                "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741",
            ),
            (
                "GET /example/$delete",
                "",
                "",
                "a853c9b21b528b19643d00910d35b83a10c366a10833ceefb45edd6c80e40f27",
            ),
            ("POST /", "", "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
            (
                "POST /",
                "My-Header1:value1\n",
                "",
                "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
            ),
            (
                "POST /",
                "My-Header1:VALUE1\n",
                "",
                "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
            ),
            (
                "POST /",
                "X-Amz-Security-Token:AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==\n",
                "",
                "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
            ),
            (
                "POST /?Param1=value1",
                "",
                "",
                "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
            ),
            (
                "POST /",
                "Content-Type:application/x-www-form-urlencoded\n",
                "Param1=value1",
                "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            ),
            (
                "POST /",
                "Content-Type:application/x-www-form-urlencoded; charset=utf8\n",
                "Param1=value1",
                "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe",
            ),
        ];
        for (line, fields, body, expected) in table {
            let fields = fields.replace('\n', "\r\n");
            let fields = format!("Host:example.amazonaws.com\r\n{fields}");
            let lines = signed(&mut signer("service"), line, &fields, body, DATE);
            let signature = lines.trim_end().rsplit_once("Signature=").unwrap().1;
            assert_eq!(signature, expected, "{line} {fields}");
        }
    }

    /// By botocore 1.44: S3SigV4Auth for `s3`, SigV4Auth for `s3tables` and `execute-api`.
    #[test]
    fn s3_signs_a_path_as_it_is_and_other_services_a_normal_one() {
        let table = [
            (
                "/",
                [
                    "4a57a9b66302b918923f101b20f6be667a12693f84a1e13a9a8b877028bef358",
                    "c181b16c67e169b91693486859e194e25a8924661f8241017ef57148e865341e",
                    "0b42ea2cbe5587460c2dc01f388964c0834d1cf82281963872548698c270aeb6",
                ],
            ),
            (
                "/a%20b",
                [
                    "5f21212cee430f8b63e319336be962dabf8167eff3c077138133c6a870c1e4d3",
                    "3c590a9f8bd2e51acb6262d729d250cefb533e9cb514ed82803754fb3f64669e",
                    "929c41808902b5430135f0eb2ea4b879b5592b885e756a6cd50dc0bfbfdcec2a",
                ],
            ),
            (
                "/a//b/",
                [
                    "58f02477ea34b1c6a855435e3284f1868a485fd249987d29b3d9ef71db775de2",
                    "32539eff737c21105553f9c4a16c40ce41d53b3f291432a467e204c4feb98135",
                    "422ce5e8941cefa74b067854f1f68f472ce792724d939b079b65cf0470b81256",
                ],
            ),
            (
                "/a/./b/../c",
                [
                    "820d7ad96ba4a51b60a6cb4b170f5184e46d912df6702c72c569ab65e768bedb",
                    "b469659dbf664e450a157c76a4e23dcf826fd76ca8309427135c57b1851c1060",
                    "857ff14994a7365731d8651d3802b6fb784bc272c1be1903b0c440513dcfd364",
                ],
            ),
            (
                "/..",
                [
                    "8dddf2e422cf980a7e9e7825e6ee2fa1564ce6d985e0ddfcc7d8145849c22473",
                    "c181b16c67e169b91693486859e194e25a8924661f8241017ef57148e865341e",
                    "0b42ea2cbe5587460c2dc01f388964c0834d1cf82281963872548698c270aeb6",
                ],
            ),
            (
                "/a%2Fb",
                [
                    "1d3d0b0dc7f564728785a6a321cc9ab1996f83e94a2f4ea17a5addf8790bd5a5",
                    "166ffb855fdbda734795f0f8bfff311967278ea7b0fbcb390020a61455b06069",
                    "b2ee6847269d9b92f678719fa7df784223582e8caa2e65f9a9a37a84c5e6ff2b",
                ],
            ),
            (
                "/%E1%88%B4/%F0%9F%98%80",
                [
                    "d31f80eaa27531a11497ead49049782bdc2034a2a99522fa3d7d78cb6ab64311",
                    "77037a50988ce5656231293009219b1d3a70e4ee87ad6c4aa768e550062f0009",
                    "4236064e80f0334d9d58bbdc9546aaee33371b814a2e56c06b1149401e0550ec",
                ],
            ),
            (
                "/a/%2E%2E/b",
                [
                    "4d10fd0545c359e47d6980d9d2828b8ab2fc0d125dcbb0e8ea61e6f6014301ab",
                    "e11a143a15a060bf69c742d97311469d656dc315f55c5a3da20ccaedca33697e",
                    "f86a782af07e6ede210f89b5e4ee62af4cf9ba5079baeea6aa6f8a64050a8933",
                ],
            ),
            (
                "/?acl",
                [
                    "876c5bc036e90a07af852b621afcfbaeb4f619616c6b53329bf0386fe167305d",
                    "147916f72a0472695e0c763d8a125dcc0f6371e6597647919bba1a059e093bf7",
                    "2def6ce2cc7e921804235677ce6f7c6006e6884dddd55697977bca46b7ed68d8",
                ],
            ),
            (
                "/?a=&b",
                [
                    "b3f65797217a2f8e3947132a2d740cc64716f30168e62a5e043490046e0fc422",
                    "66a9419d183c6ead32ab6818b9793bb30bb7489650f72640dbe2b475d56ea020",
                    "f68b8c457fdab7598cf6e783763beae69fda25994edd7f0f4a6e5e1e9630bbf8",
                ],
            ),
            (
                "/?b=2&a=2&a=1&a",
                [
                    "742f1713e7fc4e7a191ef7ad5b5d05ec8624f9a163300efca95641f67e1bb1e1",
                    "1f08abb5501b0746b2458f8bfea3ae2fda101379d8d578486ddf267ae44e00eb",
                    "f5efa60bd8a1eefbbdafc6ae649116052fe25f3c0d25b62d66a8acde7d57e3f9",
                ],
            ),
            (
                "/?x=a%20b%2Fc%3D%2B&%E1%88%B4=%F0%9F%98%80",
                [
                    "ae8356c8535d1c467a8006531ac755fb85529be1e670ed133992c87dc5d2dc95",
                    "8e7c01fd45b31e712f9ca13695975bf4079cced80dce23102797224d476edb87",
                    "dc4ce4ef7e6f07e4f383dc61ad5c0adae9078524cd3977db7c628573bfa39dec",
                ],
            ),
        ];
        for (path, signatures) in table {
            for (service, expected) in ["s3", "s3tables", "execute-api"].into_iter().zip(signatures)
            {
                let (line, host) = (format!("GET {path}"), "Host: example.amazonaws.com\r\n");
                let lines = signed(&mut signer(service), &line, host, "", DATE);
                let signature = lines.trim_end().rsplit_once("Signature=").unwrap().1;
                assert_eq!(signature, expected, "{service} {path}");
            }
        }
    }

    #[test]
    fn the_field_names_the_key_and_what_is_signed() {
        let fields =
            "User-Agent: a\r\nB: 1\r\nHost: example.amazonaws.com\r\nConnection: close\r\n";
        let lines = signed(&mut signer("s3"), "GET /", fields, "", DATE);
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let expected = format!(
            "X-Amz-Date: 20150830T123600Z\r\nX-Amz-Content-Sha256: {empty}\r\nAuthorization: AWS4-HMAC-SHA256 \
             Credential=AKIDEXAMPLE/20150830/us-east-1/s3/aws4_request, \
             SignedHeaders=b;host;x-amz-content-sha256;x-amz-date, Signature="
        );
        assert!(lines.starts_with(&expected), "{lines}");
    }

    #[test]
    fn what_was_signed_before_is_of_no_account() {
        let mut one = signer("service");
        let cases = [
            ("GET /a", "Host: h\r\n", "", DATE),
            ("GET /a", "Host: h\r\n", "", DATE),
            ("GET /a", "Host: h\r\n", "x", DATE),
            ("GET /a", "Host: h\r\n", "y", DATE),
            ("GET /b", "Host: h\r\n", "y", DATE),
            ("PUT /b", "Host: h\r\n", "y", DATE),
            ("PUT /b", "Host: h\r\n", "y", "2015-08-30T12:36:01Z"),
            ("PUT /b", "Host: h\r\n", "y", "2015-08-31T12:36:01Z"),
            ("PUT /b", "Host: h\r\nA: b\r\n", "y", "2015-08-31T12:36:01Z"),
            ("GET /a", "Host: h\r\n", "", DATE),
        ];
        for (line, fields, body, date) in cases {
            let of = |signer: &mut Signer| signed(signer, line, fields, body, date);
            assert_eq!(of(&mut one), of(&mut signer("service")), "{line} {date}");
        }
    }

    #[test]
    fn paths_and_queries_have_one_form() {
        let canonical = |service: &str, path: &str| {
            let mut signer = signer(service);
            signed(&mut signer, &format!("GET {path}"), "Host: h\r\n", "", DATE);
            let lines = String::from_utf8(signer.canonical).unwrap();
            let mut lines = lines.lines().skip(1).map(str::to_owned);
            (lines.next().unwrap(), lines.next().unwrap())
        };
        for (service, path, expected, query) in [
            ("service", "/a%20b/c", "/a%2520b/c", ""),
            ("s3", "/a%20b/c", "/a%20b/c", ""),
            ("s3", "/a//../c+%7e%2f/", "/a//../c%2B%7E%2F/", ""),
            ("service", "/../a/./b/..", "/a", ""),
            ("service", "/?b&a=%2f+%zz&a=&&b=1", "/", "a=&a=%2F%20%25zz&b=&b=1"),
        ] {
            assert_eq!(canonical(service, path), (expected.to_owned(), query.to_owned()), "{path}");
        }
    }
}
