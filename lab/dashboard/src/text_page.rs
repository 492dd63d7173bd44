//! A text that programs fetch over HTTP, such as Prometheus's.

use crate::serving::{Serving, bind};
use axum::Router;
use axum::http::StatusCode;
use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::get;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// A text at one path of an address, until it is dropped.
pub struct TextPage {
    text: Arc<Mutex<String>>,
    address: SocketAddr,
    _serving: Serving,
}

impl TextPage {
    /// Serves an empty text of that `kind` at `path`.
    ///
    /// # Errors
    /// When the address isn't to be had.
    pub fn open(address: SocketAddr, path: &'static str, kind: &'static str) -> io::Result<Self> {
        let (listener, address) = bind(address)?;
        let text: Arc<Mutex<String>> = Arc::default();
        let shared = Arc::clone(&text);
        let answer = move || {
            let text = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
            async move { ([(CONTENT_TYPE, kind)], text) }
        };
        let elsewhere = move || async move { (StatusCode::NOT_FOUND, format!("ask for {path}\n")) };
        let otherwise = || async { (StatusCode::METHOD_NOT_ALLOWED, "only GET is answered\n") };
        // Whoever asks comes again in seconds; a connection isn't kept for that.
        let close = |mut response: Response| async {
            response.headers_mut().insert(CONNECTION, axum::http::HeaderValue::from_static("close"));
            response
        };
        let app = Router::new()
            .route(path, get(answer).fallback(otherwise))
            .fallback(elsewhere)
            .layer(map_response(close));
        let serving = Serving::start("metrics", listener, app)?;
        Ok(TextPage { text, address, _serving: serving })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Puts another text in its place.
    pub fn put(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}
