"""One file a format of ingest/sources: what a draft offers for it. The file name is the registration."""
