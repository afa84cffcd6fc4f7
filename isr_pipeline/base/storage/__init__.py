"""Where what nights make lies: in a folder, or in an object store; read and written in one way."""
