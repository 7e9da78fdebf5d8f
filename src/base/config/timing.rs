//! Settings of timing mode. The text of a profile is read where the profiles are known (`sci::model`).
//!
//! Must not know: the variables, profiles, topologies.

/// These settings.
#[derive(Clone, Debug, PartialEq)]
pub struct TimingMode {
    /// What the user wrote; `None`: nothing, or "off".
    pub profile: Option<String>,
    /// How many times as slow as the hardware everything is.
    pub scale: u32,
    /// How the nodes are connected, as the user wrote it.
    pub topology: Option<String>,
}

impl Default for TimingMode {
    fn default() -> Self {
        TimingMode { profile: None, scale: 1, topology: None }
    }
}

impl TimingMode {
    /// Takes the profile's text.
    pub(super) fn set_profile(&mut self, text: &str) {
        let text = text.trim();
        self.profile = (!text.eq_ignore_ascii_case("off")).then(|| text.to_owned());
    }
}
