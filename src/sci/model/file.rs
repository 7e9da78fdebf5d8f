//! JSON files that name parameters (GASNET_SCI_TIMING) and topologies (GASNET_SCI_TOPOLOGY).
//!
//! Must not know: which parameters and topologies there are.

use super::Fields;
use serde_json::Value;

/// Whether a setting names a file: it has a slash, or ends in .json.
pub fn is_file(text: &str) -> bool {
    text.contains('/') || text.ends_with(".json")
}

/// The fields of the JSON file `path`: one object, whose values are numbers and strings.
pub fn fields_of_file(path: &str) -> Result<Fields, String> {
    fields(&value_of_file(path)?).map_err(|error| format!("{path}: {error}"))
}

/// The object in the JSON file `path`, whatever its values are.
pub fn value_of_file(path: &str) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))
}

/// The fields of one JSON object, whose values are numbers and strings.
pub fn fields(value: &Value) -> Result<Fields, String> {
    let Value::Object(fields) = value else { return Err("it is not one JSON object".into()) };
    let field = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        Value::Number(number) => Ok((name.clone(), number.to_string())),
        other => Err(format!("{name} is {other}: expected a number, or a string with a unit")),
    };
    fields.iter().map(field).collect()
}
