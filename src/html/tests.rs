//! What the pieces do together, case by case.
