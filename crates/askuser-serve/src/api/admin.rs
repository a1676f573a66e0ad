//! Tokens, devices and people.

use askuser::store::{Credential, CredentialScope, Digest, NewCredential, Pairing, PairingKind, Person};
use serde::{Deserialize, Serialize};

wire! {
    /// A token to make. It replaces those of the same name.
    #[serde(deny_unknown_fields)]
    pub(crate) struct MakeToken {
        pub(crate) name: String,
        pub(crate) scope: CredentialScope,
        /// The person whose answers it gives. Without one it acts under its own name.
        pub(crate) person: Option<String>,
        /// The digest of a token that the caller has made. Without it the server makes one.
        pub(crate) digest: Option<TokenDigest>,
    }

    /// A token that its maker keeps.
    #[serde(deny_unknown_fields)]
    pub(crate) struct TokenDigest {
        /// The part of the token that names it: 12 hexadecimal digits.
        pub(crate) id: String,
        /// The bytes of the SHA-256 of its secret part.
        pub(crate) sha256: Digest,
    }

    /// A token or a device.
    pub(crate) struct Token {
        pub(crate) id: String,
        pub(crate) name: String,
        pub(crate) scope: CredentialScope,
        /// Whether it came by pairing.
        pub(crate) device: bool,
        /// The person who acts with it. Null if it acts under its own name.
        pub(crate) person: Option<String>,
        pub(crate) made_ms: u64,
        /// The time of its last use.
        pub(crate) seen_ms: Option<u64>,
        /// The address of its last use.
        pub(crate) address: Option<String>,
    }

    /// A token that was made.
    pub(crate) struct TokenMade {
        #[serde(flatten)]
        pub(crate) known: Token,
        /// The token itself, this once. Null if the caller has made it.
        pub(crate) token: Option<String>,
        /// The number of tokens that it replaces.
        pub(crate) replaced: u64,
    }

    /// Tokens and devices.
    pub(crate) struct Tokens {
        pub(crate) tokens: Vec<Token>,
    }

    /// The owner of a token.
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
        /// Whether they were not there before.
        pub(crate) is_new: bool,
    }

    /// The people whom questions can be for by name.
    pub(crate) struct People {
        pub(crate) people: Vec<Person>,
    }

    /// A browser that shows a code.
    pub(crate) struct ShownPairing {
        pub(crate) address: Option<String>,
        pub(crate) browser: Option<String>,
        pub(crate) expires_ms: u64,
        pub(crate) approved: bool,
        /// The owner of the device, unless its approval names another person.
        pub(crate) person: String,
    }

    /// The code of a link.
    #[serde(deny_unknown_fields)]
    pub(crate) struct PairByLink {
        pub(crate) code: String,
        /// The device's name for itself.
        pub(crate) name: Option<String>,
    }

    /// The person whose device a link makes.
    pub(crate) struct PersonOfLink {
        pub(crate) person: String,
    }

    /// A code that was shown, and its secret.
    #[serde(deny_unknown_fields)]
    pub(crate) struct ClaimCode {
        pub(crate) code: String,
        pub(crate) secret: String,
        /// The device's name for itself.
        pub(crate) name: Option<String>,
    }

    /// A code to show.
    pub(crate) struct CodeToShow {
        pub(crate) code: String,
        /// The secret that claims the token once the code is approved.
        pub(crate) secret: String,
        pub(crate) expires_ms: u64,
    }

    /// A new device. Without a token its code is not approved yet.
    pub(crate) struct Paired {
        pub(crate) approved: bool,
        pub(crate) token: Option<String>,
        pub(crate) name: Option<String>,
        pub(crate) person: Option<String>,
    }
}

sent! {
    /// Approves a browser.
    pub(crate) struct Approve {
        /// The owner of the device: by default the owner of the server.
        pub(crate) person: Option<String>,
    }

    /// A browser that wants a code to show.
    pub(crate) struct WantCode {
        /// The device's name for itself.
        pub(crate) name: Option<String>,
    }
}

impl From<Credential> for Token {
    fn from(Credential { made, made_ms, seen_ms }: Credential) -> Token {
        let NewCredential { id, name, scope, is_device: device, person, address, .. } = made;
        Token { id, name, scope, device, person, made_ms, seen_ms, address }
    }
}

/// Without its digest, which no server shows.
impl From<Token> for Credential {
    fn from(token: Token) -> Credential {
        let Token { id, name, scope, device: is_device, person, made_ms, seen_ms, address } = token;
        let made = NewCredential { id, name, scope, is_device, person, digest: Digest::default(), address };
        Credential { made, made_ms, seen_ms }
    }
}

impl ShownPairing {
    /// The pairing of this id, without its digest.
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
