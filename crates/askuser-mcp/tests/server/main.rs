//! The server from outside: a client at the other end of two streams, and a person at the inbox.

mod approving;
mod asking;
mod background;
mod dialogs;
mod http;
mod rounds;
mod sdk;
mod support;
