"""What turns did to files: checkpoints, attribution, changesets, review, operations (reference §3.6, §5.8, §5.9)."""
