"""The door: whatever a person has, opened and checked once.

Here, and nowhere further in, the package asks what kind of thing somebody passed.
"""
