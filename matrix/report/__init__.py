"""Reports: the native format, and what is rendered from it, later and elsewhere."""
