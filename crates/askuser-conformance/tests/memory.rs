//! The store in memory keeps all rules, with and without late calls.

mod at_once {
    use askuser_conformance::{MemoryStore, conformance};
    conformance!(MemoryStore::new());
}

mod late {
    use askuser_conformance::{MemoryStore, conformance};
    conformance!(MemoryStore::late());
}
