"""One file, one witness: the host-side observers. See README.md in this folder."""
