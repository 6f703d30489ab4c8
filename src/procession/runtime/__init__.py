"""The only home of asyncio primitives: loops, services, slots and the trust window."""
