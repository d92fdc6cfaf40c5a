"""One file, one attack. See README.md in this folder."""
