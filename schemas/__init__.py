"""The types, errors, file readers and plug-in finder that every other package shares; imports none of them."""
