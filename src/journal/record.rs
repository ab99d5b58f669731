//! One record as one line, both ways.
//!
//! Invariant: `crc` is the CRC-32C of all bytes before the suffix `,"crc":"xxxxxxxx"}`, continued
//! from the crc of the record before (0 before the first): it is checked on the raw bytes, a line
//! is never serialised again to check it. The key order `v`, `seq`, `dur`, `ts`, `kind`, `data`,
//! `crc` is part of the format; the first record of a log has `schema` behind `dur`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::domain::time::Timestamp;

/// The only format there is; a newer one is refused.
pub const FORMAT: u64 = 1;

/// Bytes that a line may have, its line end included.
pub const MAX_LINE: usize = 64 * 1024;

/// What the journal asks of an event: serde with `#[serde(tag = "kind", content = "data")]`.
pub trait JournalEvent: Serialize + DeserializeOwned {
    /// Digest of the forms that the events have in this build, for the first record of a log; 0 for
    /// none.
    const SCHEMA: u64 = 0;

    /// The event that only says "all before me is on disk". A struct variant, so that it has its
    /// `data`.
    fn mark() -> Self;

    /// Its kind, as it is written; for messages.
    fn kind(&self) -> &str;
}

/// An event with its place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<E> {
    /// Its number, from 1, without gaps.
    pub seq: u64,
    /// The highest seq known to be on disk when this was written.
    pub dur: u64,
    /// When it was decided.
    pub ts: Timestamp,
    /// The fact itself.
    pub event: E,
}

/// The numbers at the beginning of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) v: u64,
    pub(super) seq: u64,
    pub(super) dur: u64,
}

/// What a line says of its event before it is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// The event's number.
    pub seq: u64,
    /// When it was decided, as written.
    pub ts: &'a str,
    /// Its kind, as written.
    pub kind: &'a str,
    /// The whole line, without its end.
    pub line: &'a [u8],
}

/// Why an event does not become a line.
#[derive(Debug)]
pub(super) enum EncodeError {
    TooLarge(usize),
    Unencodable(String),
}

const SUFFIX: usize = r#","crc":"00000000"}"#.len();
const CRC_KEY: &[u8] = br#","crc":""#;
const SCHEMA_KEY: &[u8] = br#","schema":""#;

/// Reads the numbers at the beginning of a line; `None` when it does not begin as a record does.
pub(super) fn header(line: &[u8]) -> Option<Header> {
    Some(beginning(line)?.header)
}

/// The digest of the events' forms that a line has; 0 for none.
pub(super) fn schema(line: &[u8]) -> Option<u64> {
    Some(beginning(line)?.schema)
}

struct Beginning<'a> {
    header: Header,
    schema: u64,
    /// What follows `"ts":"`.
    rest: &'a [u8],
}

fn beginning(line: &[u8]) -> Option<Beginning<'_>> {
    let (v, rest) = version(line)?;
    let (seq, rest) = number(rest.strip_prefix(br#","seq":"#)?)?;
    let (dur, rest) = number(rest.strip_prefix(br#","dur":"#)?)?;
    let (schema, rest) = match rest.strip_prefix(SCHEMA_KEY) {
        Some(rest) => {
            let (digits, rest) = quoted(rest)?;
            (u64::from_str_radix(digits, 16).ok()?, rest)
        }
        None => (0, rest),
    };
    Some(Beginning {
        header: Header { v, seq, dur },
        schema,
        rest: rest.strip_prefix(br#","ts":""#)?,
    })
}

/// The time at the beginning of a line, as written, and what follows.
fn time(line: &[u8]) -> Option<(&str, &[u8])> {
    quoted(beginning(line)?.rest)
}

/// The time at the beginning of a line.
pub(super) fn time_of(line: &[u8]) -> Option<Timestamp> {
    time(line)?.0.parse().ok()
}

/// What a line of [`FORMAT`] says of its event; `None` if it is no event.
pub(super) fn envelope(header: Header, line: &[u8]) -> Option<Envelope<'_>> {
    let (ts, rest) = time(line)?;
    let (kind, _) = quoted(rest.strip_prefix(br#","kind":""#)?)?;
    Some(Envelope {
        seq: header.seq,
        ts,
        kind,
        line,
    })
}

/// The text up to the next quote, and what follows that.
fn quoted(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = memchr::memchr(b'"', bytes)?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    Some((text, &bytes[end + 1..]))
}

/// The format a line says it has, and what follows; more lenient than [`header`], for formats yet
/// unknown.
pub(super) fn version(line: &[u8]) -> Option<(u64, &[u8])> {
    let (v, rest) = number(line.strip_prefix(br#"{"v":"#)?)?;
    rest.starts_with(b",").then_some((v, rest))
}

/// Splits a line (without its line end) into what the crc covers and the crc as written, in lower
/// case.
pub(super) fn split_crc(line: &[u8]) -> Option<(&[u8], u32)> {
    let (body, suffix) = line.split_at_checked(line.len().checked_sub(SUFFIX)?)?;
    let digits = suffix.strip_prefix(CRC_KEY)?.strip_suffix(br#""}"#)?;
    Some((body, hex(digits)?))
}

/// The crc of a record whose covered bytes are `body`, after a record with the crc `previous`.
pub(super) fn chain(previous: u32, body: &[u8]) -> u32 {
    crc32c::crc32c_append(previous, body)
}

/// Eight lower-case hex digits as a number.
pub(super) fn hex(digits: &[u8]) -> Option<u32> {
    let value = |digit: &u8| match digit {
        b'0'..=b'9' => Some(u32::from(digit - b'0')),
        b'a'..=b'f' => Some(u32::from(digit - b'a') + 10),
        _ => None,
    };
    let whole = digits.len() == 8;
    digits
        .iter()
        .try_fold(0, |sum, digit| Some(sum << 4 | value(digit)?))
        .filter(|_| whole)
}

/// Puts the line of `event` behind what `out` has, and returns its crc. `out` is as before when
/// that fails.
pub(super) fn encode<E: JournalEvent>(
    out: &mut Vec<u8>,
    header: Header,
    ts: &str,
    previous: u32,
    event: &E,
) -> Result<u32, EncodeError> {
    let start = out.len();
    let written = write_line(out, header, ts, previous, event);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

fn write_line<E: JournalEvent>(
    out: &mut Vec<u8>,
    header: Header,
    ts: &str,
    previous: u32,
    event: &E,
) -> Result<u32, EncodeError> {
    let unencodable = |why: &str| EncodeError::Unencodable(why.to_owned());
    let start = out.len();
    let numbers = [
        (&br#"{"v":"#[..], header.v),
        (br#","seq":"#, header.seq),
        (br#","dur":"#, header.dur),
    ];
    for (key, number) in numbers {
        out.extend_from_slice(key);
        push_number(out, number);
    }
    let is_first = previous == 0;
    if is_first && E::SCHEMA != 0 {
        out.extend_from_slice(SCHEMA_KEY);
        out.extend_from_slice(format!("{:016x}\"", E::SCHEMA).as_bytes());
    }
    out.extend_from_slice(br#","ts":""#);
    out.extend_from_slice(ts.as_bytes());
    out.push(b'"');
    let joint = out.len();
    serde_json::to_writer(&mut *out, event).map_err(|e| unencodable(&e.to_string()))?;
    if !out[joint..].starts_with(br#"{"kind":""#) || out.pop() != Some(b'}') {
        return Err(unencodable("it is not tagged with `kind` and `data`"));
    }
    if out[joint..].contains(&b'\n') {
        return Err(unencodable("it contains a line break"));
    }
    out[joint] = b',';
    let crc = chain(previous, &out[start..]);
    out.extend_from_slice(CRC_KEY);
    push_hex(out, crc);
    out.extend_from_slice(b"\"}\n");
    match out.len() - start {
        bytes if bytes > MAX_LINE => Err(EncodeError::TooLarge(bytes)),
        _ => Ok(crc),
    }
}

/// Puts the line behind what `out` has, with the crc that it gets after a record with the crc
/// `previous`; none when it is no line.
pub(super) fn chain_again(out: &mut Vec<u8>, line: &[u8], previous: u32) -> Option<u32> {
    let (body, _) = split_crc(line)?;
    Some(end_line(out, body, previous))
}

/// Puts a line behind what `out` has: `body` is what its crc covers. Returns that crc.
pub(super) fn end_line(out: &mut Vec<u8>, body: &[u8], previous: u32) -> u32 {
    let crc = chain(previous, body);
    out.extend_from_slice(body);
    out.extend_from_slice(CRC_KEY);
    push_hex(out, crc);
    out.extend_from_slice(b"\"}\n");
    crc
}

/// As `write!` would, at a fraction of its time: headers are half of what a small event costs.
fn push_number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    let mut left = number;
    loop {
        first -= 1;
        digits[first] = b"0123456789"[usize::try_from(left % 10).unwrap_or_default()];
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

fn push_hex(out: &mut Vec<u8>, number: u32) {
    let digit = |shift: u32| b"0123456789abcdef"[(number >> shift & 15) as usize];
    out.extend([28, 24, 20, 16, 12, 8, 4, 0].map(digit));
}

/// Parses a line of [`FORMAT`] whose crc and numbers have been checked. The text says what is
/// wrong.
pub(super) fn parse<E: DeserializeOwned>(line: &[u8]) -> Result<Record<E>, String> {
    serde_json::from_slice(line).map_err(|e| e.to_string())
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    // 18 digits never overflow, and a log never has that many records.
    if !(1..=18).contains(&digits) {
        return None;
    }
    let (digits, rest) = bytes.split_at(digits);
    let value = digits
        .iter()
        .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    Some((value, rest))
}

/// One pass, nothing buffered: the header's keys come first, the rest of the map is the event's
/// own.
impl<'de, E: Deserialize<'de>> Deserialize<'de> for Record<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RecordVisitor(PhantomData))
    }
}

struct RecordVisitor<E>(PhantomData<E>);

impl<'de, E: Deserialize<'de>> Visitor<'de> for RecordVisitor<E> {
    type Value = Record<E>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record with v, seq, dur, schema, ts, kind, data in this order")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record<E>, A::Error> {
        let _format: u64 = value_of(&mut map, "v")?;
        let seq = value_of(&mut map, "seq")?;
        let dur = value_of(&mut map, "dur")?;
        let mut key = map.next_key::<&str>()?;
        if key == Some("schema") {
            map.next_value::<de::IgnoredAny>()?;
            key = map.next_key()?;
        }
        if key != Some("ts") {
            return Err(de::Error::missing_field("ts"));
        }
        Ok(Record {
            seq,
            dur,
            ts: map.next_value()?,
            event: E::deserialize(MapAccessDeserializer::new(map))?,
        })
    }
}

fn value_of<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    map: &mut A,
    name: &'static str,
) -> Result<T, A::Error> {
    match map.next_key::<&str>()? {
        Some(key) if key == name => map.next_value(),
        _ => Err(de::Error::missing_field(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::testing::Note;

    const TS: Timestamp = Timestamp::from_millis(1_795_226_799_999);
    const TS_TEXT: &str = "2026-11-21T02:06:39.999Z";

    fn line(event: &Note) -> Vec<u8> {
        let mut out = Vec::new();
        let header = Header {
            v: 1,
            seq: 42,
            dur: 41,
        };
        encode(&mut out, header, TS_TEXT, 7, event).unwrap();
        out
    }

    #[test]
    fn a_record_is_one_line_with_the_keys_of_the_contract_in_order() {
        let line = String::from_utf8(line(&Note::text("hi"))).unwrap();
        let (body, crc) = split_crc(line.trim_end().as_bytes()).unwrap();
        assert_eq!(crc, chain(7, body));
        let expected = r#"{"v":1,"seq":42,"dur":41,"ts":"2026-11-21T02:06:39.999Z","kind":"text","data":{"text":"hi"},"crc":""#;
        assert!(line.starts_with(expected), "{line}");
        assert!(line.ends_with("\"}\n"));
    }

    #[test]
    fn a_line_says_when_and_what_before_it_is_parsed() {
        let line = line(&Note::text("hi"));
        let line = line.trim_ascii_end();
        let read = envelope(header(line).unwrap(), line).unwrap();
        assert_eq!((read.seq, read.ts, read.kind), (42, TS_TEXT, "text"));
        assert_eq!(read.line, line);
        assert_eq!(time_of(line), Some(TS));
        assert_eq!(time_of(b"{}"), None);
    }

    #[test]
    fn every_shape_of_event_survives_the_round_trip() {
        let events = [
            Note::text("a \"quoted\" \n line, {\"v\":1} \u{2028} é"),
            Note::Mark {},
            Note::Bare,
            Note::Many {
                items: vec![(1, "x".into()), (2, String::new())],
            },
        ];
        for event in events {
            let line = line(&event);
            let record: Record<Note> = parse(line.trim_ascii_end()).unwrap();
            assert_eq!((record.seq, record.dur, record.ts), (42, 41, TS));
            assert_eq!(record.event, event);
        }
    }

    #[test]
    fn what_is_too_large_or_no_event_is_refused_and_leaves_no_byte() {
        let header = Header {
            v: 1,
            seq: 1,
            dur: 0,
        };
        let mut out = b"before".to_vec();
        let fits = MAX_LINE - line(&Note::text("")).len() + 2;
        encode(&mut out, header, TS_TEXT, 0, &Note::text(&"x".repeat(fits))).unwrap();
        assert_eq!(out.len() - 6, MAX_LINE);
        out.truncate(6);
        let too_large = encode(
            &mut out,
            header,
            TS_TEXT,
            0,
            &Note::text(&"x".repeat(fits + 1)),
        );
        assert!(matches!(too_large, Err(EncodeError::TooLarge(bytes)) if bytes == MAX_LINE + 1));
        assert_eq!(out, b"before");
    }

    #[test]
    fn a_header_or_crc_of_another_shape_is_none() {
        for bad in [
            &b""[..],
            b"{",
            br#"{"v":,"seq":1,"dur":0,"ts":""#,
            br#"{"v":1,"seq":1"#,
            br#"{"v":1,"seq":1,"dur":1234567890123456789,"ts":""#,
        ] {
            assert_eq!(header(bad), None);
        }
        assert_eq!(split_crc(br#"{"a":1,"crc":"0000000A"}"#), None);
        assert_eq!(split_crc(br#","crc":"0000000a"}"#), Some((&b""[..], 10)));
    }

    #[test]
    fn numbers_are_written_as_json_has_them() {
        let mut out = Vec::new();
        for number in [0, 7, 10, 1_234_567_890, u64::MAX] {
            out.clear();
            push_number(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes());
        }
        out.clear();
        push_hex(&mut out, 0x009a_bcde);
        assert_eq!(out, b"009abcde");
    }

    #[test]
    fn missing_header_keys_are_named() {
        let error = serde_json::from_str::<Record<Note>>(r#"{"v":1,"dur":0}"#).unwrap_err();
        assert!(error.to_string().contains("seq"), "{error}");
    }
}
