"""One detector a file; each exports `DETECTOR` (deid.spans.Detector)."""
