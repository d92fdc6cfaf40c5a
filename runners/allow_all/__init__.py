"""The control of proxied rows: a proxy that allows everything, by every reading of what it is asked.

It is naive and lenient on purpose. Whatever a careful proxy must refuse goes through here, so a row
whose attempt does not cross even this proves nothing, and is no row.
"""
