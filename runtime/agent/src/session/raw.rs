//! Changes single members of a JSON object and keeps the text of all others as it was written.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::value::RawValue;

use super::scan;

/// An object whose member values are unparsed text.
#[derive(Debug, serde::Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct RawObject(IndexMap<String, Box<RawValue>>);

impl RawObject {
    /// `None` when the text is no JSON object.
    pub(super) fn parse(text: &str) -> Option<Self> {
        scan::parse_json(text).ok()
    }

    /// The text of a member.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.get())
    }

    /// A string member.
    pub(super) fn get_text(&self, name: &str) -> Option<String> {
        scan::parse_json(self.get(name)?).ok()
    }

    /// A member that is a non-negative whole number.
    pub(super) fn get_index(&self, name: &str) -> Option<u64> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// Sets a member; a new one goes to the end.
    ///
    /// # Errors
    /// When `value` has no JSON form.
    pub(super) fn set<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        self.0
            .insert(name.to_owned(), serde_json::value::to_raw_value(value)?);
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.shift_remove(name);
    }

    /// # Errors
    /// None that an object read from JSON can cause.
    pub(super) fn to_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untouched_members_keep_their_text_and_order() {
        let mut object =
            RawObject::parse(r#"{"b": 1.50, "a":{"x" : [1e999]}, "c":"\ud800"}"#).unwrap();
        object.set("a2", &Some("n")).unwrap();
        object.set("b", &None::<&str>).unwrap();
        assert_eq!(
            object.to_text().unwrap(),
            r#"{"b":null,"a":{"x" : [1e999]},"c":"\ud800","a2":"n"}"#
        );
        object.remove("b");
        assert_eq!(object.get("b"), None);
        assert_eq!(object.get_text("c").as_deref(), Some("\u{fffd}"));
        assert!(RawObject::parse("[1]").is_none());
    }
}
