//! The store beside a model of it that fits on a page: whatever is done in whatever order, both say the same.

use crate::support::{Dice, Place, choice, request};
use askuser::Outcome;
use askuser::Via;
use askuser::store::{Ending, Filter, Recorded, State, Store, StoreError};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Every step goes through one of several handles, as from several processes.
const HANDLES: usize = 3;
const STEPS: usize = 100_000;
const QUESTIONS: usize = 400;

struct Kept {
    id: String,
    expires: Option<u64>,
    ending: Option<(State, Option<String>)>,
    attempt: Option<String>,
    draft: Option<serde_json::Value>,
    delivered: bool,
}

#[derive(Default)]
struct Model {
    kept: BTreeMap<usize, Kept>,
    events: usize,
}

impl Model {
    /// Ends a question; whether this attempt won.
    fn end(&mut self, call: usize, state: State, by: Option<&str>, attempt: Option<&str>) -> bool {
        let kept = self.kept.get_mut(&call).unwrap();
        if kept.ending.is_some() {
            return attempt.is_some() && kept.attempt.as_deref() == attempt;
        }
        kept.ending = Some((state, by.map(str::to_owned)));
        kept.attempt = attempt.map(str::to_owned);
        kept.draft = None;
        kept.expires = None;
        self.events += 1;
        true
    }

    fn expire(&mut self, now: u64) -> Option<u64> {
        let late: Vec<usize> = self
            .kept
            .iter()
            .filter(|(_, kept)| kept.expires.is_some_and(|at| at <= now))
            .map(|(call, _)| *call)
            .collect();
        for call in late {
            self.end(call, State::TimedOut, None, None);
        }
        self.kept.values().filter_map(|kept| kept.expires).min()
    }
}

fn check(recorded: &Recorded, won: bool, kept: &Kept) {
    let (Recorded::Won(ending) | Recorded::Lost(ending)) = recorded;
    assert_eq!(matches!(recorded, Recorded::Won(_)), won);
    let (state, by) = kept.ending.as_ref().unwrap();
    assert_eq!(ending.state(), *state, "whoever is late is told what happened");
    assert_eq!(ending.by(), by.as_deref(), "and who was first");
}

#[test]
fn the_store_does_what_a_small_model_of_it_does() {
    let place = Place::new();
    let stores = place.stores(HANDLES);
    let mut model = Model::default();
    let mut dice = Dice(7);
    let mut counts = BTreeMap::<&str, usize>::new();
    for step in 0..STEPS {
        let store: &Arc<dyn Store> = &stores[dice.below(HANDLES)];
        let call = dice.below(QUESTIONS);
        let now = place.now.load(Ordering::Relaxed);
        let id = model.kept.get(&call).map(|kept| kept.id.clone());
        let (name, Some(id)) =
            (["put", "answer", "withdraw", "expire", "draft", "hold", "delivered", "clock"][dice.below(8)], id)
        else {
            // Not asked yet, so it is asked now.
            let deadline = (dice.below(4) == 0).then(|| Duration::from_millis(1 + dice.below(5_000) as u64));
            let put = store.put(&request(&call.to_string()).with_deadline(deadline)).unwrap();
            assert!(put.is_new && put.question.state() == State::Pending);
            let expires = deadline.map(|deadline| now + deadline.as_millis() as u64);
            let kept =
                Kept { id: put.question.id, expires, ending: None, attempt: None, draft: None, delivered: false };
            model.kept.insert(call, kept);
            model.events += 1;
            continue;
        };
        *counts.entry(name).or_default() += 1;
        match name {
            "put" => {
                let put = store.put(&request(&call.to_string())).unwrap();
                let kept = &model.kept[&call];
                assert!(!put.is_new && put.question.id == kept.id);
                assert_eq!(put.question.state(), kept.ending.as_ref().map_or(State::Pending, |(state, _)| *state));
                assert_eq!(put.question.expires_ms, kept.expires);
            }
            "answer" => {
                let by = format!("person {}", dice.below(3));
                let attempt = format!("attempt {}", dice.below(4));
                let resolution = match dice.below(4) {
                    0 => Outcome::declined(Some("no".into())).through(Via::Inbox).with_by(&by),
                    1 => Outcome::discuss(None).through(Via::Inbox).with_by(&by),
                    option => choice(option - 2, &by),
                };
                let state = Ending::Resolved(resolution.clone()).state();
                let recorded = store.answer(&id, &resolution, &attempt).unwrap();
                let won = model.end(call, state, Some(&by), Some(&attempt));
                check(&recorded, won, &model.kept[&call]);
            }
            // Rare, so that most questions live long enough.
            "withdraw" if dice.below(8) == 0 => {
                let recorded = store.withdraw(&id, "whoever asked").unwrap();
                let won = model.end(call, State::Withdrawn, Some("whoever asked"), None);
                check(&recorded, won, &model.kept[&call]);
            }
            "expire" => assert_eq!(store.expire().unwrap(), model.expire(now)),
            "draft" => {
                let draft = serde_json::json!({"typed": step});
                store.save_draft(&id, Some(&draft)).unwrap();
                let kept = model.kept.get_mut(&call).unwrap();
                kept.draft = kept.ending.is_none().then_some(draft);
                assert_eq!(store.draft(&id).unwrap(), kept.draft);
            }
            "hold" if dice.below(4) == 0 => {
                store.hold(&id).unwrap();
                model.kept.get_mut(&call).unwrap().expires = None;
            }
            "delivered" => {
                store.delivered(&id).unwrap();
                let kept = model.kept.get_mut(&call).unwrap();
                kept.delivered |= kept.ending.is_some();
                assert_eq!(store.get(&id).unwrap().delivered_ms.is_some(), kept.delivered);
            }
            // Clocks jump, backwards too.
            "clock" => {
                let jump = dice.below(3_000) as u64;
                let now = if dice.below(5) == 0 { now.saturating_sub(jump) } else { now + jump };
                place.now.store(now, Ordering::Relaxed);
            }
            _ => {}
        }
        // A question over and done with makes room for another under its number.
        if step % 50 == 0 && model.kept[&call].ending.is_some() {
            let same = store.put(&request(&call.to_string())).unwrap();
            assert_eq!(same.question.state(), model.kept[&call].ending.as_ref().unwrap().0, "a final state absorbs");
        }
    }
    // At the end they agree about everything.
    let store = &stores[0];
    let pending = model.kept.values().filter(|kept| kept.ending.is_none()).count();
    assert_eq!(store.count(&Filter::pending()).unwrap() as usize, pending);
    assert_eq!(store.list(&Filter::pending()).unwrap().len(), pending);
    for kept in model.kept.values() {
        let stored = store.get(&kept.id).unwrap();
        assert_eq!(stored.state(), kept.ending.as_ref().map_or(State::Pending, |(state, _)| *state));
        assert_eq!(store.draft(&kept.id).unwrap(), kept.draft);
    }
    let events = store.events(0, u32::MAX).unwrap();
    assert_eq!((events.events.len(), events.gap), (model.events, false), "one event for each change, and no other");
    assert!(events.events.is_sorted_by(|a, b| a.seq < b.seq));
    assert!(place.store().integrity().unwrap().is_empty());
    println!("{STEPS} steps over {} questions: {counts:?}", model.kept.len());
    assert!(matches!(store.get("ffffffffffff0"), Err(StoreError::NoSuchQuestion(_))));
}
