"""First stage: a signed delivery comes in, and is answered once it is in the store."""
