//! `reference/events.md`: every kind of event with an example.
