//! Attacks from a cloned repository and from inside a run. None of them gains anything, and each
//! has a control: without the rule, or with the user's approval, the same deed works.

mod approval;
mod money;
