//! A server on a thread of its own, until it is dropped.

use axum::Router;
use futures_util::future::select;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::thread::{self, JoinHandle};
use tokio::sync::oneshot;

/// A server that answers.
pub(crate) struct Serving {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// An address that nobody else has, and which it is if its port was 0.
pub(crate) fn bind(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let bound = listener.local_addr()?;
    Ok((listener, bound))
}

impl Serving {
    /// Answers by `app` on a thread called `name`.
    pub(crate) fn start(name: &str, listener: TcpListener, app: Router) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name(name.into()).spawn(move || {
            runtime.block_on(async move {
                // It can only fail without a runtime, which is there.
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                let serve = axum::serve(listener, app).into_future();
                select(pin!(serve), pin!(stopped)).await;
            });
        })?;
        Ok(Serving { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
