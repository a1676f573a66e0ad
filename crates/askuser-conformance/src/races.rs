//! Rules for concurrent processes: one attempt wins, and every other attempt gets the winner.

use crate::Place;
use crate::support::{TestEnv, attempt, choice, ok, permission, request, wait};
use askuser::store::{Claim, Ending, QuestionId, State, StoreError};
use std::sync::Barrier;

const PROCESSES: usize = 6;
const QUESTIONS: usize = 300;

/// Runs an operation on every question in all processes concurrently. Returns the replies by question.
fn race<T: Send>(
    stage: &TestEnv<'_>,
    ids: &[QuestionId],
    act: impl Fn(&crate::support::Process, usize, &QuestionId) -> T + Sync,
) -> Vec<Vec<T>> {
    let barrier = Barrier::new(PROCESSES);
    let told: Vec<Vec<T>> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..PROCESSES)
            .map(|i| {
                let act = &act;
                let barrier = &barrier;
                scope.spawn(move || {
                    let process = stage.open();
                    let all = ids.iter().map(|id| {
                        barrier.wait();
                        act(&process, i, id)
                    });
                    all.collect()
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().expect("a racer")).collect()
    });
    let mut by_question: Vec<Vec<T>> = ids.iter().map(|_| Vec::new()).collect();
    for process in told {
        process.into_iter().zip(&mut by_question).for_each(|(told, question)| question.push(told));
    }
    by_question
}

/// Returns the index of the only winner, and the ending. Asserts that all replies have the same ending.
fn winner(told: Vec<Result<Ending, StoreError>>) -> (usize, Ending) {
    let won: Vec<usize> = (0..told.len()).filter(|i| told[*i].is_ok()).collect();
    assert_eq!(won.len(), 1, "of all attempts one wins");
    let endings: Vec<Ending> = told
        .into_iter()
        .map(|told| match told {
            Ok(ending) => ending,
            Err(StoreError::Ended(ending)) => *ending,
            Err(error) => panic!("a loser is told how it ended: {}", error.chain()),
        })
        .collect();
    assert!(endings.windows(2).all(|pair| pair[0] == pair[1]), "every loser is told the winner");
    (won[0], endings[0].clone())
}

/// One of several concurrent answers is recorded. Every process and every later reader gets that one.
pub fn every_question_has_one_winner_whom_all_losers_name(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let ids: Vec<QuestionId> = (0..QUESTIONS).map(|i| process.ask(&request(&i.to_string()))).collect();
    let told = race(&stage, &ids, |process, i, id| {
        wait(process.person(&format!("person {i}")).answer(id, choice(i % 2), &attempt(format!("attempt {i}"))))
    });
    for (id, told) in ids.iter().zip(told) {
        let (won, ending) = winner(told);
        assert_eq!(ending.by(), Some(&*format!("person {won}")), "every loser is told the winner");
        assert_eq!(process.get(id).ending, Some(ending));
    }
    let reader = process.person("ada");
    let answered = || {
        let events = ok(wait(reader.events(0, u32::MAX))).events;
        events.iter().filter(|event| event.state == State::Answered).count()
    };
    crate::until("every end is told", || answered() == QUESTIONS);
}

/// One of several concurrent claims of a permission wins. The others learn that the permission was used.
pub fn of_many_claims_one_wins(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let ids: Vec<QuestionId> = (0..QUESTIONS)
        .map(|i| {
            let id = process.ask(&permission(&i.to_string()));
            process.answer(&id, 0, "ada");
            id
        })
        .collect();
    let told = race(&stage, &ids, |process, i, id| {
        let attempt = attempt(format!("attempt {i}"));
        let first = ok(wait(process.agent().claim(id, &attempt)));
        assert_eq!(ok(wait(process.agent().claim(id, &attempt))), first, "the same attempt gets the same result");
        first
    });
    for told in told {
        assert_eq!(told.iter().filter(|claim| **claim == Claim::Won).count(), 1, "one permission, one act: {told:?}");
        assert!(told.iter().all(|claim| matches!(claim, Claim::Won | Claim::Used { at_ms: 1_000_000 })), "{told:?}");
    }
}

/// One of several processes that put the same request creates the question. All processes get that question.
pub fn of_many_that_ask_the_same_one_is_new(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let calls: Vec<QuestionId> =
        (0..QUESTIONS).map(|i| QuestionId::parse(&format!("{i:012x}")).expect("a name for the call")).collect();
    let told = race(&stage, &calls, |process, _, call| {
        let put = process.put(&request(call.as_str()));
        (put.is_new, put.question.id.clone())
    });
    for told in told {
        assert_eq!(told.iter().filter(|(is_new, _)| *is_new).count(), 1, "one has put it");
        assert!(told.iter().all(|(_, id)| *id == told[0].1), "all have the same question");
    }
}
