//! The bodies and replies about tokens, devices and people.

use askuser::store::{Credential, CredentialScope, Digest, NewCredential, Pairing, PairingKind, Person};
use serde::{Deserialize, Serialize};

wire! {
    /// A token to create. It replaces the tokens of the same name.
    #[serde(deny_unknown_fields)]
    pub(crate) struct MakeToken {
        pub(crate) name: String,
        pub(crate) scope: CredentialScope,
        /// The person in whose name the token answers. Without a person, the token acts under its own name.
        pub(crate) person: Option<String>,
        /// The digest of a token that the caller has created. Without a digest, the server creates the token.
        pub(crate) digest: Option<TokenDigest>,
    }

    /// The id and the digest of a token that only its creator knows.
    #[serde(deny_unknown_fields)]
    pub(crate) struct TokenDigest {
        /// The id in the token: 12 hexadecimal digits.
        pub(crate) id: String,
        /// The bytes of the SHA-256 of the token's secret part.
        pub(crate) sha256: Digest,
    }

    /// A stored token, or the token of a paired device.
    pub(crate) struct Token {
        pub(crate) id: String,
        pub(crate) name: String,
        pub(crate) scope: CredentialScope,
        /// Whether the token belongs to a paired device.
        pub(crate) device: bool,
        /// The person in whose name the token acts. Null if the token acts under its own name.
        pub(crate) person: Option<String>,
        pub(crate) made_ms: u64,
        /// The time of the last use, in milliseconds since 1970. Null before the first use.
        pub(crate) seen_ms: Option<u64>,
        /// The address of the last use. Null if unknown.
        pub(crate) address: Option<String>,
    }

    /// A token that was created.
    pub(crate) struct TokenMade {
        #[serde(flatten)]
        pub(crate) known: Token,
        /// The token itself, which is returned only once. Null if the caller has created the token.
        pub(crate) token: Option<String>,
        /// The number of tokens that the new one replaced.
        pub(crate) replaced: u64,
    }

    /// The tokens and devices of a server.
    pub(crate) struct Tokens {
        pub(crate) tokens: Vec<Token>,
    }

    /// The name, the scope and the person of the caller's token.
    pub(crate) struct Me {
        pub(crate) name: String,
        pub(crate) scope: CredentialScope,
        pub(crate) person: String,
    }

    /// A person to add.
    #[serde(deny_unknown_fields)]
    pub(crate) struct AddPerson {
        pub(crate) name: String,
    }

    /// A person who was added.
    pub(crate) struct PersonAdded {
        pub(crate) name: String,
        /// Whether the person is new.
        pub(crate) is_new: bool,
    }

    /// The people to whom questions may be addressed.
    pub(crate) struct People {
        pub(crate) people: Vec<Person>,
    }

    /// The pairing of a browser that shows a code.
    pub(crate) struct ShownPairing {
        pub(crate) address: Option<String>,
        pub(crate) browser: Option<String>,
        pub(crate) expires_ms: u64,
        pub(crate) approved: bool,
        /// The owner of the device, unless its approval names another person.
        pub(crate) person: String,
    }

    /// A pairing by the code of a link.
    #[serde(deny_unknown_fields)]
    pub(crate) struct PairByLink {
        pub(crate) code: String,
        /// The device's own name, if it states one.
        pub(crate) name: Option<String>,
    }

    /// The person who will own the device that a link pairs.
    pub(crate) struct PersonOfLink {
        pub(crate) person: String,
    }

    /// A pairing by a code that the device shows, with the secret of the code.
    #[serde(deny_unknown_fields)]
    pub(crate) struct ClaimCode {
        pub(crate) code: String,
        pub(crate) secret: String,
        /// The device's own name, if it states one.
        pub(crate) name: Option<String>,
    }

    /// A code for a device to show.
    pub(crate) struct CodeToShow {
        pub(crate) code: String,
        /// The secret that claims the token once the code is approved.
        pub(crate) secret: String,
        pub(crate) expires_ms: u64,
    }

    /// The result of a pairing. Without a token, the code is not approved yet.
    pub(crate) struct Paired {
        pub(crate) approved: bool,
        pub(crate) token: Option<String>,
        pub(crate) name: Option<String>,
        pub(crate) person: Option<String>,
    }
}

sent! {
    /// The approval of a browser.
    pub(crate) struct Approve {
        /// The owner of the device. The default is the owner of the server.
        pub(crate) person: Option<String>,
    }

    /// A request for a code that a browser can show.
    pub(crate) struct WantCode {
        /// The device's own name, if it states one.
        pub(crate) name: Option<String>,
    }
}

impl From<Credential> for Token {
    fn from(Credential { made, made_ms, seen_ms }: Credential) -> Token {
        let NewCredential { id, name, scope, is_device: device, person, address, .. } = made;
        Token { id, name, scope, device, person, made_ms, seen_ms, address }
    }
}

/// Converts a token without its digest, which no server returns.
impl From<Token> for Credential {
    fn from(token: Token) -> Credential {
        let Token { id, name, scope, device: is_device, person, made_ms, seen_ms, address } = token;
        let made = NewCredential { id, name, scope, is_device, person, digest: Digest::default(), address };
        Credential { made, made_ms, seen_ms }
    }
}

impl ShownPairing {
    /// Returns the pairing with this id, without its digest.
    pub(crate) fn pairing(self, id: String) -> Pairing {
        Pairing {
            id,
            kind: PairingKind::Code,
            digest: Digest::default(),
            address: self.address,
            browser: self.browser,
            expires_ms: self.expires_ms,
            tries: 0,
            is_approved: self.approved,
            person: Some(self.person),
        }
    }
}
