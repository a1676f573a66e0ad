//! Rows that are damaged or of a later version.

use crate::support::{ask, or_skip, person};
use askuser::store::{Filter, Store, StoreError};
use askuser_conformance::wait;
use std::sync::Arc;

#[test]
fn a_row_that_cannot_be_read_is_named_in_lists() {
    let place = or_skip!();
    let [first, second, third] = {
        let store: Arc<dyn Store> = Arc::new(place.store());
        ["1", "2", "3"].map(|call| ask(&store, call))
    };
    for damage in ["request = '{}'", "state = 'dreaming'", "state = 'answered'"] {
        place.run(&format!(
            "CREATE TABLE intact AS SELECT * FROM askuser.question WHERE id = '{second}';
             UPDATE askuser.question SET {damage} WHERE id = '{second}'"
        ));
        let store: Arc<dyn Store> = Arc::new(place.store());
        let ada = person(&store, "ada");
        let page = wait(ada.list(&Filter::default().at_most(2))).unwrap();
        let shown: Vec<_> = page.questions.iter().map(|question| &question.id).collect();
        assert_eq!((&shown[..], &page.unreadable[..]), (&[&first][..], &[second.clone()][..]), "{damage}");
        let rest = wait(ada.list(&Filter::default().after(page.next.unwrap()))).unwrap();
        let shown: Vec<_> = rest.questions.iter().map(|question| &question.id).collect();
        assert_eq!((&shown[..], &rest.unreadable[..]), (&[&third][..], &[][..]), "{damage}");
        let error = wait(ada.get(&second)).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{damage}: {error:?}");
        place.run(
            "UPDATE askuser.question q SET (request, state) = (i.request, i.state)
             FROM intact i WHERE q.id = i.id;
             DROP TABLE intact",
        );
    }
}
