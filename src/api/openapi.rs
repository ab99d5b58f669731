//! The `OpenAPI` description, generated from the routes.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::routing::get;
use serde_json::Value;
use utoipa::openapi::{Info, License, OpenApi};
use utoipa_axum::router::OpenApiRouter;

use super::ApiContext;

/// The prefix of all routes.
pub(super) const PREFIX: &str = "/api/v1";

/// The routes under their prefix, and their description.
pub(super) fn describe(
    routes: OpenApiRouter<Arc<ApiContext>>,
) -> (Router<Arc<ApiContext>>, OpenApi) {
    let all = OpenApiRouter::new().nest(PREFIX, routes);
    let (served, mut description) = all.split_for_parts();
    description.info = info();
    // The router's mark for a value that may contain `/` means nothing to other programs.
    let paths = std::mem::take(&mut description.paths.paths).into_iter();
    let named = paths.map(|(path, item)| (path.replace("{*", "{"), item));
    description.paths.paths = named.collect();
    (served, description)
}

fn info() -> Info {
    let mut info = Info::new("swarm", env!("CARGO_PKG_VERSION"));
    info.description = Some(
        "The API of the swarm daemon: everything that the command line does. A change is answered \
        when it is on disk; `seq` is the sequence number of its event."
            .to_owned(),
    );
    info.license = Some(License::new(env!("CARGO_PKG_LICENSE")));
    info
}

/// The route that serves the description.
pub(super) fn route(description: &OpenApi) -> Router<Arc<ApiContext>> {
    let mut json =
        serde_json::to_value(description).expect("a description made of strings and maps is JSON");
    join_lines(&mut json);
    let json = Bytes::from(json.to_string());
    let content_type = HeaderValue::from_static("application/json");
    let answer = move || async move { ([(header::CONTENT_TYPE, content_type)], json) };
    Router::new().route(&format!("{PREFIX}/openapi.json"), get(answer))
}

/// Joins the lines of each paragraph in every description: doc comments wrap, but readers of the
/// API show each line break.
fn join_lines(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(text)) = object.get_mut("description") {
                let paragraphs = text.split("\n\n").map(|lines| lines.replace('\n', " "));
                *text = paragraphs.collect::<Vec<_>>().join("\n\n");
            }
            object.values_mut().for_each(join_lines);
        }
        Value::Array(items) => items.iter_mut().for_each(join_lines),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrapped_descriptions_are_joined_by_paragraph() {
        let mut value = json!({"a": [{"description": "One\nline.\n\nAnother\nparagraph."}]});
        join_lines(&mut value);
        let joined = json!({"a": [{"description": "One line.\n\nAnother paragraph."}]});
        assert_eq!(value, joined);
    }
}
