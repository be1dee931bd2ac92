//! Parts of plans that tests of protocols begin with.

use candor_plan::{BodyExpect, Delivery, Expect, Request, StatusSet, Tls, TlsVersion, Trust};

/// A request for `/`, which expects any answer.
pub fn request(method: &str, headers: &[(&str, &str)], body: &[u8]) -> Request {
    Request {
        target: 0,
        name: method.to_owned(),
        method: method.to_owned(),
        path: "/".to_owned(),
        headers: headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
        body: body.into(),
        delivery: Delivery::default(),
        expect: Expect { status: StatusSet { ranges: vec![(100, 999)] }, body: BodyExpect::Any },
        stream: None,
        weight: 1,
        holes: false,
        literal_body: false,
        call: None,
        reply: None,
        redacted: None,
    }
}

/// TLS 1.3 with a server of this name, which speaks `alpn` alone.
pub fn tls(server_name: &str, alpn: &str, trust: Trust) -> Tls {
    Tls {
        trust,
        server_name: server_name.to_owned(),
        identity: None,
        alpn: vec![alpn.to_owned()],
        min: TlsVersion::V13,
        max: TlsVersion::V13,
        ciphers: vec![],
        groups: vec![],
        resumption: false,
        early_data: false,
    }
}
