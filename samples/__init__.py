"""The synthetic supplier: a small company simulated event by event, in its systems' export formats, with its truth."""
