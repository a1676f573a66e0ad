//! The routes of tokens, devices and people.

use super::Server;
use super::call::{Admin, Anyone, Call, Unverified};
use super::reply::{Reply, created, json, ok, raw};
use crate::api::{
    AddPerson, Approve, ClaimCode, Code, CodeToShow, Done, Empty, MakeToken, Me, PairByLink, Paired, People,
    PersonAdded, PersonOfLink, Problem, ShownPairing, TokenDigest, TokenMade, Tokens, WantCode,
};
use crate::pairing::{self, PairingError};
use crate::{people, token};
use askuser::store::{CredentialScope, NewCredential, Pairing, PairingKind, Removed, StoreError};
use hyper::StatusCode;
use hyper::header::USER_AGENT;
use std::sync::Arc;

impl Server {
    pub(super) async fn me(self: Arc<Server>, caller: Anyone, _: Call) -> Reply<Me> {
        let made = &caller.credential.made;
        ok(Me { name: made.name.clone(), scope: made.scope, person: made.acts_as().to_owned() })
    }

    pub(super) async fn tokens(self: Arc<Server>, _: Admin, _: Call) -> Reply<Tokens> {
        let known = self.credentials.credentials().await?;
        ok(Tokens { tokens: known.into_iter().map(Into::into).collect() })
    }

    pub(super) async fn make_token(self: Arc<Server>, _: Admin, call: Call<Empty, MakeToken>) -> Reply<TokenMade> {
        let MakeToken { name, scope, person, digest } = call.body;
        let name = people::name("name", &name)?;
        let person = person.map(|person| people::name("person", &person)).transpose()?;
        if person.is_some() && scope != CredentialScope::Answer {
            return Err(Problem::violation("person", "of a token that does not answer", "must be left out"));
        }
        let (new, token) = match digest {
            None => {
                let made = token::make(&name, scope, person.as_deref());
                let (token, new) = made.map_err(|error| StoreError::unavailable("cannot make a token", error))?;
                (new, Some(token))
            }
            Some(kept) if token::is_id(&kept.id) => {
                let TokenDigest { id, sha256: digest } = kept;
                (NewCredential { id, name, scope, is_device: false, person, digest, address: None }, None)
            }
            Some(kept) => {
                return Err(Problem::violation("digest.id", format!("{:?}", kept.id), "must be 12 hexadecimal digits"));
            }
        };
        let (known, replaced) = self.credentials.add_credential(&new).await?;
        created(true, TokenMade { known: known.into(), token, replaced })
    }

    pub(super) async fn revoke(self: Arc<Server>, _: Admin, call: Call) -> Reply<Done> {
        let id = call.segment;
        let was_there = self.credentials.revoke_credential(&id).await?;
        if was_there { ok(Done {}) } else { Err(Problem::not_found(format!("there is no token {id}"))) }
    }

    pub(super) async fn people(self: Arc<Server>, _: Admin, _: Call) -> Reply<People> {
        ok(People { people: self.credentials.people().await? })
    }

    pub(super) async fn add_person(self: Arc<Server>, _: Admin, call: Call<Empty, AddPerson>) -> Reply<PersonAdded> {
        let name = people::persons_name(&call.body.name)?;
        let is_new = self.credentials.add_person(&name).await?;
        created(is_new, PersonAdded { name, is_new })
    }

    pub(super) async fn remove_person(self: Arc<Server>, _: Admin, call: Call) -> Reply<Removed> {
        let removed = self.credentials.remove_person(&call.segment).await?;
        ok(removed.ok_or_else(|| Problem::not_found(format!("there is no person {}", call.segment)))?)
    }

    pub(super) async fn pairing(self: Arc<Server>, _: Admin, call: Call) -> Reply<ShownPairing> {
        let pairing = pairing::of_code(&*self.credentials, &call.segment).await?.ok_or_else(no_code)?;
        let Pairing { address, browser, expires_ms, is_approved: approved, person, .. } = pairing;
        let person = person.unwrap_or_else(|| self.options.person.clone());
        ok(ShownPairing { address, browser, expires_ms, approved, person })
    }

    /// Approves a device for the person whom the administrator names, or for the owner.
    pub(super) async fn approve(self: Arc<Server>, _: Admin, call: Call<Empty, Approve>) -> Reply<Done> {
        let person = call.body.person.map(|person| people::name("person", &person)).transpose()?;
        let person = person.unwrap_or_else(|| self.options.person.clone());
        let was_there = self.credentials.approve_pairing(&pairing::code_id(&call.segment), &person).await?;
        if was_there { ok(Done {}) } else { Err(no_code()) }
    }

    pub(super) async fn code_to_show(
        self: Arc<Server>,
        _: Unverified,
        call: Call<Empty, WantCode>,
    ) -> Reply<CodeToShow> {
        // Behind a proxy, every browser has the proxy's address.
        let address = self.options.public_url.is_none().then(|| call.address.clone());
        let browser = call.header(USER_AGENT).map(str::to_owned);
        ok(pairing::shown_code(&*self.credentials, address, browser).await?)
    }

    pub(super) async fn person_of_link(
        self: Arc<Server>,
        _: Unverified,
        call: Call<Empty, PairByLink>,
    ) -> Reply<PersonOfLink> {
        let known = pairing::known(&*self.credentials, link(&call.body.code), PairingKind::Link).await;
        let person = self.counted(known, &call.address)?.person;
        ok(PersonOfLink { person: person.unwrap_or_else(|| self.options.person.clone()) })
    }

    pub(super) async fn pair_by_link(self: Arc<Server>, _: Unverified, call: Call<Empty, PairByLink>) -> Reply<Paired> {
        let PairByLink { code, name } = call.body;
        let paired = self.redeem(link(&code), PairingKind::Link, name, &call.address).await;
        ok(self.counted(paired, &call.address)?)
    }

    pub(super) async fn claim_code(self: Arc<Server>, _: Unverified, call: Call<Empty, ClaimCode>) -> Reply<Paired> {
        let ClaimCode { code, secret, name } = call.body;
        let id = pairing::code_id(&code);
        match self.redeem((&id, &secret), PairingKind::Code, name, &call.address).await {
            Err(PairingError::NotYet) => {
                let not_yet = Paired { approved: false, token: None, name: None, person: None };
                raw(json(StatusCode::ACCEPTED, &not_yet))
            }
            paired => ok(self.counted(paired, &call.address)?),
        }
    }

    async fn redeem(
        &self,
        code: (&str, &str),
        kind: PairingKind,
        name: Option<String>,
        address: &str,
    ) -> Result<Paired, PairingError> {
        let store = &*self.credentials;
        let name = name.filter(|name| !askuser::sanitize::is_blank(name));
        let name = people::name("name", name.as_deref().unwrap_or("browser")).map_err(PairingError::Name)?;
        let owner = &self.options.person;
        let token = pairing::redeem(store, code, kind, (&name, owner, address.to_owned())).await?;
        let known = token::credential(store, &token).await?.ok_or(PairingError::Gone)?.made;
        let person = Some(known.acts_as().to_owned());
        Ok(Paired { approved: true, token: Some(token), person, name: Some(known.name) })
    }

    /// Counts an invalid code as a rejected credential.
    fn counted<T>(&self, paired: Result<T, PairingError>, address: &str) -> Result<T, Problem> {
        if matches!(paired, Err(PairingError::Gone)) {
            drop(self.credentials.credential_failed(address));
        }
        Ok(paired?)
    }
}

/// Splits the code of a link into its id and its secret.
fn link(code: &str) -> (&str, &str) {
    code.split_once('.').unwrap_or_default()
}

fn no_code() -> Problem {
    Problem::not_found("no device shows this code")
}

impl From<PairingError> for Problem {
    fn from(error: PairingError) -> Problem {
        match error {
            PairingError::Store(error) => error.into(),
            PairingError::Random(error) => StoreError::unavailable("cannot pair", error).into(),
            PairingError::Name(wrong) => wrong.into(),
            error => Problem::new(Code::Gone, error.to_string()),
        }
    }
}
