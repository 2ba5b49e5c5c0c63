"""The HTTP gateway to the servers: who may call, how much, for how long, and what an operator sees of it."""
