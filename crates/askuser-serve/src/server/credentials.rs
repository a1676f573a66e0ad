//! The routes of tokens and devices.

use super::reply::{self, Problem};
use super::{Call, Caller, Reply, Server};
use crate::pairing::{self, PairingError};
use crate::{people, token};
use askuser::store::{Credential, CredentialScope, PairingKind, StoreError};
use hyper::StatusCode;
use hyper::header::USER_AGENT;
use serde_json::{Value, json};

pub(super) fn me(caller: &Caller) -> Reply {
    let made = &caller.credential.made;
    reply::ok(&json!({"name": made.name, "scope": made.scope, "person": made.acts_as()}))
}

fn shown(credential: &Credential) -> Value {
    let made = &credential.made;
    json!({
        "id": made.id,
        "name": made.name,
        "scope": made.scope,
        "device": made.is_device,
        "person": made.person,
        "made_ms": credential.made_ms,
        "seen_ms": credential.seen_ms,
        "address": made.address,
    })
}

impl Server {
    pub(super) async fn tokens(&self) -> Result<Reply, Problem> {
        let known = self.credentials.credentials().await?;
        Ok(reply::ok(&json!({"tokens": known.iter().map(shown).collect::<Vec<_>>()})))
    }

    pub(super) async fn new_token(&self, call: &Call) -> Result<Reply, Problem> {
        let scope = call.body["scope"].as_str().and_then(CredentialScope::named);
        let scope = scope.ok_or_else(|| Problem::violation("scope", "unknown", "must be ask, answer or admin"))?;
        let name = name(&call.body, "name")?.ok_or_else(|| Problem::violation("name", "missing", "must be a name"))?;
        let person = name_of_person(&call.body)?;
        if person.is_some() && scope != CredentialScope::Answer {
            return Err(Problem::violation("person", "of a token that does not answer", "must be left out"));
        }
        let (made, credential) = token::renew(&*self.credentials, &name, scope, person.as_deref()).await?;
        let mut body = shown(&credential);
        body["token"] = made.token.into();
        body["replaced"] = made.replaced.into();
        Ok(reply::json(StatusCode::CREATED, &body))
    }

    pub(super) async fn revoke(&self, id: &str) -> Result<Reply, Problem> {
        match self.credentials.revoke_credential(id).await? {
            true => Ok(reply::ok(&json!({}))),
            false => Err(Problem::not_found(format!("there is no token {id}"))),
        }
    }

    pub(super) async fn pairing(&self, code: &str) -> Result<Reply, Problem> {
        let pairing = self.credentials.pairing(&pairing::code_id(code)).await?;
        let pairing = pairing.filter(|pairing| pairing.kind == PairingKind::Code);
        let pairing = pairing.ok_or_else(|| Problem::not_found("no device shows this code"))?;
        Ok(reply::ok(&json!({
            "address": pairing.address,
            "browser": pairing.browser,
            "expires_ms": pairing.expires_ms,
            "approved": pairing.is_approved,
        })))
    }

    pub(super) async fn people(&self) -> Result<Reply, Problem> {
        let people = self.credentials.people().await?;
        let shown = people.iter().map(|person| json!({"name": person.name, "added_ms": person.added_ms}));
        Ok(reply::ok(&json!({"people": shown.collect::<Vec<_>>()})))
    }

    pub(super) async fn add_person(&self, call: &Call) -> Result<Reply, Problem> {
        let name = people::persons_name(call.body["name"].as_str().unwrap_or_default())
            .map_err(|wrong| Problem::violation(&wrong.path, wrong.fact, &wrong.limit))?;
        let is_new = self.credentials.add_person(&name).await?;
        let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
        Ok(reply::json(status, &json!({"name": name, "is_new": is_new})))
    }

    pub(super) async fn remove_person(&self, name: &str) -> Result<Reply, Problem> {
        match self.credentials.remove_person(name).await? {
            Some(removed) => Ok(reply::ok(&json!({"revoked": removed.revoked, "waiting": removed.waiting}))),
            None => Err(Problem::not_found(format!("there is no person {name}"))),
        }
    }

    /// Lets a device in, as the person's whom the administrator names, or the owner's.
    pub(super) async fn approve(&self, call: &Call, code: &str) -> Result<Reply, Problem> {
        let person = name_of_person(&call.body)?.unwrap_or_else(|| self.options.person.clone());
        match self.credentials.approve_pairing(&pairing::code_id(code), &person).await? {
            true => Ok(reply::ok(&json!({}))),
            false => Err(Problem::not_found("no device shows this code")),
        }
    }

    /// A device comes in, or shows a code to be let in.
    pub(super) async fn pair(&self, call: &Call) -> Result<Reply, Problem> {
        if call.method != hyper::Method::POST {
            return Err(Problem::method());
        }
        let text = |field: &str| call.body[field].as_str().unwrap_or_default();
        let browser = call.header(USER_AGENT).map(str::to_owned);
        let name = name(&call.body, "name")?.unwrap_or_else(|| "browser".to_owned());
        let store = &*self.credentials;
        let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
        let (kind, id, secret) = match path[..] {
            ["pair", "code"] => {
                // Behind a proxy every browser has the proxy's address.
                let address = self.options.public_url.is_none().then(|| call.address.clone());
                let shown = pairing::shown_code(store, address, browser).await.map_err(problem)?;
                let body = json!({"code": shown.code, "secret": shown.secret, "expires_ms": shown.expires_ms});
                return Ok(reply::ok(&body));
            }
            ["pair", "claim"] => (PairingKind::Code, pairing::code_id(text("code")), text("secret")),
            _ => {
                let (id, secret) = text("code").split_once('.').unwrap_or_default();
                (PairingKind::Link, id.to_owned(), secret)
            }
        };
        let owner = &self.options.person;
        let paired = async {
            if path[..] == ["pair", "person"] {
                let known = pairing::known(store, (&id, secret), kind).await?;
                return Ok(json!({"person": known.person.as_deref().unwrap_or(owner)}));
            }
            let token = pairing::redeem(store, (&id, secret), kind, (&name, owner, call.address.clone())).await?;
            let known = token::credential(store, &token).await?.ok_or(PairingError::Gone)?.made;
            Ok(json!({"token": token, "name": known.name, "person": known.acts_as()}))
        };
        match paired.await {
            Ok(body) => Ok(reply::ok(&body)),
            Err(PairingError::NotYet) => Ok(reply::json(StatusCode::ACCEPTED, &json!({"approved": false}))),
            Err(error) => {
                if matches!(error, PairingError::Gone) {
                    drop(store.credential_failed(&call.address));
                }
                Err(problem(error))
            }
        }
    }
}

fn problem(error: PairingError) -> Problem {
    match error {
        PairingError::Store(error) => error.into(),
        PairingError::Random(error) => StoreError::unavailable("cannot pair", error).into(),
        error => Problem::gone(error.to_string()),
    }
}

/// A name that fits into a line; none where it is missing or blank.
fn name(body: &Value, field: &str) -> Result<Option<String>, Problem> {
    match &body[field] {
        Value::Null => Ok(None),
        Value::String(name) if askuser::sanitize::line(name).trim().is_empty() => Ok(None),
        Value::String(name) => people::name(field, name)
            .map(Some)
            .map_err(|wrong| Problem::violation(&wrong.path, wrong.fact, &wrong.limit)),
        _ => Err(Problem::violation(field, "not a string", "must be a string")),
    }
}

/// Whose it is; a person who is named and blank is a mistake.
fn name_of_person(body: &Value) -> Result<Option<String>, Problem> {
    let person = name(body, "person")?;
    match person.is_none() && !body["person"].is_null() {
        true => Err(Problem::violation("person", "blank", "must be a name")),
        false => Ok(person),
    }
}
