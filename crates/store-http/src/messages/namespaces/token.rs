use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use message_store::NamespaceName;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Length of a token's secret, in hexadecimal digits.
const SECRET_DIGITS: usize = 64;

/// The SHA-256 of a token. The server stores only this.
#[derive(Clone, Copy)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash of a token.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }

    pub(super) fn from_hex(text: &str) -> Option<Self> {
        let mut hash = [0; 32];
        hex::decode_to_slice(text, &mut hash).ok()?;
        Some(Self(hash))
    }

    pub(super) fn to_hex(self) -> String {
        hex::encode(self.0)
    }

    /// Compares in constant time, so that the time reveals nothing about the stored hash.
    pub fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// Makes a token for a namespace: `ns_<base64url of its name>_<64 hexadecimal digits>`.
pub(in crate::messages) fn made_for(namespace: &NamespaceName) -> String {
    let name = URL_SAFE_NO_PAD.encode(namespace.as_str());
    format!("ns_{name}_{}", secret())
}

/// 256 random bits, in hexadecimal.
pub fn secret() -> String {
    hex::encode(rand::random::<[u8; SECRET_DIGITS / 2]>())
}

/// The namespace that a token names, or `None` if the text is not a well-formed token.
pub fn namespace_of(token: &str) -> Option<NamespaceName> {
    // Split at the last underscore: base64url may contain underscores.
    let (rest, secret) = token.rsplit_once('_')?;
    let name = rest.strip_prefix("ns_")?;
    // Because of this check, a mistyped token is reported as malformed, not as unknown.
    if secret.len() != SECRET_DIGITS || !secret.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let name = String::from_utf8(URL_SAFE_NO_PAD.decode(name).ok()?).ok()?;
    NamespaceName::new(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> NamespaceName {
        NamespaceName::new(name).unwrap()
    }

    #[test]
    fn token_names_its_namespace() {
        // `???` and `~~~` have an underscore and a hyphen in base64url.
        for namespace in ["default", "ns_a", "???", "~~~", "Größe 📦", "../x", "_"] {
            assert_eq!(
                namespace_of(&made_for(&name(namespace))),
                Some(name(namespace))
            );
        }
        assert!(made_for(&name("???")).starts_with("ns_Pz8__"));
        let known = format!("ns_ZGVmYXVsdA_{}", "0".repeat(64));
        assert_eq!(namespace_of(&known), Some(name("default")));
    }

    #[test]
    fn malformed_token_names_no_namespace() {
        let zeros = "0".repeat(64);
        for text in [
            "".to_owned(),
            "ns_".to_owned(),
            zeros.clone(),
            format!("ns_{zeros}"),
            format!("ns__{zeros}"),
            format!("xx_ZGVmYXVsdA_{zeros}"),
            format!("ns_ZGVmYXVsdA_{zeros}0"),
            format!("ns_ZGVmYXVsdA_{}g", "0".repeat(63)),
            format!("ns_ZGVmYXVsdA=_{zeros}"),
            format!("ns_ZGVmYXVsdB_{zeros}"),
            format!("ns_!!!!_{zeros}"),
            format!("ns_/////w_{zeros}"),
            format!("ns_{}_{zeros}", URL_SAFE_NO_PAD.encode([b'x'; 65])),
            format!("ns_{}_{zeros}", URL_SAFE_NO_PAD.encode([0xff])),
        ] {
            assert_eq!(namespace_of(&text), None, "{text}");
        }
    }

    #[test]
    fn tokens_of_one_namespace_differ() {
        let (one, other) = (made_for(&name("a")), made_for(&name("a")));
        assert_ne!(one, other);
        assert!(!TokenHash::of(&one).is(&TokenHash::of(&other)));
        let kept = TokenHash::from_hex(&TokenHash::of(&one).to_hex()).unwrap();
        assert!(kept.is(&TokenHash::of(&one)));
        assert!(TokenHash::from_hex("00").is_none());
    }
}
