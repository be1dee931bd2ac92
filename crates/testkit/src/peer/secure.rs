//! TLS for peers: a certificate of their own, and records that no library would write.

use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::crypto::cipher::{MessageEncrypter, OutboundChunks, OutboundPlainMessage};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    ConnectionTrafficSecrets, ContentType, ProtocolVersion, ServerConfig, ServerConnection,
    SupportedCipherSuite,
};

/// A server's configuration with a fresh self-signed certificate for loopback. It lets
/// [`Player::take_keys`](super::Player::take_keys) have the keys.
///
/// # Panics
/// If `params` cannot be signed; a test has no use for the error.
pub fn server_config(
    versions: &[&'static rustls::SupportedProtocolVersion],
    alpn: &[&str],
    params: impl FnOnce(&mut CertificateParams),
) -> ServerConfig {
    let mut of = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
    params(&mut of);
    let key = KeyPair::generate().expect("a key");
    let certificate = of.self_signed(&key).expect("a certificate").der().clone();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let mut provider = aws_lc_rs::default_provider();
    // With AES, the library insists on numbering the records itself.
    provider.cipher_suites.retain(|suite| format!("{:?}", suite.suite()).contains("CHACHA20"));
    let key = provider.key_provider.load_private_key(key).expect("a key that was just made");
    // Not held against the certificate: it may be one that no library would send.
    let identity = SingleCertAndKey::from(CertifiedKey::new(vec![certificate], key));
    let mut config = ServerConfig::builder_with_provider(provider.into())
        .with_protocol_versions(versions)
        .expect("versions of the provider")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(identity));
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    config.enable_secret_extraction = true;
    config
}

/// The server's keys of an established connection: seals any record.
pub struct Sealer {
    encrypter: Box<dyn MessageEncrypter>,
    version: ProtocolVersion,
    sequence: u64,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Sealer {
    /// The keys of a connection whose handshake is over, if its configuration is of
    /// [`server_config`].
    pub fn new(connection: ServerConnection) -> Option<Sealer> {
        let suite = connection.negotiated_cipher_suite()?;
        let version = connection.protocol_version()?;
        let (sequence, secrets) = connection.dangerous_extract_secrets().ok()?.tx;
        let ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } = secrets else { return None };
        let encrypter = match suite {
            SupportedCipherSuite::Tls13(suite) => suite.aead_alg.encrypter(key, iv),
            SupportedCipherSuite::Tls12(suite) => suite.aead_alg.encrypter(key, iv.as_ref(), &[]),
        };
        Some(Sealer { encrypter, version, sequence })
    }

    /// One record of this content type. `payload` has at most 16,384 bytes.
    ///
    /// # Panics
    /// If the keys are used up.
    pub fn seal(&mut self, content: ContentType, payload: &[u8]) -> Vec<u8> {
        let version = match self.version {
            ProtocolVersion::TLSv1_3 => ProtocolVersion::TLSv1_2,
            other => other,
        };
        let payload = OutboundChunks::Single(payload);
        let message = OutboundPlainMessage { typ: content, version, payload };
        let record = self.encrypter.encrypt(message, self.sequence).expect("a record");
        self.sequence += 1;
        record.encode()
    }

    /// As many of these records as a large write has.
    pub fn seal_many(&mut self, content: ContentType, payload: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < 64 << 10 {
            all.extend_from_slice(&self.seal(content, payload));
        }
        all
    }
}
