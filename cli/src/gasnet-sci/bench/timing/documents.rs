//! The points that the papers state, or that follow from what they state: `documents.json`, each with its source and mark.

use super::row;
use crate::results::Row;
use serde::Deserialize;

/// A point.
#[derive(Deserialize)]
pub struct Point {
    /// The profile that it is about. A profile with the software of then has the raw points of its hardware too.
    profile: String,
    section: String,
    pub operation: String,
    pub bytes: usize,
    unit: String,
    pub value: f64,
    /// Paper and figure, or from what it is derived.
    pub source: String,
    /// `stated` or `derived`.
    pub mark: String,
    /// The value is a plateau: that of all sizes that are large enough.
    #[serde(default)]
    level: bool,
}

/// The points of a profile, which is named by its word, in the wanted sections.
pub fn points(profile: &str, sections: &[&str]) -> Vec<Point> {
    let all: Vec<Point> = serde_json::from_str(include_str!("documents.json")).expect("the file is checked by a test");
    let word = profile.split(',').next().unwrap_or(profile).trim();
    let hardware = word.split('-').next().unwrap_or(word);
    let is_asked = |point: &Point| {
        (point.profile == word || point.profile == hardware) && sections.contains(&point.section.as_str())
    };
    all.into_iter().filter(is_asked).collect()
}

impl Point {
    /// The point as a row of the result.
    pub fn row(&self) -> Row {
        let section = super::SECTIONS.into_iter().find(|section| *section == self.section);
        let unit = ["us", "MB/s"].into_iter().find(|unit| *unit == self.unit);
        let (section, unit) = section.zip(unit).expect("the file is checked by a test");
        let how = Some(format!("{}: {}", self.mark, self.source));
        Row { how, level: self.level, ..row(section, &self.operation, "document", self.bytes, unit, &[self.value]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gasnet_sci::sci::model::PROFILES;

    #[test]
    fn every_point_has_a_source_a_mark_a_profile_and_makes_a_row() {
        let mut count = 0;
        for (profile, _) in PROFILES {
            for point in points(profile, &super::super::SECTIONS).iter().filter(|point| point.profile == profile) {
                assert!(!point.source.is_empty() && ["stated", "derived"].contains(&point.mark.as_str()));
                assert!(point.row().median > 0.0);
                count += 1;
            }
        }
        let all: Vec<Point> = serde_json::from_str(include_str!("documents.json")).unwrap();
        assert!(count == all.len() && count >= 10, "each is of a profile that exists");
    }
}
