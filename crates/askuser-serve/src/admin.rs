//! Who may use a store through a server, as its administrator manages it: on the store itself, or through the server.

use crate::client::HttpStore;
use crate::{pairing, token};
use askuser::store::{
    Credential, CredentialScope, Credentials, NewCredential, Pairing, PairingKind, Person, Removed, StoreError,
};
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

    /// Makes a token, which replaces those of the same name. Without a person it acts under its own name.
    ///
    /// # Errors
    /// Where it cannot be kept, or a credential of that name has another scope.
    pub async fn make(&self, name: &str, scope: CredentialScope, person: Option<&str>) -> Result<Made, StoreError> {
        match &self.0 {
            Where::Store(store) => token::renew(&**store, name, scope, person).await.map(|(made, _)| made),
            Where::Server(server) => {
                let body = server.post_json("/tokens", json!({"name": name, "scope": scope, "person": person})).await?;
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
            Where::Server(server) => Ok(server.delete_json(&format!("/tokens/{id}")).await?.is_some()),
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
                    person: None,
                }))
            }
        }
    }

    /// Lets that device in, as this person's; whether it still waited. Without one it is the owner's: `owner` on the store
    /// itself, whoever the server says otherwise.
    ///
    /// # Errors
    /// Where the store cannot be written, or the server does not allow it.
    pub async fn approve(&self, code: &str, person: Option<&str>, owner: &str) -> Result<bool, StoreError> {
        let id = pairing::code_id(code);
        match &self.0 {
            Where::Store(store) => store.approve_pairing(&id, person.unwrap_or(owner)).await,
            Where::Server(server) => server.post(&format!("/pairings/{id}/approve"), json!({"person": person})).await,
        }
    }

    /// Everybody whom questions can be for by name.
    ///
    /// # Errors
    /// Where the store cannot be read, or the server does not allow it.
    pub async fn people(&self) -> Result<Vec<Person>, StoreError> {
        match &self.0 {
            Where::Store(store) => store.people().await,
            Where::Server(server) => {
                let body = server.get_json("/people").await?;
                let read = |value: &Value| {
                    Some(Person { name: value["name"].as_str()?.to_owned(), added_ms: value["added_ms"].as_u64()? })
                };
                Ok(body["people"].as_array().into_iter().flatten().filter_map(read).collect())
            }
        }
    }

    /// Adds a person; whether they were not there.
    ///
    /// # Errors
    /// Where a token acts under that name, the store cannot be written, or the server does not allow it.
    pub async fn add_person(&self, name: &str) -> Result<bool, StoreError> {
        match &self.0 {
            Where::Store(store) => store.add_person(name).await,
            Where::Server(server) => {
                Ok(server.post_json("/people", json!({"name": name})).await?["is_new"] == json!(true))
            }
        }
    }

    /// Removes a person, and revokes what is theirs; `None` where there is no such person.
    ///
    /// # Errors
    /// Where the store cannot be written, or the server does not allow it.
    pub async fn remove_person(&self, name: &str) -> Result<Option<Removed>, StoreError> {
        match &self.0 {
            Where::Store(store) => store.remove_person(name).await,
            Where::Server(server) => {
                let name: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
                let body = server.delete_json(&format!("/people/{}", name.replace('+', "%20"))).await?;
                let number = |body: &Value, name: &str| body[name].as_u64().unwrap_or_default();
                Ok(body.map(|body| Removed { revoked: number(&body, "revoked"), waiting: number(&body, "waiting") }))
            }
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
        person: text("person"),
        digest: Default::default(),
        address: text("address"),
    };
    Some(Credential { made, made_ms: value["made_ms"].as_u64()?, seen_ms: value["seen_ms"].as_u64() })
}
