// Nothing to call: see defaults.c.
