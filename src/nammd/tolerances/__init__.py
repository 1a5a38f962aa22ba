"""What close enough means, and the verdicts that follow from it."""
