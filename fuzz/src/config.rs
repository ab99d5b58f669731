//! The configuration: `config.json`, a zero byte, `config.local.json`, a zero byte, a line for each
//! variable.

use std::collections::BTreeMap;

use serde_json::Value;
use swarm::config::{Sources, VARIABLES, layer, readiness};

use super::halves;

/// It is taken or refused with words; what is taken, written out in full, is taken again and is the
/// same.
pub fn check(data: &[u8]) {
    let (shared, rest) = halves(data);
    let (local, variables) = halves(rest);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let given = |bytes: &[u8]| (!bytes.is_empty()).then(|| text(bytes));
    let variables = text(variables);
    let names = VARIABLES.iter().map(|name| (*name).to_owned());
    let sources = Sources {
        user: None,
        shared: given(shared),
        local: given(local),
        environment: names
            .zip(variables.lines().map(str::to_owned))
            .collect::<BTreeMap<_, _>>(),
        flags: vec![],
    };
    match layer(&sources) {
        Ok(layered) => {
            let config = &layered.config;
            assert_eq!(config.hash().len(), 64);
            assert_eq!(
                config.hash(),
                layer(&sources).expect("as before").config.hash()
            );
            drop(readiness(config));
            drop(layered.document());
            again(config);
        }
        Err(error) => assert!(!error.to_string().trim().is_empty()),
    }
}

/// Written out in full, the effective configuration is the same configuration.
fn again(config: &swarm::config::Config) {
    let Ok(Value::Object(full)) = serde_json::to_value(config) else {
        panic!("a configuration is an object");
    };
    let sources = Sources {
        user: None,
        shared: Some(Value::Object(full).to_string()),
        ..Sources::default()
    };
    let again = layer(&sources).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.config.hash(), config.hash());
}
