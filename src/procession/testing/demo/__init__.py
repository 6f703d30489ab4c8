"""`procession demo`: a real engine, a simulated provider whose users type in bursts, a kill, and a verdict."""
