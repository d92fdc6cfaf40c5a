"""Proxies that are wrong in one way each, to see that some row catches every one: double.py says how."""
