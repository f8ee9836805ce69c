"""What goes over the wire: HTTP exchanges, where Python's clients send them, and the guard of the sockets below."""
