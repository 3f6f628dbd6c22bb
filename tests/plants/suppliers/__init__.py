"""Small clean sets of suppliers that the sample knows nothing of: other systems, fields, words and sizes."""
