//! The JSON schemas of documents, generated from the structs.
//!
//! Other programs rely on the files in the repository; a test fails if one is stale, and prints how
//! to renew it.

use crate::document::{Document, FORMAT, live, progress};

/// The checked-in schema.
const SCHEMA: &str = include_str!("../schema/candor.result-3.json");

/// The schema of the present structs.
fn generate() -> String {
    of::<Document>(FORMAT)
}

/// The schema of another document of this crate, under the name of its format.
fn of<T: schemars::JsonSchema>(format: &str) -> String {
    let mut schema = schemars::schema_for!(T);
    schema.insert("title".to_owned(), format.into());
    let mut text = serde_json::to_string_pretty(&schema)
        .expect("a schema has string keys and finite numbers only");
    text.push('\n');
    text
}

mod tests {
    use jsonschema::Validator;
    use serde::Serialize;
    use serde_json::Value;

    use super::*;
    use crate::experiment::{board, clients, comparison, peak, suite, sweep};
    use crate::testing;
    use crate::testing::experiments::{
        sample_board, sample_comparison, sample_peak, sample_suite, sample_sweep,
    };

    /// A validator takes longer to make than to use.
    fn validator(schema: &str) -> Validator {
        let schema: Value = serde_json::from_str(schema).unwrap();
        jsonschema::validator_for(&schema).unwrap()
    }

    /// The errors of a document by its schema.
    fn errors(validator: &Validator, document: &impl Serialize) -> Vec<String> {
        let value = serde_json::to_value(document).unwrap();
        validator.iter_errors(&value).map(|error| error.to_string()).collect()
    }

    #[test]
    fn the_checked_in_schema_is_fresh() {
        testing::golden("schema/candor.result-3.json", &generate());
    }

    #[test]
    fn the_schemas_of_experiments_are_fresh() {
        let fresh =
            |file: &str, schema: String| testing::golden(&format!("schema/{file}"), &schema);
        fresh("candor.live-1.json", of::<live::Line>(live::FORMAT));
        fresh("candor.progress-1.json", of::<progress::Line>(progress::FORMAT));
        fresh("candor.peak-3.json", of::<peak::Peak>(peak::FORMAT));
        fresh("candor.sweep-3.json", of::<sweep::Sweep>(sweep::FORMAT));
        fresh("candor.comparison-1.json", of::<comparison::Comparison>(comparison::FORMAT));
        fresh("candor.suite-1.json", of::<suite::Suite>(suite::FORMAT));
        fresh("candor.board-1.json", of::<board::Board>(board::FORMAT));
        fresh("candor.clients-1.json", of::<clients::Clients>(clients::FORMAT));
        fresh("candor.clients-trial-1.json", of::<clients::TrialFile>(clients::TRIAL_FORMAT));
    }

    #[test]
    fn real_documents_are_valid() {
        let result = validator(&generate());
        let provoked = testing::provoked();
        for document in testing::every_document().iter().chain(&provoked) {
            assert_eq!(errors(&result, document), [""; 0]);
        }
    }

    #[test]
    fn documents_of_experiments_are_valid() {
        let of = |kind: &str| {
            let path = format!("{}/schema/candor.{kind}.json", env!("CARGO_MANIFEST_DIR"));
            validator(&std::fs::read_to_string(path).unwrap())
        };
        let [peak, sweep] = [of("peak-3"), of("sweep-3")];
        let [comparison, suite] = [of("comparison-1"), of("suite-1")];
        assert_eq!(errors(&peak, &sample_peak()), [""; 0]);
        assert_eq!(errors(&sweep, &sample_sweep()), [""; 0]);
        assert_eq!(errors(&comparison, &sample_comparison()), [""; 0]);
        assert_eq!(errors(&suite, &sample_suite(2)), [""; 0]);
        assert_eq!(errors(&of("board-1"), &sample_board()), [""; 0]);
        // No document passes for another kind.
        assert!(!errors(&suite, &sample_comparison()).is_empty());
        assert!(!errors(&peak, &sample_sweep()).is_empty());
        let mut wrong = serde_json::to_value(sample_comparison()).unwrap();
        wrong["findings"][0]["conclusion"] = "perhaps".into();
        assert!(!errors(&comparison, &wrong).is_empty());
    }

    #[test]
    fn a_wrong_document_is_not_valid() {
        let validator = validator(SCHEMA);
        let mut value = serde_json::to_value(testing::healthy_open()).unwrap();
        value["ledger"]["ok"] = "many".into();
        assert!(!validator.is_valid(&value));
        value.as_object_mut().unwrap().remove("ledger");
        assert!(!validator.is_valid(&value));
    }
}
