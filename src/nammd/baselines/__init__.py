"""Published methods to compare with: one per file, all with one result type."""
