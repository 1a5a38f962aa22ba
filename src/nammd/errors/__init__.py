"""What every room uses: errors with advice, cautions, checks of options, how files are written and sealed."""
