//! The supported versions of Claude Code.

use crate::stream::version::{SupportedVersions, Version};

/// The range of the recordings used by the tests.
pub const COVERED: SupportedVersions =
    SupportedVersions { oldest: Version::new(2, 1, 197), newest: Version::new(2, 1, 325) };
