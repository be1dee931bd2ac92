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
    let Translated { names, left_out } = match tls12 {
        Some(list) => suites(list)?,
        None => of("--ciphers", &CIPHERS, None)?,
    };
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

/// The suites of TLS 1.2 of a list of OpenSSL's, as its ciphers(1) says: names and words, joined by `+` to mean all at
/// once; `!` and `-` remove, `+` moves to the end, and `@` sorts, which is left to the server here.
fn suites(list: &str) -> Result<Translated, String> {
    let mut translated = Translated::default();
    let mut removed: Vec<&str> = Vec::new();
    let elements = list.split([':', ',', ' ', ';']).filter(|one| !one.is_empty());
    for element in elements.filter(|one| !one.starts_with('@')) {
        let (sign, words) = match element.split_at(1) {
            (sign @ ("!" | "-" | "+"), rest) => (sign, rest),
            _ => ("", element),
        };
        let meant =
            CIPHERS.iter().filter(|(theirs, _)| words.split('+').all(|word| is(theirs, word)));
        let meant: Vec<&str> = meant.map(|(_, ours)| *ours).collect();
        let there: Vec<&str> = meant
            .iter()
            .copied()
            .filter(|one| translated.names.iter().any(|name| name == one))
            .collect();
        if meant.is_empty() && sign.is_empty() {
            translated.left_out.push(element.to_owned());
        }
        match sign {
            "" => {
                let new = meant.iter().filter(|one| !there.contains(one) && !removed.contains(one));
                translated.names.extend(new.map(|one| (*one).to_owned()));
            }
            sign => {
                translated.names.retain(|name| !there.contains(&name.as_str()));
                match sign {
                    "!" => removed.extend(&meant),
                    "+" => translated.names.extend(there.iter().map(|one| (*one).to_owned())),
                    _ => {}
                }
            }
        }
    }
    match translated.names.is_empty() {
        true => Err(none_of("--ciphers", list, &CIPHERS)),
        false => Ok(translated),
    }
}

/// Whether a word of OpenSSL's means this suite. All of ours exchange keys by ECDHE, authenticate messages while they
/// encrypt them, and are strong.
fn is(suite: &str, word: &str) -> bool {
    let has = |part: &str| suite.split('-').any(|one| one == part);
    match word {
        "ALL" | "DEFAULT" | "HIGH" | "ECDHE" | "EECDH" | "kECDHE" | "kEECDH" | "TLSv1.2" => true,
        "aRSA" => has("RSA"),
        "aECDSA" | "ECDSA" => has("ECDSA"),
        "AESGCM" => has("GCM"),
        "AES" => has("AES128") || has("AES256"),
        "AES128" | "AES256" | "CHACHA20" => has(word),
        name => suite.eq_ignore_ascii_case(name),
    }
}

fn none_of(option: &str, list: &str, known: &[Known]) -> String {
    let all: Vec<_> = known.iter().map(|(theirs, _)| *theirs).collect();
    format!("{option}: none of {list} is supported; name one of {}", all.join(":"))
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
        true => Err(none_of(option, list, known)),
        false => Ok(translated),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `openssl ciphers -tls1_2 -s LIST` of OpenSSL 3 prints, of the suites that are ours.
    #[test]
    fn lists_mean_what_they_mean_to_openssl() {
        let chosen = |list: &str| {
            let names = suites(list).map(|found| found.names);
            let theirs = |ours: &String| CIPHERS.iter().find(|known| known.1 == ours).unwrap().0;
            names.map(|names| names.iter().map(theirs).collect::<Vec<_>>().join(" "))
        };
        let (gcm128, gcm256) = ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384");
        assert_eq!(suites("HIGH:!aNULL:!MD5").unwrap().names.len(), 6);
        assert_eq!(chosen("ECDHE+AESGCM:!ECDSA").unwrap(), format!("{gcm128} {gcm256}"));
        assert_eq!(chosen("ALL:!AES:!aECDSA").unwrap(), "ECDHE-RSA-CHACHA20-POLY1305");
        assert_eq!(chosen(&format!("!AES128:{gcm128}:{gcm256}")).unwrap(), gcm256);
        assert_eq!(
            chosen(&format!("{gcm128}:-AES128:{gcm256}:{gcm128}")).unwrap(),
            format!("{gcm256} {gcm128}")
        );
        assert_eq!(
            chosen(&format!("{gcm128}:{gcm256}:+AES128:@STRENGTH")).unwrap(),
            format!("{gcm256} {gcm128}")
        );
        assert_eq!(
            suites("DHE-RSA-AES128-GCM-SHA256:AESGCM").unwrap().left_out,
            ["DHE-RSA-AES128-GCM-SHA256"]
        );
        assert!(chosen("RSA").unwrap_err().contains("none of RSA is supported"));
    }

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
