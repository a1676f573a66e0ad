//! Which address others use.

use std::io;
use std::net::{SocketAddr, UdpSocket};

/// The address that others use: of "every network", the one that leads out. Nothing is sent to find it.
pub fn reachable(address: SocketAddr) -> SocketAddr {
    if !address.ip().is_unspecified() {
        return address;
    }
    let outward = || -> io::Result<SocketAddr> {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    };
    match outward() {
        Ok(local) => SocketAddr::new(local.ip(), address.port()),
        Err(_) => SocketAddr::new([127, 0, 0, 1].into(), address.port()),
    }
}
