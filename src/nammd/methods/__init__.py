"""Published methods, one in each file: two-sample tests, and tests of a margin on finite supports."""
