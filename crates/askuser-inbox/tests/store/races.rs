//! Several processes at once.

use crate::support::{Place, request};
use crate::worker::{command, said};
use askuser::store::{State, Store};
use std::collections::BTreeMap;
use std::io::Write;

#[test]
fn eight_processes_answer_two_thousand_questions_and_each_has_one_winner_whom_all_losers_name() {
    const PROCESSES: usize = 8;
    const QUESTIONS: usize = 2_000;
    let place = Place::new();
    let store = place.store().without_sync().unwrap();
    let ids: Vec<String> = (0..QUESTIONS).map(|i| store.put(&request(&i.to_string())).unwrap().question.id).collect();
    let list = ids.join("\n");
    let workers: Vec<_> = (0..PROCESSES)
        .map(|i| {
            let mut worker = command(&format!("answer person-{i}"), &place.path()).spawn().unwrap();
            let mut stdin = worker.stdin.take().unwrap();
            let list = list.clone();
            // It answers while it still reads.
            std::thread::spawn(move || stdin.write_all(list.as_bytes()));
            worker
        })
        .collect();
    let mut winners = BTreeMap::<String, String>::new();
    let mut told = Vec::new();
    for (i, worker) in workers.into_iter().enumerate() {
        let output = worker.wait_with_output().unwrap();
        assert!(output.status.success());
        for line in said(&output.stdout) {
            let [id, what, who] = *line.splitn(3, ' ').collect::<Vec<_>>() else { panic!("{line}") };
            assert_ne!(what, "error", "{line}");
            if what == "won" {
                assert_eq!(who, format!("person-{i}"));
                assert_eq!(winners.insert(id.to_owned(), who.to_owned()), None, "{id} was won twice");
            }
            told.push((id.to_owned(), who.to_owned()));
        }
    }
    assert_eq!((winners.len(), told.len()), (QUESTIONS, QUESTIONS * PROCESSES));
    assert!(told.iter().all(|(id, who)| winners[id] == *who), "every loser is told the winner");
    assert!(ids.iter().all(|id| store.get(id).unwrap().ending.unwrap().by() == Some(&*winners[id])));
    assert!(winners.values().collect::<std::collections::BTreeSet<_>>().len() > 1, "there was a race");
    let answered =
        store.events(0, u32::MAX).unwrap().events.iter().filter(|event| event.state == State::Answered).count();
    assert_eq!(answered, QUESTIONS);
}
