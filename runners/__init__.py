"""One file, one kind of sandbox. See README.md in this folder."""
