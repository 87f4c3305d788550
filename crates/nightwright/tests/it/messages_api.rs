//! A scripted provider on loopback: enough of the Messages API for the real agent program, with all
//! kinds of faults.
//!
//! A [`Scenario`](scenario::Scenario) is data; [`Api::start`] plays it. Every request for a message
//! is stored, so that a test can compare it byte for byte. Unknown requests are answered with 404,
//! which the program accepts.

mod http;
mod render;
pub(crate) mod scenario;

use std::io::{self, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use scenario::{AnswerPhase, ApiAnswer, Fault, ModelMessage, Scenario, When};

/// The timeout of a test; only a failing test takes this long.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);
/// The interval at which a silent connection checks whether the client is still connected.
const BLINK: Duration = Duration::from_millis(50);

/// A running server that plays a provider.
pub(crate) struct Api {
    shared: Arc<ApiShared>,
    address: SocketAddr,
    door: Option<JoinHandle<()>>,
}

/// A request to the model.
#[derive(Clone, Debug)]
pub(crate) struct ApiRequest {
    headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

struct ApiShared {
    scenario: Scenario,
    book: Mutex<RequestLog>,
    news: Condvar,
    closing: AtomicBool,
}

#[derive(Default)]
struct RequestLog {
    asked: Vec<ApiRequest>,
    /// The number of answers that each route has given.
    given: Vec<usize>,
    /// Whether paused answers may continue.
    released: bool,
}

impl Api {
    /// Starts the server at a free port.
    pub(crate) fn start(scenario: Scenario) -> Self {
        Self::listen(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(), scenario)
    }

    /// Starts the server again at the address of a closed one.
    pub(crate) fn reopen(address: SocketAddr, scenario: Scenario) -> Self {
        Self::listen(TcpListener::bind(address).unwrap(), scenario)
    }

    fn listen(listener: TcpListener, scenario: Scenario) -> Self {
        let address = listener.local_addr().unwrap();
        let book = RequestLog { given: vec![0; scenario.routes.len()], ..RequestLog::default() };
        let shared = Arc::new(ApiShared {
            scenario,
            book: Mutex::new(book),
            news: Condvar::new(),
            closing: AtomicBool::new(false),
        });
        let inside = Arc::clone(&shared);
        let door = std::thread::spawn(move || inside.welcome(&listener));
        Self { shared, address, door: Some(door) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Continues every paused answer, now and in the future.
    pub(crate) fn go_on(&self) {
        self.shared.book().released = true;
        self.shared.news.notify_all();
    }

    /// All requests to the model so far.
    pub(crate) fn asked(&self) -> Vec<ApiRequest> {
        self.shared.book().asked.clone()
    }

    /// Waits for a request with this property, and returns it.
    pub(crate) fn wait_for(&self, what: &str, wanted: impl Fn(&ApiRequest) -> bool) -> ApiRequest {
        let begun = Instant::now();
        let mut book = self.shared.book();
        loop {
            if let Some(found) = book.asked.iter().find(|request| wanted(request)) {
                return found.clone();
            }
            let left = TEST_TIMEOUT.checked_sub(begun.elapsed());
            let left = left.unwrap_or_else(|| panic!("the model was never asked: {what}"));
            book = self.shared.news.wait_timeout(book, left).unwrap().0;
        }
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        // A blocked `accept` has to be woken to notice the shutdown.
        let _ = TcpStream::connect(self.address);
        if let Some(door) = self.door.take() {
            // A panic of the thread was already printed, and the test has ended.
            let _ = door.join();
        }
    }
}

impl ApiRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(there, _)| there == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// The tools that the model may use, sorted by name.
    pub(crate) fn tools(&self) -> Vec<&str> {
        let named = self.every_tool().filter_map(|tool| tool["name"].as_str());
        // The program adds a placeholder for deferred tools, which is not a real tool.
        let mut names: Vec<_> = named.filter(|name| *name != "DeferredToolPlaceholder").collect();
        names.sort_unstable();
        names
    }

    /// The JSON Schema that the answer must match.
    pub(crate) fn form(&self) -> Option<&Value> {
        let form = self.every_tool().find(|tool| tool["name"] == scenario::FORM);
        form.map(|tool| &tool["input_schema"])
    }

    fn every_tool(&self) -> impl Iterator<Item = &Value> {
        self.body["tools"].as_array().into_iter().flatten()
    }

    /// The text blocks of the system prompt.
    pub(crate) fn system(&self) -> Vec<&str> {
        texts(&self.body["system"])
    }

    /// The text blocks of the first user message.
    pub(crate) fn opening(&self) -> Vec<&str> {
        texts(&self.body["messages"][0]["content"])
    }

    /// The number of answers of the model in the conversation so far.
    pub(crate) fn answers(&self) -> usize {
        self.messages().filter(|message| message["role"] == "assistant").count()
    }

    /// The conversation so far: the role and the text of each message.
    pub(crate) fn conversation(&self) -> Vec<(&str, String)> {
        self.messages()
            .map(|message| {
                let role = message["role"].as_str().unwrap_or_default();
                (role, texts(&message["content"]).join("\n"))
            })
            .collect()
    }

    /// Whether any message that is not from the model contains this. Input of the user during a
    /// turn arrives as a system message.
    pub(crate) fn says(&self, words: &str) -> bool {
        self.of_others().any(|content| texts(content).iter().any(|text| text.contains(words)))
    }

    /// The tool results: the text, and whether it is an error.
    pub(crate) fn tool_results(&self) -> Vec<(String, bool)> {
        self.of_others()
            .flat_map(|content| content.as_array().into_iter().flatten())
            .filter(|block| block["type"] == "tool_result")
            .map(|block| {
                (texts(&block["content"]).concat(), block["is_error"].as_bool() == Some(true))
            })
            .collect()
    }

    fn of_others(&self) -> impl Iterator<Item = &Value> {
        let others = self.messages().filter(|message| message["role"] != "assistant");
        others.map(|message| &message["content"])
    }

    fn messages(&self) -> impl Iterator<Item = &Value> {
        self.body["messages"].as_array().into_iter().flatten()
    }
}

/// The strings of a content value, which is a string or a list of blocks.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}

impl ApiShared {
    fn book(&self) -> MutexGuard<'_, RequestLog> {
        self.book.lock().unwrap()
    }

    fn welcome(self: Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.closing.load(Ordering::SeqCst) {
                return;
            }
            let Ok(stream) = stream else { continue };
            let inside = Arc::clone(&self);
            // A client that disconnects is not an error, because it may have been killed.
            std::thread::spawn(move || inside.serve(stream).unwrap_or_default());
        }
    }

    /// Answers requests until the client disconnects or the script closes the connection.
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut writer = stream;
        while let Some(message) = http::read(&mut reader)? {
            let keep = match (message.method.as_str(), message.path.as_str()) {
                ("POST", "/v1/messages") => self.message(&mut writer, message)?,
                ("POST", "/v1/messages/count_tokens") => {
                    let body = json!({ "input_tokens": 100 }).to_string();
                    http::answer(&mut writer, 200, &[], &body)?;
                    Keep::Open
                }
                _ => {
                    let text = format!("no {} {} here", message.method, message.path);
                    http::answer(&mut writer, 404, &[], &complaint("not_found_error", &text))?;
                    Keep::Open
                }
            };
            if keep == Keep::Closed {
                return Ok(());
            }
        }
        Ok(())
    }

    fn message(&self, writer: &mut TcpStream, message: http::HttpMessage) -> io::Result<Keep> {
        let http::HttpMessage { headers, body, .. } = message;
        let body: Value = serde_json::from_slice(&body).map_err(io::Error::other)?;
        let request = ApiRequest { headers, body };
        let model = request.model().to_owned();
        let streams = request.body["stream"] == true;
        let (answer, number) = self.take_note(request);
        match answer {
            ApiAnswer::Error(error) => {
                let mut headers = with_id(error.headers, number);
                headers.extend(error.resets_in.into_iter().flat_map(limit));
                let body = complaint(error.kind, &error.text);
                http::answer(writer, error.status, &headers, &body)?;
                Ok(Keep::Open)
            }
            ApiAnswer::Message(message) if streams => self.stream(writer, &message, &model, number),
            ApiAnswer::Message(message) => {
                if let Some(fault) = message.fault
                    && self.happens(writer, fault)? == Keep::Closed
                {
                    return Ok(Keep::Closed);
                }
                let headers = with_id(message.headers.clone(), number);
                let body = render::whole(&message, &model, number);
                http::answer(writer, 200, &headers, &body)?;
                Ok(Keep::Open)
            }
        }
    }

    /// Stores the request, and returns its answer and its number.
    fn take_note(&self, request: ApiRequest) -> (ApiAnswer, usize) {
        let mut book = self.book();
        let fits = |when: When| match when {
            When::Begins(words) => request.opening().iter().any(|text| text.contains(words)),
            When::Any => true,
        };
        let route = self.scenario.routes.iter().position(|route| fits(route.when));
        let answer = match route {
            Some(at) => {
                let answers = &self.scenario.routes[at].answers;
                let turn = book.given[at].min(answers.len() - 1);
                book.given[at] += 1;
                answers[turn].clone()
            }
            None => scenario::refuse(500, "api_error", "the script has no answer for this"),
        };
        book.asked.push(request);
        self.news.notify_all();
        (answer, book.asked.len())
    }

    fn stream(
        &self,
        writer: &mut TcpStream,
        message: &ModelMessage,
        model: &str,
        number: usize,
    ) -> io::Result<Keep> {
        if let Some(fault) = message.fault.filter(|fault| fault.moment() == AnswerPhase::Headers)
            && self.happens(writer, fault)? == Keep::Closed
        {
            return Ok(Keep::Closed);
        }
        http::begin(writer, &with_id(message.headers.clone(), number))?;
        for event in render::events(message, model, number) {
            std::thread::sleep(message.pace);
            http::piece(writer, &event.text)?;
            if let Some(fault) = message.fault.filter(|fault| event.moment == Some(fault.moment()))
                && self.happens(writer, fault)? == Keep::Closed
            {
                return Ok(Keep::Closed);
            }
        }
        http::piece(writer, "")?;
        Ok(Keep::Open)
    }

    /// Returns whether the answer continues after the fault.
    fn happens(&self, stream: &mut TcpStream, fault: Fault) -> io::Result<Keep> {
        match fault {
            Fault::HangUp(_) => Ok(Keep::Closed),
            Fault::Silence(_) => {
                stream.set_read_timeout(Some(BLINK))?;
                loop {
                    if self.closing.load(Ordering::SeqCst) || !is_connected(stream) {
                        return Ok(Keep::Closed);
                    }
                }
            }
            Fault::Pause(_) => {
                let held = |book: &mut RequestLog| !book.released;
                let (book, _) =
                    self.news.wait_timeout_while(self.book(), TEST_TIMEOUT, held).unwrap();
                Ok(if book.released { Keep::Open } else { Keep::Closed })
            }
        }
    }
}

/// Whether a connection stays open for another request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Open,
    Closed,
}

/// Checks briefly whether the client is still connected.
fn is_connected(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 64]) {
        Ok(count) => count > 0,
        Err(error) => matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
    }
}

fn with_id(mut headers: Vec<(&'static str, String)>, number: usize) -> Vec<(&'static str, String)> {
    headers.push(("request-id", format!("req_{number:06}")));
    headers
}

/// The headers that report an exhausted usage limit to a subscription.
fn limit(resets_in: Duration) -> Vec<(&'static str, String)> {
    let reset = SystemTime::now() + resets_in;
    let reset = reset.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs().to_string();
    let rejected = || "rejected".to_owned();
    vec![
        ("anthropic-ratelimit-unified-status", rejected()),
        ("anthropic-ratelimit-unified-reset", reset.clone()),
        ("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned()),
        ("anthropic-ratelimit-unified-5h-status", rejected()),
        ("anthropic-ratelimit-unified-5h-reset", reset),
        ("anthropic-ratelimit-unified-overage-status", rejected()),
        ("anthropic-ratelimit-unified-overage-disabled-reason", "org_level_disabled".to_owned()),
    ]
}

fn complaint(kind: &str, text: &str) -> String {
    json!({ "type": "error", "error": { "type": kind, "message": text } }).to_string()
}
