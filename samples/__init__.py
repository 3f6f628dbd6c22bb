"""The synthetic supplier: a small company simulated event by event, written as its systems would export it, with its truth beside it."""
