"""From sums to probabilities. Numbers in, numbers out: no data, no files, no devices."""
