"""The tables, figures and examples of the paper, a module each."""
