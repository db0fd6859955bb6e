//! `redlite doctor`.

use crate::adapter::adapter;
use crate::command::run;

#[test]
fn it_says_what_auto_would_use_and_why() {
    let ended = run(&["doctor"]);
    let text = ended.text();
    assert!(text.contains("--backend auto") && text.contains("memory to plan with"), "{text}");
}

#[test]
fn its_json_lists_each_adapter_with_what_it_offers() {
    let report = run(&["doctor", "--json"]).json();
    let adapters = report["adapters"].as_array().unwrap();
    let software = |adapter: &&serde_json::Value| adapter["hardware"] == false;
    if adapters.iter().all(|adapter| software(&adapter)) {
        assert_eq!(report["auto"], "reference", "software is used only where it is asked for");
    }
    if let Some(name) = adapter() {
        let found = adapters.iter().find(|adapter| adapter["name"] == name.as_str()).unwrap();
        assert!(found["features"].as_array().unwrap().iter().any(|feature| feature["name"] == "immediates"));
        assert!(found["limits"].as_array().unwrap().iter().any(|limit| limit[0] == "largest binding"));
    }
}
