"""The study of level, coverage and power that the paper lacks, one module per experiment."""
