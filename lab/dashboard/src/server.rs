//! The page, and what goes to it and comes from it, on a thread that has nothing to do with the drive's.

use crate::access::Access;
use crate::frame::{BlockCells, Frame};
use crate::hub::{Ask, Hub};
use crate::messages::{FromBrowser, ToBrowser};
use crate::serving::{Serving, bind};
use aster_lab::page::{UPLOT, UPLOT_STYLE};
use axum::Router;
use axum::body::Body;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::future::{Either, select};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

const PAGE: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/dashboard.css");
const SCRIPT: &str = include_str!("page/dashboard.js");

/// Browsers at a time.
const VIEWERS_MAX: usize = 16;
/// The longest message of a browser.
const MESSAGE_MAX: usize = 4096;
/// How long a browser may take for a message, and the drive's side for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a program that asks for one frame waits for it.
const FRAME_WITHIN: Duration = Duration::from_secs(3);

/// A page that is served until this is dropped.
pub struct Dashboard {
    address: SocketAddr,
    access: Access,
    _serving: Serving,
}

#[derive(Clone)]
struct Shared {
    hub: Hub,
    access: Access,
}

impl Dashboard {
    /// Serves what comes from `hub` at `address`. With a token only who has it may look; an address that
    /// others reach gets one if none is named.
    ///
    /// # Errors
    /// When the address isn't to be had.
    pub fn open(address: SocketAddr, token: Option<String>, hub: Hub) -> io::Result<Self> {
        let (listener, address) = bind(address)?;
        let access = Access::new(address, token)?;
        let app = router(Shared { hub, access: access.clone() });
        let serving = Serving::start("dashboard", listener, app)?;
        Ok(Dashboard { address, access, _serving: serving })
    }

    /// Where it is, with its token if it needs one.
    pub fn url(&self) -> String {
        match self.access.token() {
            Some(token) => format!("http://{}/?token={token}", self.address),
            None => format!("http://{}/", self.address),
        }
    }
}

fn router(shared: Shared) -> Router {
    let text = |kind: &'static str, text: String| {
        let text: Arc<str> = text.into();
        get(move || {
            let body = Body::from(text.to_string());
            async move { ([(CONTENT_TYPE, kind)], body) }
        })
    };
    let style = format!("{UPLOT_STYLE}\n{STYLE}");
    Router::new()
        .route("/", text("text/html; charset=utf-8", PAGE.to_owned()))
        .route("/dashboard.css", text("text/css; charset=utf-8", style))
        .route("/dashboard.js", text("text/javascript; charset=utf-8", SCRIPT.to_owned()))
        .route("/uplot.js", text("text/javascript; charset=utf-8", UPLOT.to_owned()))
        .route("/frame.json", get(frame))
        .route("/live", get(connect))
        .fallback(|| async { (StatusCode::NOT_FOUND, "there is nothing here; the dashboard is at /\n") })
        .layer(middleware::from_fn_with_state(shared.clone(), guard))
        .with_state(shared)
}

/// A header's value as text.
fn header<'a>(headers: &'a HeaderMap, name: &axum::http::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Scripts and styles hold no secret, and their requests no token.
fn is_asset(path: &str) -> bool {
    path.ends_with(".js") || path.ends_with(".css")
}

async fn guard(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let uri = request.uri();
    let allowed = shared.access.check(uri.query(), header(request.headers(), &HOST));
    if let Err(words) = allowed.or_else(|words| if is_asset(uri.path()) { Ok(()) } else { Err(words) }) {
        return (StatusCode::FORBIDDEN, words).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    // Its address may hold the token, and other pages have no business with it.
    let fixed = [
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"),
        (axum::http::header::REFERRER_POLICY, "no-referrer"),
        (axum::http::header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in fixed {
        headers.insert(name, axum::http::HeaderValue::from_static(value));
    }
    response
}

const FULL: &str = "as many browsers look as are served at a time; close one\n";

/// One frame for a program.
async fn frame(State(Shared { mut hub, .. }): State<Shared>) -> Response {
    let Some(_viewer) = hub.enter(VIEWERS_MAX) else {
        return (StatusCode::SERVICE_UNAVAILABLE, FULL).into_response();
    };
    hub.frames.mark_unchanged();
    // Where nothing changes, the last one is the present one.
    let _ = timeout(FRAME_WITHIN, hub.frames.changed()).await;
    let frame = Arc::clone(&hub.frames.borrow());
    let parts =
        serde_json::json!({ "about": &*hub.about, "frame": &*frame, "blocks": frame.blocks.as_deref() });
    ([(CONTENT_TYPE, "application/json")], parts.to_string()).into_response()
}

async fn connect(
    State(shared): State<Shared>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(refused) => return refused.into_response(),
    };
    if !Access::is_same_page(header(&headers, &ORIGIN), header(&headers, &HOST)) {
        return (StatusCode::FORBIDDEN, "another page may not look at this drive\n").into_response();
    }
    let Some(viewer) = shared.hub.enter(VIEWERS_MAX) else {
        return (StatusCode::SERVICE_UNAVAILABLE, FULL).into_response();
    };
    upgrade.max_message_size(MESSAGE_MAX).max_frame_size(MESSAGE_MAX).on_upgrade(move |socket| async move {
        // A browser that goes away ends its own conversation.
        let _ = Conversation { hub: shared.hub, socket, blocks: None }.hold().await;
        drop(viewer);
    })
}

/// The browser has gone, or is too slow.
struct Gone;

struct Conversation {
    hub: Hub,
    socket: WebSocket,
    /// The blocks that it has.
    blocks: Option<Arc<BlockCells>>,
}

impl Conversation {
    async fn hold(&mut self) -> Result<(), Gone> {
        let about = Arc::clone(&self.hub.about);
        self.tell(&ToBrowser::About(&about)).await?;
        self.hub.frames.mark_changed();
        loop {
            let next = {
                let (changed, asked) = (pin!(self.hub.frames.changed()), pin!(self.socket.recv()));
                match select(changed, asked).await {
                    // The drive's side has gone.
                    Either::Left((changed, _)) => changed.map(|()| None).map_err(|_| Gone)?,
                    Either::Right((asked, _)) => Some(asked.ok_or(Gone)?.map_err(|_| Gone)?),
                }
            };
            match next {
                None => {
                    let frame = Arc::clone(&self.hub.frames.borrow_and_update());
                    self.show(&frame).await?;
                }
                Some(Message::Text(text)) => self.answer(&text).await?,
                Some(Message::Binary(_)) => self.tell(&ToBrowser::Error("questions are text")).await?,
                Some(Message::Close(_)) => return Ok(()),
                Some(Message::Ping(_) | Message::Pong(_)) => {}
            }
        }
    }

    async fn show(&mut self, frame: &Frame) -> Result<(), Gone> {
        if let Some(blocks) = &frame.blocks
            && self.blocks.as_ref().is_none_or(|before| !Arc::ptr_eq(before, blocks))
        {
            self.tell(&ToBrowser::Blocks(blocks)).await?;
            self.blocks = Some(Arc::clone(blocks));
        }
        self.tell(&ToBrowser::Frame(frame)).await
    }

    async fn tell(&mut self, message: &ToBrowser<'_>) -> Result<(), Gone> {
        let sent = timeout(PATIENCE, self.socket.send(Message::Text(message.text().into()))).await;
        sent.map_err(|_| Gone)?.map_err(|_| Gone)
    }

    async fn answer(&mut self, text: &str) -> Result<(), Gone> {
        let asked = match FromBrowser::parse(text) {
            Ok(asked) if asked.moves_time() && !self.hub.about.replays => {
                let words = "a live drive's time is its host's, and can't be moved";
                return self.tell(&ToBrowser::Error(words)).await;
            }
            Ok(asked) => asked,
            Err(words) => return self.tell(&ToBrowser::Error(&words)).await,
        };
        let ask = match asked {
            FromBrowser::Play => Ask::Play(true),
            FromBrowser::Pause => Ask::Play(false),
            FromBrowser::Speed { us_per_second } => Ask::Speed(us_per_second),
            FromBrowser::Seek { at_us } => Ask::Seek(at_us),
            FromBrowser::StepEvent => Ask::StepEvent,
            FromBrowser::StepCommand => Ask::StepCommand,
            FromBrowser::Explain { id } => return self.explain(id).await,
        };
        match self.hub.ask(ask) {
            true => Ok(()),
            false => self.tell(&ToBrowser::Error("too many questions at a time")).await,
        }
    }

    async fn explain(&mut self, id: u64) -> Result<(), Gone> {
        let (into, answer) = oneshot::channel();
        if !self.hub.ask(Ask::Explain(id, into)) {
            return self.tell(&ToBrowser::Error("too many questions at a time")).await;
        }
        match timeout(PATIENCE, answer).await {
            Ok(Ok(Ok(life))) => self.tell(&ToBrowser::Explanation { id, life: &life }).await,
            Ok(Ok(Err(words))) => self.tell(&ToBrowser::Error(&words)).await,
            Ok(Err(_)) | Err(_) => self.tell(&ToBrowser::Error("there was no answer in time")).await,
        }
    }
}
