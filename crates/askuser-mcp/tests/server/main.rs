//! Tests of the server from outside. A client is at the other end of two streams, and a person is at the inbox.

mod approving;
mod asking;
mod background;
mod dialogs;
mod http;
mod rounds;
mod sdk;
mod support;
