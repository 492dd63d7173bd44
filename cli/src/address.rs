//! Addresses that are listened at.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

/// An address and port, or a host's name and port.
pub(crate) fn address_of(text: &str) -> Result<SocketAddr, String> {
    let Some((host, port)) = text.rsplit_once(':').filter(|(host, _)| !host.is_empty()) else {
        return Err("expected an address and a port, such as 127.0.0.1:9464".to_owned());
    };
    let port: u16 = port.parse().map_err(|_| format!("\"{port}\" is no port: they are from 0 to 65535"))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let mut found = (host, port).to_socket_addrs().ok().into_iter().flatten();
    found
        .next()
        .ok_or_else(|| format!("no host \"{host}\" is known here; expected one such as 127.0.0.1:9464"))
}

/// Why an address can't be listened at, and what to do about it.
pub(crate) fn refusal(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there; name another port".to_owned(),
        io::ErrorKind::AddrNotAvailable => "this machine has no such address".to_owned(),
        io::ErrorKind::PermissionDenied => "you may not listen there; take a port from 1024 up".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_is_refused_in_words() {
        assert_eq!(address_of("127.0.0.1:9464"), Ok("127.0.0.1:9464".parse().unwrap()));
        assert_eq!(address_of("[::1]:80"), Ok("[::1]:80".parse().unwrap()));
        for text in ["localhost", "", ":9464", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:70000", "no host:1"]
        {
            let error = address_of(text).unwrap_err();
            assert!(error.contains("port") || error.contains("127.0.0.1:9464"), "{text}: {error}");
        }
    }
}
