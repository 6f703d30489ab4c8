"""Third stage: each effect is begun, performed and recorded, in order."""
