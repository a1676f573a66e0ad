//! The store beside a model of it that fits on two pages: both give the same results for any calls in any order.

use crate::support::{Process, Stage, agent, attempt, by_agent, choice, is_forbidden, ok, person, request_for, wait};
use crate::{Dice, Place};
use askuser::store::{
    Attachment, Claim, Draft, End, Ending, Filter, PERMISSION_LASTS, Principal, QuestionId, Series, State, StoreError,
};
use askuser::{Answer, Outcome, Purpose, Request, Via};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Every step goes through one of several processes.
const PROCESSES: usize = 3;
/// How many questions are asked by a key that is used again.
const KEYS: usize = 300;
const LASTS: u64 = PERMISSION_LASTS.as_millis() as u64;

/// What the model knows of a question.
struct Kept {
    id: QuestionId,
    is_permission: bool,
    asked: u64,
    expires: Option<u64>,
    ending: Option<(State, Option<String>, u64)>,
    /// The attempt that ended it: its name, its author and its answer.
    attempt: Option<String>,
    claim: Option<(String, u64)>,
    delivered: Option<u64>,
    drafts: BTreeMap<String, Draft>,
    /// The name of its series, and the conversation that asked it or took it over.
    series: Option<(String, usize)>,
    waiters: Vec<Attachment>,
}

/// Which question: of this agent, by a key or by the place in its series.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    agent: usize,
    series: bool,
    number: usize,
}

impl Name {
    fn request(self, is_permission: bool) -> Request {
        let purpose = if is_permission { Purpose::Permission } else { Purpose::Question };
        let call = format!("{} {} {}", self.agent, self.series, self.number);
        by_agent(request_for(purpose, &call), &self.agent_name())
    }

    fn agent_name(self) -> String {
        format!("agent {}", self.agent)
    }
}

struct Model<'a> {
    stage: &'a Stage<'a>,
    processes: Vec<Process>,
    dice: Dice,
    kept: BTreeMap<Name, Kept>,
    /// How many questions each agent's series have.
    in_series: [usize; 2],
    /// Those of them that may still be open to a call.
    open: BTreeSet<Name>,
    expiring: BTreeSet<(u64, Name)>,
    pending: usize,
    events: usize,
    done: BTreeMap<&'static str, usize>,
}

/// A hundred thousand steps, where the store does not say otherwise.
pub fn the_store_does_what_a_small_model_of_it_does(place: &dyn Place) {
    let stage = Stage::new(place);
    let processes = (0..PROCESSES).map(|_| stage.open()).collect();
    let mut model = Model {
        stage: &stage,
        processes,
        dice: Dice::new(7),
        kept: BTreeMap::new(),
        in_series: [0; 2],
        open: BTreeSet::new(),
        expiring: BTreeSet::new(),
        pending: 0,
        events: 0,
        done: BTreeMap::new(),
    };
    for _ in 0..place.steps() {
        model.step();
    }
    model.agrees();
    for what in ["put", "series", "answer", "withdraw", "claim", "draft", "hold", "deliver", "leave", "clock"] {
        assert!(model.done.get(what).is_some_and(|times| *times > 100), "{what} was not tried: {:?}", model.done);
    }
    for what in ["won", "lost", "repeated", "claim won", "claim used", "claim lapsed", "shared", "timed out"] {
        assert!(model.done.get(what).is_some_and(|times| *times > 10), "{what} did not happen: {:?}", model.done);
    }
    let damage = stage.damage();
    assert!(damage.is_empty(), "{damage:?}");
}

impl Model<'_> {
    fn count(&mut self, what: &'static str) {
        *self.done.entry(what).or_default() += 1;
    }

    fn process(&mut self) -> Process {
        self.processes[self.dice.below(PROCESSES)].clone()
    }

    fn step(&mut self) {
        let steps = [
            "put", "put", "series", "answer", "answer", "withdraw", "claim", "draft", "hold", "deliver", "leave",
            "clock",
        ];
        let what = steps[self.dice.below(steps.len())];
        self.count(what);
        let (agent, is_permission) = (self.dice.below(2), self.dice.below(3) == 0);
        let series = self.dice.below(3) == 0;
        // Mostly one of the latest of a series: the others have long ended.
        let number = match series {
            true => self.in_series[agent].saturating_sub(1 + self.dice.below(8)),
            false => self.dice.below(KEYS),
        };
        let name = Name { agent, series, number };
        let name = self.kept.contains_key(&name).then_some(name);
        match (what, name) {
            ("put", _) => {
                let number = self.dice.below(KEYS);
                self.put(Name { agent, series: false, number }, is_permission);
            }
            ("series", _) => self.put_in_series(agent, is_permission),
            ("clock", _) => self.clock(),
            (_, None) => {}
            ("answer", Some(name)) => self.answer(name),
            // Rare, so that most questions live long enough.
            ("withdraw", Some(name)) if self.dice.below(6) == 0 => self.withdraw(name),
            ("claim", Some(name)) => self.claim(name),
            ("draft", Some(name)) => self.draft(name),
            ("hold", Some(name)) if self.dice.below(4) == 0 => self.hold(name),
            ("deliver", Some(name)) => self.deliver(name),
            ("leave", Some(name)) => self.leave(name),
            _ => {}
        }
    }

    fn put(&mut self, name: Name, is_permission: bool) {
        // A key has one purpose.
        let is_permission = self.kept.get(&name).map_or(is_permission, |kept| kept.is_permission);
        let deadline = (self.dice.below(4) == 0).then(|| Duration::from_millis(1 + self.dice.below(5_000) as u64));
        let put = self.process().put(&name.request(is_permission).with_deadline(deadline));
        assert_eq!(put.is_new, !self.kept.contains_key(&name), "a key is put once");
        if put.is_new {
            let expires = deadline.map(|deadline| self.stage.now() + deadline.as_millis() as u64);
            self.keep(name, put.question.id, is_permission, expires, None);
        }
        self.waits(name, put.attachment, &put.question.ending);
    }

    fn put_in_series(&mut self, agent: usize, is_permission: bool) {
        let (conversation, now) = (self.dice.below(3), self.stage.now());
        let series = format!("{agent} {is_permission} {}", self.dice.below(5));
        let kept = &self.kept;
        self.open.retain(|name| {
            let kept = &kept[name];
            kept.delivered.is_none() && !matches!(kept.ending, Some((State::TimedOut | State::Withdrawn, ..)))
        });
        let open = self.open.iter().rev().copied().find(|name| {
            let kept = &kept[name];
            let Some((_, owner)) = kept.series.as_ref().filter(|(name, _)| *name == series) else { return false };
            let (own, free) = (*owner == conversation, kept.waiters.is_empty());
            match &kept.ending {
                None if is_permission => free,
                Some((_, _, at)) if is_permission => own && free && (*at..=at + LASTS).contains(&now),
                _ => own || free,
            }
        });
        let name = Name { agent, series: true, number: self.in_series[agent] };
        let put = self.process().put_in(
            &name.request(is_permission),
            Some(&Series { name: series.clone(), conversation: conversation.to_string() }),
        );
        assert_eq!(put.is_new, open.is_none(), "a call attaches to the open question of its series, or to none");
        let name = match open {
            None => {
                self.keep(name, put.question.id, is_permission, None, Some((series, conversation)));
                self.in_series[agent] += 1;
                self.open.insert(name);
                name
            }
            Some(name) => {
                self.count("shared");
                let kept = self.kept.get_mut(&name).expect("it is kept");
                assert_eq!(put.question.id, kept.id, "a call attaches to the latest that is open");
                kept.series = Some((series, conversation));
                name
            }
        };
        self.waits(name, put.attachment, &put.question.ending);
    }

    fn keep(
        &mut self,
        name: Name,
        id: QuestionId,
        is_permission: bool,
        expires: Option<u64>,
        series: Option<(String, usize)>,
    ) {
        let kept = Kept {
            id,
            is_permission,
            asked: self.stage.now(),
            expires,
            ending: None,
            attempt: None,
            claim: None,
            delivered: None,
            drafts: BTreeMap::new(),
            series,
            waiters: Vec::new(),
        };
        self.kept.insert(name, kept);
        self.expiring.extend(expires.map(|at| (at, name)));
        self.pending += 1;
        self.events += 1;
    }

    fn waits(&mut self, name: Name, attachment: Attachment, ending: &Option<Ending>) {
        let kept = self.kept.get_mut(&name).expect("it is kept");
        kept.waiters.push(attachment);
        let (ended, known) = (ending.as_ref().map(Ending::state), kept.ending.as_ref().map(|(state, ..)| *state));
        assert_eq!(ended, known, "who asks is told how it ended");
    }

    /// Ends a question; whether this attempt won.
    fn end(&mut self, name: Name, state: State, by: Option<&str>, attempt: Option<&str>) -> bool {
        let now = self.stage.now();
        let kept = self.kept.get_mut(&name).expect("it is kept");
        if kept.ending.is_some() {
            return attempt.is_some() && kept.attempt.as_deref() == attempt;
        }
        kept.ending = Some((state, by.map(str::to_owned), now.max(kept.asked)));
        kept.attempt = attempt.map(str::to_owned);
        if let Some(at) = kept.expires.take() {
            self.expiring.remove(&(at, name));
        }
        self.pending -= 1;
        self.events += 1;
        true
    }

    fn answer(&mut self, name: Name) {
        let (who, what) = (self.dice.below(4), self.dice.below(4));
        let by = format!("person {who}");
        let (principal, stamped) = match who {
            0 => (Principal::person(&by, Via::Policy), None),
            _ => (person(&by), Some(by.as_str())),
        };
        let outcome = match what {
            0 => Outcome::declined(Some("no".into())),
            1 => Outcome::discuss(None),
            option => choice(option - 2),
        };
        let attempt_name = format!("attempt {}", self.dice.below(2));
        let (end, id) = (End::from(outcome), self.kept[&name].id.clone());
        let result = wait(self.process().by(principal.clone()).end(&id, &end, &attempt(&attempt_name)));
        if who == 0 && self.kept[&name].is_permission {
            assert!(is_forbidden(result), "a rule gives no permission");
            return;
        }
        let state = end.stamped(&principal, 0).state();
        let was_pending = self.kept[&name].ending.is_none();
        let won = self.end(name, state, stamped, Some(&format!("{attempt_name} {principal:?} {end:?}")));
        self.count(if !won {
            "lost"
        } else if was_pending {
            "won"
        } else {
            "repeated"
        });
        self.check(name, won, result);
    }

    fn withdraw(&mut self, name: Name) {
        let (id, attempt_name) = (self.kept[&name].id.clone(), format!("withdrawal {}", self.dice.below(4)));
        let by = [agent(&name.agent_name()), person("ada")][self.dice.below(2)].clone();
        let other = agent(&format!("agent {}", 1 - name.agent));
        let result = wait(self.process().by(other).withdraw(&id, &attempt("another's")));
        assert!(is_forbidden(result), "an agent withdraws its own questions only");
        let result = wait(self.process().by(by.clone()).withdraw(&id, &attempt(&attempt_name)));
        let won = self.end(name, State::Withdrawn, by.name(), Some(&format!("{attempt_name} {by:?}")));
        self.check(name, won, result);
    }

    fn check(&self, name: Name, won: bool, result: Result<Ending, StoreError>) {
        let (state, by, at) = self.kept[&name].ending.as_ref().expect("it has ended");
        let ending = match result {
            Ok(ending) => {
                assert!(won, "of all attempts one wins");
                ending
            }
            Err(StoreError::Ended(ending)) => {
                assert!(!won, "the first attempt wins, also repeated");
                *ending
            }
            Err(error) => panic!("the store failed: {}", error.chain()),
        };
        assert_eq!((ending.state(), ending.by()), (*state, by.as_deref()), "who is late is told who was first");
        assert_eq!(ending.at_ms(), Some(*at), "and when");
    }

    fn claim(&mut self, name: Name) {
        let (id, now, attempt_name) =
            (self.kept[&name].id.clone(), self.stage.now(), format!("{}", self.dice.below(3)));
        let result = wait(self.process().by(agent(&name.agent_name())).claim(&id, &attempt(&attempt_name)));
        let kept = self.kept.get_mut(&name).expect("it is kept");
        let ended = kept.ending.as_ref().filter(|(state, ..)| *state != State::Withdrawn);
        let Some((_, _, at)) = ended.filter(|_| kept.is_permission) else {
            assert!(is_forbidden(result), "only a permission that was answered can be used");
            return;
        };
        let expected = match (&kept.claim, kept.delivered) {
            (Some((winner, _)), _) if *winner == attempt_name => Claim::Won,
            (_, Some(at)) => Claim::Used(at),
            (_, None) if !(*at..=at + LASTS).contains(&now) => Claim::Lapsed,
            (_, None) => {
                kept.claim = Some((attempt_name, now));
                kept.delivered = Some(now);
                kept.waiters.clear();
                Claim::Won
            }
        };
        self.count(match expected {
            Claim::Won => "claim won",
            Claim::Used(_) => "claim used",
            Claim::Lapsed => "claim lapsed",
        });
        assert_eq!(ok(result), expected, "one permission, one act");
    }

    fn draft(&mut self, name: Name) {
        let (by, other) = (format!("person {}", self.dice.below(3)), format!("person {}", self.dice.below(3)));
        let typed = self.dice.below(5);
        let draft = match typed {
            0 => Draft::default(),
            _ => Draft::from(vec![Answer { custom_input: Some(typed.to_string()), ..choice(0).answers()[0].clone() }]),
        };
        let id = self.kept[&name].id.clone();
        ok(wait(self.process().person(&by).save_draft(&id, &draft.clone().into())));
        let kept = self.kept.get_mut(&name).expect("it is kept");
        kept.drafts.insert(by, draft);
        let expected = kept.drafts.get(&other).cloned().unwrap_or_default();
        assert_eq!(ok(wait(self.process().person(&other).draft(&id))), expected, "a draft is its person's own");
    }

    fn hold(&mut self, name: Name) {
        let id = self.kept[&name].id.clone();
        ok(wait(self.process().person("ada").hold(&id)));
        if let Some(at) = self.kept.get_mut(&name).and_then(|kept| kept.expires.take()) {
            self.expiring.remove(&(at, name));
        }
    }

    fn deliver(&mut self, name: Name) {
        let (id, now) = (self.kept[&name].id.clone(), self.stage.now());
        ok(wait(self.process().by(agent(&name.agent_name())).delivered(&id)));
        let kept = self.kept.get_mut(&name).expect("it is kept");
        if kept.ending.is_some() {
            kept.delivered.get_or_insert(now);
            kept.waiters.clear();
        }
        let delivered = kept.delivered;
        assert_eq!(self.process().get(&id).delivered_ms, delivered, "what has ended is delivered once");
    }

    fn leave(&mut self, name: Name) {
        if let Some(attachment) = self.kept.get_mut(&name).and_then(|kept| kept.waiters.pop()) {
            ok(wait(attachment.detach()));
        }
    }

    /// Clocks jump, backwards too.
    fn clock(&mut self) {
        let (jump, now) = (self.dice.below(3_000) as u64, self.stage.now());
        self.stage.set_time(match self.dice.below(60) {
            0..12 => now.saturating_sub(jump),
            12 => now + LASTS,
            _ => now + jump,
        });
        let now = self.stage.now();
        while let Some((_, name)) = self.expiring.first().copied().filter(|(at, _)| *at <= now) {
            self.count("timed out");
            self.end(name, State::TimedOut, None, None);
        }
        // What is due now ends now: the clock may be set back before the next call.
        let reader = self.process().person("ada");
        let page = ok(wait(reader.list(&Filter::pending().at_most(1))));
        assert_eq!(page.next.is_some(), self.pending > 1, "what has passed its deadline is pending no longer");
        if self.dice.below(20) == 0 {
            assert_eq!(ok(wait(reader.count(&Filter::pending()))), self.pending as u64);
        }
    }

    /// At the end they agree about everything.
    fn agrees(&mut self) {
        let reader = self.process();
        let listed = ok(wait(reader.person("ada").list(&Filter::default()))).questions;
        assert_eq!(listed.len(), self.kept.len());
        let mut ids: Vec<&QuestionId> = self.kept.values().map(|kept| &kept.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), self.kept.len(), "an id names one question");
        for kept in self.kept.values() {
            let stored = reader.get(&kept.id);
            let ending = stored.ending.as_ref();
            let told = ending.map(|ending| (ending.state(), ending.by().map(str::to_owned)));
            assert_eq!(told, kept.ending.as_ref().map(|(state, by, _)| (*state, by.clone())));
            assert_eq!((stored.asked_ms, stored.expires_ms), (kept.asked, kept.expires));
            assert_eq!(stored.delivered_ms, kept.delivered);
            for (by, draft) in &kept.drafts {
                assert_eq!(ok(wait(reader.person(by).draft(&kept.id))), *draft);
            }
        }
        let events = || ok(wait(reader.person("ada").events(0, u32::MAX)));
        crate::until("all events are visible", || events().events.len() >= self.events);
        assert_eq!((events().events.len(), events().gap), (self.events, false), "one event for each change, no other");
        assert!(events().events.is_sorted_by(|one, next| one.seq < next.seq));
    }
}
