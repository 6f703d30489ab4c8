"""`procession demo`: a real engine, a simulated WhatsApp with four shops, a flood, a kill, handsets, and a verdict."""
