"""One file a format; each exports `SOURCE` (see ingest.source). Names that start with `_` are helpers."""
