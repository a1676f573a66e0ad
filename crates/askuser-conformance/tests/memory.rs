//! The store in memory keeps every rule, at once and late.

mod at_once {
    use askuser_conformance::{MemoryStore, conformance};
    conformance!(MemoryStore::new());
}

mod late {
    use askuser_conformance::{MemoryStore, conformance};
    conformance!(MemoryStore::late());
}
