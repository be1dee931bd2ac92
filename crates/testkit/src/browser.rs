//! Chromium as a real peer of pages: the system's own, headless, controlled over its DevTools
//! protocol.
//!
//! It runs with a temporary profile, and talks over two pipes, so nothing listens on a port. All
//! complaints and requests of a page are kept, for tests to check.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::Managed;

/// Every reply comes much sooner, even on a machine with other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// The browser reads from its descriptor 3 and writes to 4: a shell makes these of our two pipes.
const WITH_PIPES: &str = "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null";

/// Features that a browser without a user does not need, and a sandbox that a test as root cannot
/// have.
const FLAGS: [&str; 13] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--remote-debugging-pipe",
];

/// How a page is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// Whether the user prefers dark pages.
    pub dark: bool,
    /// Whether scripts run.
    pub scripts: bool,
}

/// A running Chromium with one tab. Dropping it ends it.
#[derive(Debug)]
pub struct Browser {
    // Before the profile: the process ends before its files go.
    process: Managed,
    to: ChildStdin,
    from: Receiver<Value>,
    next: u64,
    session: Option<String>,
    events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Starts it with an empty tab.
    pub fn start() -> io::Result<Browser> {
        let profile = tempfile::tempdir()?;
        let log = std::fs::File::create(profile.path().join("log"))?;
        let mut command = Command::new("sh");
        command.args(["-c", WITH_PIPES, "sh"]).args(FLAGS);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        command.env("HOME", profile.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut process = Managed::spawn(&mut command)?;
        let to = process.child().stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let out = process.child().stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (sender, from) = mpsc::channel();
        // It ends when the browser does.
        thread::spawn(move || {
            for message in BufReader::new(out).split(0) {
                let message = message.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
                if message.is_none_or(|message| sender.send(message).is_err()) {
                    return;
                }
            }
        });
        let (next, session, events) = (1, None, Vec::new());
        let mut browser = Browser { process, to, from, next, session, events, _profile: profile };
        browser.attach().map_err(|error| {
            let log = std::fs::read_to_string(browser._profile.path().join("log"));
            io::Error::other(format!(
                "chromium did not start: {error}: {}",
                log.unwrap_or_default()
            ))
        })?;
        Ok(browser)
    }

    fn attach(&mut self) -> io::Result<()> {
        let tab = self.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let into = json!({"targetId": tab["targetId"], "flatten": true});
        let session = self.call("Target.attachToTarget", into)?;
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(())
    }

    /// Opens a file as a page, with nothing kept of the one before, and waits until it is there.
    pub fn open(&mut self, file: &Path, view: View) -> io::Result<()> {
        let View { width, height, dark, scripts } = view;
        let scheme = if dark { "dark" } else { "light" };
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        self.call("Emulation.setEmulatedMedia", features)?;
        self.call("Emulation.setScriptExecutionDisabled", json!({"value": !scripts}))?;
        self.call("Page.navigate", json!({"url": "about:blank"}))?;
        self.wait_for("Page.loadEventFired")?;
        self.events.clear();
        let url = format!("file://{}", file.canonicalize()?.display());
        self.call("Page.navigate", json!({"url": url}))?;
        self.wait_for("Page.loadEventFired")
    }

    /// The value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> io::Result<Value> {
        let ask = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", ask)?;
        match answer.get("exceptionDetails") {
            Some(exception) => Err(io::Error::other(format!("{expression}: {exception}"))),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Moves the pointer to a place of the view, with the button held or not.
    pub fn pointer(&mut self, kind: &str, x: f64, y: f64) -> io::Result<()> {
        let held = kind != "mouseReleased" && kind != "hover";
        let name = if kind == "hover" { "mouseMoved" } else { kind };
        let button = if kind == "hover" { "none" } else { "left" };
        let event = json!({"type": name, "x": x, "y": y, "button": button,
            "buttons": u8::from(held), "clickCount": 1});
        self.call("Input.dispatchMouseEvent", event).map(drop)
    }

    /// Presses a key, such as `ArrowRight` or `+`.
    pub fn press(&mut self, key: &str) -> io::Result<()> {
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": key});
            if key == " " {
                event["code"] = json!("Space");
                event["text"] = json!(" ");
            }
            if key == "Tab" {
                event["code"] = json!("Tab");
                event["windowsVirtualKeyCode"] = json!(9);
            }
            self.call("Input.dispatchKeyEvent", event)?;
        }
        Ok(())
    }

    /// A picture (PNG) of the whole page, or of the first element that a selector finds.
    pub fn picture(&mut self, selector: Option<&str>) -> io::Result<Vec<u8>> {
        let of = serde_json::to_string(selector.unwrap_or("html"))?;
        let place = self.evaluate(&format!(
            "(() => {{ const b = document.querySelector({of}).getBoundingClientRect(); return \
             {{x: b.left + scrollX, y: b.top + scrollY, width: b.width, height: b.height, scale: 1}}; }})()"
        ))?;
        let how = json!({"format": "png", "captureBeyondViewport": true, "clip": place});
        let picture = self.call("Page.captureScreenshot", how)?;
        BASE64.decode(picture["data"].as_str().unwrap_or_default()).map_err(io::Error::other)
    }

    /// The page as it would be printed, as PDF.
    pub fn print(&mut self) -> io::Result<Vec<u8>> {
        let printed = self.call("Page.printToPDF", json!({"printBackground": false}))?;
        BASE64.decode(printed["data"].as_str().unwrap_or_default()).map_err(io::Error::other)
    }

    /// The page's console messages, exceptions and refused requests since it was opened.
    pub fn complaints(&mut self) -> io::Result<Vec<String>> {
        self.settle()?;
        let kinds = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
        Ok(self.of_kinds(&kinds).map(|event| event["params"].to_string()).collect())
    }

    /// Everything that the page has asked for since it was opened, itself included.
    pub fn requests(&mut self) -> io::Result<Vec<String>> {
        self.settle()?;
        let url = |event: &Value| event["params"]["request"]["url"].as_str().map(str::to_owned);
        Ok(self.of_kinds(&["Network.requestWillBeSent"]).filter_map(url).collect())
    }

    fn of_kinds<'a>(&'a self, kinds: &'a [&str]) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(|event| kinds.iter().any(|kind| event["method"] == *kind))
    }

    /// Lets the page finish its current work: two frames.
    fn settle(&mut self) -> io::Result<()> {
        thread::sleep(Duration::from_millis(50));
        self.evaluate("0").map(drop)
    }

    fn call(&mut self, method: &str, parameters: Value) -> io::Result<Value> {
        let id = self.next;
        self.next += 1;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(message.to_string().as_bytes())?;
        self.to.write_all(&[0])?;
        let answer = self.receive(|message| message["id"] == id)?;
        match answer.get("error") {
            Some(error) => Err(io::Error::other(format!("{method}: {error}"))),
            None => Ok(answer["result"].clone()),
        }
    }

    fn wait_for(&mut self, event: &str) -> io::Result<()> {
        if let Some(at) = self.events.iter().position(|one| one["method"] == event) {
            self.events.remove(at);
            return Ok(());
        }
        self.receive(|message| message["method"] == event).map(drop)
    }

    /// The next message that is wanted; events that are not are kept.
    fn receive(&mut self, is_wanted: impl Fn(&Value) -> bool) -> io::Result<Value> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.from.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(message) if is_wanted(&message) => return Ok(message),
                Ok(message) => self.events.push(message),
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the browser has ended"));
                }
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends its own children in order if it is asked to; otherwise the signal has to do.
        let close = json!({"id": self.next, "method": "Browser.close"});
        let asked = self.to.write_all(format!("{close}\0").as_bytes());
        if asked.is_ok() {
            let _ = self.process.wait(Duration::from_secs(5));
        }
    }
}
