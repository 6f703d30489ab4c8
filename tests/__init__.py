"""A package, so that `tests` on the path means this folder and no installed package of the same name."""
