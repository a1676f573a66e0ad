//! Limits the connections without a verified credential, for each address and in total.

use hyper::Request;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

const MOST_OF_ADDRESS: usize = 32;
const MOST: usize = 256;
/// The number of retries for a connection in a burst, and the pause before each. Earlier connections need a moment to
/// be verified.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Unverified {
    most_of_address: usize,
    connections: Mutex<HashMap<IpAddr, usize>>,
    /// The permits for connections that retry: as many as there may be unverified connections.
    waiting: Semaphore,
}

impl Unverified {
    /// Creates the limits. The limit for each address applies only if `counts_addresses` is set.
    pub(super) fn new(counts_addresses: bool) -> Arc<Unverified> {
        let most_of_address = if counts_addresses { MOST_OF_ADDRESS } else { MOST };
        Arc::new(Unverified { most_of_address, connections: Mutex::default(), waiting: Semaphore::new(MOST) })
    }

    /// Counts a connection from this address. Returns `None` if there are still too many connections after all retries.
    pub(super) async fn admit(self: &Arc<Unverified>, address: IpAddr) -> Option<Permit> {
        if let Some(permit) = self.count(address) {
            return Some(permit);
        }
        let _waiting = self.waiting.try_acquire().ok()?;
        for _ in 0..TRIES {
            tokio::time::sleep(PAUSE).await;
            if let Some(permit) = self.count(address) {
                return Some(permit);
            }
        }
        None
    }

    fn count(self: &Arc<Unverified>, address: IpAddr) -> Option<Permit> {
        let address = address.to_canonical();
        let mut connections = self.lock();
        let of_address = connections.get(&address).copied().unwrap_or_default();
        let all: usize = connections.values().sum();
        if of_address >= self.most_of_address || MOST <= all {
            return None;
        }
        connections.insert(address, of_address + 1);
        Some(Permit(Arc::new(Mutex::new(Some(Counted { among: self.clone(), address })))))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Counted {
    among: Arc<Unverified>,
    address: IpAddr,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut connections = self.among.lock();
        let left = connections.get(&self.address).map_or(0, |count| count.saturating_sub(1));
        if left == 0 {
            connections.remove(&self.address);
        } else {
            connections.insert(self.address, left);
        }
    }
}

/// The permit of a counted connection. The connection counts until the permit is given back or dropped.
#[derive(Clone)]
pub(super) struct Permit(Arc<Mutex<Option<Counted>>>);

impl Permit {
    /// Stops counting the connection of this request, because it has verified a credential.
    pub(super) fn give_back<T>(request: &Request<T>) {
        if let Some(Permit(counted)) = request.extensions().get() {
            drop(counted.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn connections_without_a_credential_are_limited() {
        let unverified = Unverified::new(true);
        let admit = |last| unverified.count(address(last));
        let mut first: Vec<Permit> = (0..32).map(|_| admit(1).expect("32 from one address")).collect();
        assert!(admit(1).is_none());
        assert!(unverified.count("::ffff:10.0.0.1".parse().unwrap()).is_none(), "the same address");
        let others: Vec<Permit> = (0..224).map(|i| admit(2 + i / 32).expect("256 in all")).collect();
        assert!(admit(200).is_none());
        let request = Request::builder().extension(first.pop().unwrap()).body(()).unwrap();
        Permit::give_back(&request);
        assert!(admit(200).is_some(), "one has shown a credential");
        drop((first, others));
        assert!(unverified.lock().is_empty(), "nothing is left of those that have gone");
    }

    #[tokio::test]
    async fn a_connection_of_a_burst_waits_for_a_place() {
        let unverified = Unverified::new(true);
        let mut first: Vec<Permit> = (0..32).map(|_| unverified.count(address(1)).unwrap()).collect();
        let (burst, ()) = tokio::join!(unverified.admit(address(1)), async { drop(first.pop()) });
        assert!(burst.is_some());
        assert!(unverified.admit(address(1)).await.is_none(), "there is no place after a while");
    }

    #[test]
    fn behind_a_proxy_only_the_total_is_limited() {
        let unverified = Unverified::new(false);
        let all: Vec<Permit> = std::iter::from_fn(|| unverified.count(address(1))).collect();
        assert_eq!(all.len(), 256);
    }
}
