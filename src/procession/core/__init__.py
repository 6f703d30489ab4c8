"""Pure rules: ids, state tables, verdicts, retry arithmetic, limits, errors. Standard library only."""
