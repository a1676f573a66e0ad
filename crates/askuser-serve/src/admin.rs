//! Who may use a store through a server, as its administrator manages it: on the store itself, or through the server.

use crate::client::HttpStore;
use crate::{pairing, token};
use askuser::store::{Credential, CredentialScope, Credentials, NewCredential, Pairing, PairingKind, StoreError};
use serde_json::{Value, json};
use std::sync::Arc;

/// Manages the credentials of a store.
pub struct Admin(Where);

enum Where {
    Store(Arc<dyn Credentials>),
    Server(HttpStore),
}

/// A token that was just made.
pub struct Made {
    /// The token itself, which nobody can read again.
    pub token: String,
    /// How many tokens of the same name it replaces: they do not count any more.
    pub replaced: u64,
}

impl Admin {
    /// On a store that is here.
    pub fn of(store: Arc<dyn Credentials>) -> Admin {
        Admin(Where::Store(store))
    }

    /// Through a server, with a token whose scope is `admin`.
    pub fn at(server: HttpStore) -> Admin {
        Admin(Where::Server(server))
    }

    /// Every token and device that counts.
    ///
    /// # Errors
    /// Where the store cannot be read, or the server does not allow it.
    pub async fn credentials(&self) -> Result<Vec<Credential>, StoreError> {
        match &self.0 {
            Where::Store(store) => store.credentials().await,
            Where::Server(server) => {
                let body = server.get_json("/tokens").await?;
                Ok(body["tokens"].as_array().into_iter().flatten().filter_map(read).collect())
            }
        }
    }

    /// Makes a token, which replaces those of the same name. Through a server it is for the person whose server it is.
    ///
    /// # Errors
    /// Where it cannot be kept, or a credential of that name has another scope.
    pub async fn make(&self, name: &str, scope: CredentialScope, person: &str) -> Result<Made, StoreError> {
        match &self.0 {
            Where::Store(store) => token::renew(&**store, name, scope, person).await.map(|(made, _)| made),
            Where::Server(server) => {
                let body = server.post_json("/tokens", json!({"name": name, "scope": scope})).await?;
                let token = body["token"].as_str().unwrap_or_default().to_owned();
                Ok(Made { token, replaced: body["replaced"].as_u64().unwrap_or_default() })
            }
        }
    }

    /// Revokes a credential at once; whether there was one.
    ///
    /// # Errors
    /// Where the store cannot be written, or the server does not allow it.
    pub async fn revoke(&self, id: &str) -> Result<bool, StoreError> {
        match &self.0 {
            Where::Store(store) => store.revoke_credential(id).await,
            Where::Server(server) => server.delete(&format!("/tokens/{id}")).await,
        }
    }

    /// The device that shows this code, and waits to be let in.
    ///
    /// # Errors
    /// Where the store cannot be read, or the server does not allow it.
    pub async fn pairing(&self, code: &str) -> Result<Option<Pairing>, StoreError> {
        let id = pairing::code_id(code);
        match &self.0 {
            Where::Store(store) => Ok(store.pairing(&id).await?.filter(|pairing| pairing.kind == PairingKind::Code)),
            Where::Server(server) => {
                let Some(body) = server.find_json(&format!("/pairings/{id}")).await? else { return Ok(None) };
                let text = |name: &str| body[name].as_str().map(str::to_owned);
                Ok(Some(Pairing {
                    id,
                    kind: PairingKind::Code,
                    digest: Default::default(),
                    address: text("address"),
                    browser: text("browser"),
                    expires_ms: body["expires_ms"].as_u64().unwrap_or_default(),
                    tries: 0,
                    is_approved: body["approved"] == json!(true),
                }))
            }
        }
    }

    /// Lets that device in; whether it still waited.
    ///
    /// # Errors
    /// Where the store cannot be written, or the server does not allow it.
    pub async fn approve(&self, code: &str) -> Result<bool, StoreError> {
        let id = pairing::code_id(code);
        match &self.0 {
            Where::Store(store) => store.approve_pairing(&id).await,
            Where::Server(server) => server.post(&format!("/pairings/{id}/approve")).await,
        }
    }
}

/// A credential as a server tells of it.
fn read(value: &Value) -> Option<Credential> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let made = NewCredential {
        id: text("id")?,
        name: text("name")?,
        scope: CredentialScope::named(value["scope"].as_str()?)?,
        is_device: value["device"].as_bool()?,
        person: text("person")?,
        digest: Default::default(),
        address: text("address"),
    };
    Some(Credential { made, made_ms: value["made_ms"].as_u64()?, seen_ms: value["seen_ms"].as_u64() })
}
