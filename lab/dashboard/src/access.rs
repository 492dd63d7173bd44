//! Who may look.

use std::net::{IpAddr, SocketAddr};

/// The shortest and the longest token.
const TOKEN_BYTES: (usize, usize) = (12, 128);

/// What a request has to show.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    token: Option<String>,
}

/// Whether `text` can be a token: it stands in an address as it is.
///
/// # Errors
/// Words for people.
pub fn check_token(text: &str) -> Result<(), String> {
    let (least, most) = TOKEN_BYTES;
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    match is_plain && (least..=most).contains(&text.len()) {
        true => Ok(()),
        false => Err(format!("a token has {least} to {most} letters, digits, - or _")),
    }
}

/// A token that nobody guesses.
pub(crate) fn new_token() -> std::io::Result<String> {
    let mut bytes = [0u8; 16];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if got < bytes.len() {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The host of an authority such as `127.0.0.1:8080`, `[::1]:80` or `localhost`.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    }
}

impl Access {
    /// Without a token everybody on this machine may look; so the address has to be one of the machine's
    /// own.
    pub(crate) fn new(address: SocketAddr, token: Option<String>) -> std::io::Result<Self> {
        let token = match token {
            None if !address.ip().is_loopback() => Some(new_token()?),
            token => token,
        };
        Ok(Access { token })
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Whether a request may be answered.
    ///
    /// # Errors
    /// Words for people.
    pub(crate) fn check(&self, query: Option<&str>, host: Option<&str>) -> Result<(), &'static str> {
        if let Some(token) = &self.token {
            let mut given = query.unwrap_or("").split('&').filter_map(|part| part.strip_prefix("token="));
            return match given.next() {
                Some(given) if same(given, token) => Ok(()),
                _ => Err("this page needs its token: open the address that aster printed\n"),
            };
        }
        // A page of somebody else's, whose name leads here, comes with that name.
        let host = host_of(host.unwrap_or(""));
        let is_own = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        if is_own { Ok(()) } else { Err("name this machine as localhost or 127.0.0.1\n") }
    }

    /// Whether a page that came from `origin` may talk to `host`.
    pub(crate) fn is_same_page(origin: Option<&str>, host: Option<&str>) -> bool {
        // A program that is no browser has no origin.
        let Some(origin) = origin else { return true };
        origin.split_once("://").is_some_and(|(_, authority)| Some(authority) == host)
    }
}

/// Compares without telling by its time how much was right.
fn same(given: &str, token: &str) -> bool {
    let differ = given.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_loopback_only_a_page_of_this_machine_is_answered() {
        let access = Access::new("127.0.0.1:8080".parse().unwrap(), None).unwrap();
        assert_eq!(access.token(), None);
        for host in ["127.0.0.1:8080", "localhost:1", "localhost", "[::1]:80", "127.9.9.9"] {
            assert_eq!(access.check(None, Some(host)), Ok(()), "{host}");
        }
        for host in [None, Some(""), Some("evil.example:8080"), Some("10.0.0.1:8080"), Some("[")] {
            assert!(access.check(Some("token=x"), host).is_err(), "{host:?}");
        }
    }

    #[test]
    fn elsewhere_a_token_is_needed() {
        let access = Access::new("0.0.0.0:8080".parse().unwrap(), None).unwrap();
        let token = access.token().unwrap().to_owned();
        assert!(token.len() == 32 && check_token(&token).is_ok());
        let other = Access::new("0.0.0.0:8080".parse().unwrap(), None).unwrap();
        assert_ne!(other.token(), Some(token.as_str()));
        let host = Some("drive.example:8080");
        assert_eq!(access.check(Some(&format!("a=b&token={token}")), host), Ok(()));
        let cut = &token[1..];
        for query in [None, Some(""), Some("token="), Some(cut), Some("token=x&token=y")] {
            assert!(access.check(query, host).is_err(), "{query:?}");
        }
        assert!(access.check(Some(&format!("token={cut}")), host).is_err());
        for text in ["", "short", "has a blank in it", "percent%20percent", &"x".repeat(129)] {
            assert!(check_token(text).is_err(), "{text}");
        }
    }

    #[test]
    fn another_page_may_not_talk_to_the_drive() {
        let host = Some("127.0.0.1:8080");
        assert!(Access::is_same_page(None, host));
        assert!(Access::is_same_page(Some("http://127.0.0.1:8080"), host));
        for origin in ["http://evil.example", "http://127.0.0.1:8081", "null", ""] {
            assert!(!Access::is_same_page(Some(origin), host), "{origin}");
        }
    }
}
