//! The JSON file of parameters that GASNET_SCI_TIMING may name.
//!
//! Must not know: which parameters there are.

use serde_json::Value;

/// The fields of the JSON file `path`: one object, whose values are numbers and strings.
pub fn fields_of_file(path: &str) -> Result<Vec<(String, String)>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
    let Value::Object(fields) = value else { return Err(format!("{path} is not one JSON object")) };
    let field = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Number(number) => Ok((name, number.to_string())),
        other => Err(format!("{path}: {name} is {other}: expected a number, or a string with a unit")),
    };
    fields.into_iter().map(field).collect()
}
