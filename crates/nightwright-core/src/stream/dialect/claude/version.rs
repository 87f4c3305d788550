//! Which versions of the program we know.

use crate::stream::version::{SupportedVersions, Version};

/// The range of the recordings that the tests read.
pub const COVERED: SupportedVersions =
    SupportedVersions { oldest: Version::new(2, 1, 197), newest: Version::new(2, 1, 325) };
