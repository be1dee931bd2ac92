//! The JSON schema of result documents, generated from the structs.
//!
//! The file in the repository is what others rely on; a test fails when it is stale and says how
//! to renew it.

use super::Document;

/// The checked-in schema.
pub const SCHEMA: &str = include_str!("../../schema/candor.result-1.json");

/// The schema as the structs have it now.
pub fn generate() -> String {
    of::<Document>(super::FORMAT)
}

/// The schema of another document of this crate, under the name of its format.
pub fn of<T: schemars::JsonSchema>(format: &str) -> String {
    let mut schema = schemars::schema_for!(T);
    schema.insert("title".to_owned(), format.into());
    let mut text = serde_json::to_string_pretty(&schema)
        .expect("a schema has string keys and finite numbers only");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn the_checked_in_schema_is_fresh() {
        testing::golden("schema/candor.result-1.json", &generate());
    }

    #[test]
    fn the_schemas_of_experiments_are_fresh() {
        use crate::experiment::{clients, peak, sweep};
        testing::golden("schema/candor.peak-1.json", &of::<peak::Peak>(peak::FORMAT));
        testing::golden("schema/candor.sweep-1.json", &of::<sweep::Sweep>(sweep::FORMAT));
        testing::golden("schema/candor.clients-1.json", &of::<clients::Clients>(clients::FORMAT));
        testing::golden(
            "schema/candor.clients-trial-1.json",
            &of::<clients::TrialFile>(clients::TRIAL_FORMAT),
        );
    }

    #[test]
    fn real_documents_are_valid() {
        let schema: serde_json::Value = serde_json::from_str(&generate()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for document in testing::every_document() {
            let value = serde_json::to_value(&document).unwrap();
            let errors: Vec<_> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
            assert!(errors.is_empty(), "{errors:#?}");
        }
    }

    #[test]
    fn a_wrong_document_is_not_valid() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let mut value = serde_json::to_value(testing::healthy_open()).unwrap();
        value["ledger"]["ok"] = "many".into();
        assert!(!validator.is_valid(&value));
        value.as_object_mut().unwrap().remove("ledger");
        assert!(!validator.is_valid(&value));
    }
}
