//! Translates OpenSSL's names of cipher suites and groups to those of `--tls-ciphers` and
//! `--tls-groups`.
//!
//! h2load's lists have more names than Candor supports. Unsupported names are dropped with a note;
//! a list without any supported name is refused.

/// OpenSSL's name and ours.
type Known = (&'static str, &'static str);

/// Of TLS 1.2.
const CIPHERS: [Known; 6] = [
    ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ("ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    ("ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
];

/// Of TLS 1.3.
const TLS13_CIPHERS: [Known; 3] = [
    ("TLS_AES_128_GCM_SHA256", "TLS13_AES_128_GCM_SHA256"),
    ("TLS_AES_256_GCM_SHA384", "TLS13_AES_256_GCM_SHA384"),
    ("TLS_CHACHA20_POLY1305_SHA256", "TLS13_CHACHA20_POLY1305_SHA256"),
];

const GROUPS: [Known; 7] = [
    ("X25519", "X25519"),
    ("P-256", "secp256r1"),
    ("prime256v1", "secp256r1"),
    ("P-384", "secp384r1"),
    ("secp384r1", "secp384r1"),
    ("X25519MLKEM768", "X25519MLKEM768"),
    ("SecP256r1MLKEM768", "secp256r1MLKEM768"),
];

/// A list in our names, and the names dropped from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Translated {
    pub(super) names: Vec<String>,
    pub(super) left_out: Vec<String>,
}

/// The suites of both lists. A version whose list was not given has all of its suites.
pub(super) fn ciphers(tls12: Option<&str>, tls13: Option<&str>) -> Result<Translated, String> {
    if tls12.is_none() && tls13.is_none() {
        return Ok(Translated::default());
    }
    let mut all = of("--tls13-ciphers", &TLS13_CIPHERS, tls13)?;
    let Translated { names, left_out } = of("--ciphers", &CIPHERS, tls12)?;
    all.names.extend(names);
    all.left_out.extend(left_out);
    Ok(all)
}

/// The groups of a list.
pub(super) fn groups(list: Option<&str>) -> Result<Translated, String> {
    match list {
        None => Ok(Translated::default()),
        list => of("--groups", &GROUPS, list),
    }
}

fn of(option: &str, known: &[Known], list: Option<&str>) -> Result<Translated, String> {
    let Some(list) = list else {
        let names = known.iter().map(|(_, ours)| (*ours).to_owned()).collect();
        return Ok(Translated { names, left_out: Vec::new() });
    };
    let mut translated = Translated::default();
    for name in list.split(':').filter(|name| !name.is_empty()) {
        match known.iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(name)) {
            Some((_, ours)) => translated.names.push((*ours).to_owned()),
            None => translated.left_out.push(name.to_owned()),
        }
    }
    match translated.names.is_empty() {
        true => {
            let all: Vec<_> = known.iter().map(|(theirs, _)| *theirs).collect();
            Err(format!("{option}: none of {list} is supported; name one of {}", all.join(":")))
        }
        false => Ok(translated),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_translated_in_order() {
        let all = groups(Some("P-256:X25519:P-521")).unwrap();
        assert_eq!(all.names, ["secp256r1", "X25519"]);
        assert_eq!(all.left_out, ["P-521"]);
        let only = ciphers(None, Some("TLS_AES_256_GCM_SHA384")).unwrap().names;
        assert_eq!((only[0].as_str(), only.len()), ("TLS13_AES_256_GCM_SHA384", 7));
        assert_eq!(ciphers(None, None), Ok(Translated::default()));
        let error = ciphers(Some("RC4-SHA"), None).unwrap_err();
        assert!(error.starts_with("--ciphers: none of RC4-SHA is supported; name one of "));
    }
}
