"""The reference sandbox: no way out but its egress proxy, which holds a command to two lists of hosts."""
