"""How a stage runs: shards, manifests, atomic publish, workers, progress. The stages give it pure shard functions."""
