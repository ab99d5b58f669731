//! A client of a server of the Model Context Protocol: JSON lines on its standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::Result;

/// A running server; ended with the value.
pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

/// What a tool answered: its text, and whether it says that it failed.
pub struct Answer {
    /// The text.
    pub text: String,
    /// Whether the call failed.
    pub failed: bool,
}

impl Answer {
    /// The text as JSON.
    pub fn json(&self) -> Result<Value> {
        Ok(serde_json::from_str(&self.text)?)
    }
}

impl Server {
    /// Starts it and shakes hands.
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut this = Self {
            input: child.stdin.take(),
            output: BufReader::new(output),
            child,
            asked: 0,
        };
        this.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            }),
        )?;
        this.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(this)
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<Answer> {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.ask("tools/call", &params)?;
        let text = answer["result"]["content"][0]["text"].as_str();
        Ok(Answer {
            text: text.ok_or_else(|| format!("{tool}: {answer}"))?.to_owned(),
            failed: answer["result"]["isError"] == true,
        })
    }

    /// Closes its input and waits until it has ended.
    pub fn close(mut self) -> Result {
        drop(self.input.take());
        self.child.wait()?;
        Ok(())
    }

    fn send(&mut self, message: &Value) -> Result {
        let input = self.input.as_mut().ok_or("it is closed")?;
        writeln!(input, "{message}")?;
        Ok(input.flush()?)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err(format!("the server ended before it answered {method}").into());
            }
            let answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == id {
                return Ok(answer);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After `close` it has ended. Otherwise a benchmark failed, and its message says more.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
